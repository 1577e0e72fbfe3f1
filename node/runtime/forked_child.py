"""Work in a forked child, which has the whole process's memory as it was at the fork, while the process itself goes on.

The child is for computing and writing; it runs no loop. It must not know what it works on.
"""

import gc
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterable
from itertools import pairwise

import trio

SECONDS_MAX = 900
POLL_SECONDS = 0.1
KILL_POLL_SECONDS = 0.005
NICENESS = 10
MESSAGE_SIZE_MAX = 4096  # less than a pipe holds, so that the child never waits for its reader
STANDARD_MAX = 2  # the number of stderr, the last of the standard streams


class ChildFailed(Exception):
    """The work could not be begun, or has failed; the text says why."""


class ForkedChild:
    """A forked child that does one piece of work. Raises ChildFailed when the system gives no child.

    `pause` is the number of seconds for which the fork has stopped this process. The child has only the descriptors that it `keeps`.
    """

    def __init__(self, work: Callable[[], object], *, keeps: Iterable[int] = (), niceness: int = NICENESS) -> None:
        reading, writing = os.pipe()
        begun = time.perf_counter()
        try:
            with warnings.catch_warnings():
                # Later versions of Python warn of forks beside threads; no lock that a thread may hold is needed by the child.
                warnings.simplefilter("ignore", DeprecationWarning)
                self.pid = os.fork()
        except OSError as error:
            os.close(reading)
            os.close(writing)
            raise ChildFailed(f"the system gives no second process: {error.strerror}") from None
        self._status: int | None = None
        if not self.pid:
            _work_and_exit(work, writing, keeps, niceness)
        self.pause = time.perf_counter() - begun
        os.close(writing)
        self._reading = reading

    async def wait(self) -> None:
        """Return when the work is done. Raises ChildFailed, also after SECONDS_MAX. When this is cancelled, the child is killed."""
        try:
            with trio.move_on_after(SECONDS_MAX):
                while (status := self.status()) is None:
                    await trio.sleep(POLL_SECONDS)
                if status:
                    raise ChildFailed(self._message())
                return
            raise ChildFailed(f"it has not ended within {SECONDS_MAX} seconds")
        finally:
            self.close()

    async def kill(self) -> str:
        """End it, and return with what it has ended: it may have done so before, and to give back much memory takes it a while."""
        try:
            if self.status() is None:
                os.kill(self.pid, signal.SIGKILL)
            with trio.CancelScope(shield=True):
                while self.status() is None:
                    await trio.sleep(KILL_POLL_SECONDS)
            return self._message()
        finally:
            self.close()

    def _message(self) -> str:
        """Return why it has ended."""
        message = os.read(self._reading, MESSAGE_SIZE_MAX).decode("utf-8", "replace")
        return message or f"the process has ended with {describe(self.status() or 0)}"

    def status(self) -> int | None:
        """Return the status that the child has ended with, None while it works."""
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._status = os.waitstatus_to_exitcode(status) if pid else None
        return self._status

    def close(self) -> None:
        """Kill the child if it still works, and close the pipe."""
        if self.status() is None:
            os.kill(self.pid, signal.SIGKILL)
            self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self._reading)


def describe(status: int) -> str:
    """Return the status of a process in words."""
    return f"signal {-status}" if status < 0 else f"status {status}"


def _work_and_exit(work: Callable[[], object], writing: int, keeps: Iterable[int], niceness: int) -> None:
    """In the child: do the work and end, without a step of what the parent would do next.

    What the parent has open is closed: its lock and its listening sockets must not outlive it, should it be killed.
    """
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        for before, kept in pairwise(sorted({STANDARD_MAX, writing, *keeps, os.sysconf("SC_OPEN_MAX")})):
            os.closerange(before + 1, kept)
        os.nice(niceness)
        # A collection would touch every object, and the system would have to copy all memory for it.
        gc.disable()
        work()
        status = 0
    except BaseException as error:
        os.write(writing, (str(error) or type(error).__name__).encode("utf-8", "replace")[:MESSAGE_SIZE_MAX])
    finally:
        os._exit(status)
