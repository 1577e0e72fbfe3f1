"""Runs work in a forked child, which has a copy of the process's memory, while the parent process continues.

The child only computes and writes. It runs no event loop.
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
END_POLL_SECONDS = 0.005
NICENESS = 10
MESSAGE_SIZE_MAX = 16_000  # less than a pipe's capacity, so that the child never blocks on its reader
STANDARD_MAX = 2  # the number of stderr, the last of the standard streams


class ChildFailed(Exception):
    """Error for work that could not start or has failed. The message contains the cause."""


class ForkedChild:
    """A forked child that runs one function. Raises ChildFailed if the fork fails. If the function returns bytes, at most MESSAGE_SIZE_MAX,
    `wait` returns them.

    `pause` is the duration of the fork in seconds. The child closes all descriptors except the standard streams and `inherited`.
    """

    def __init__(self, work: Callable[[], object], *, inherited: Iterable[int] = (), niceness: int = NICENESS) -> None:
        reading, writing = os.pipe()
        begun = time.perf_counter()
        try:
            with warnings.catch_warnings():
                # Python 3.12 warns about forks while threads run. The child needs no lock that another thread can hold.
                warnings.simplefilter("ignore", DeprecationWarning)
                self.pid = os.fork()
        except OSError as error:
            os.close(reading)
            os.close(writing)
            raise ChildFailed(f"the system can't fork the process: {error.strerror}") from None
        self._status: int | None = None
        if not self.pid:
            _work_and_exit(work, writing, inherited, niceness)
        self.pause = time.perf_counter() - begun
        os.close(writing)
        self._reading = reading

    async def wait(self) -> bytes:
        """Wait until the work is done, and return its bytes. Raises ChildFailed, including after SECONDS_MAX. Cancellation kills the
        child.
        """
        try:
            with trio.move_on_after(SECONDS_MAX):
                await trio.lowlevel.wait_readable(self._reading)  # until the child writes, or its end of the pipe is closed
                while (status := self.status()) is None:
                    await trio.sleep(END_POLL_SECONDS)
                if status:
                    raise ChildFailed(self.message())
                return os.read(self._reading, MESSAGE_SIZE_MAX)
            raise ChildFailed(f"it has not ended within {SECONDS_MAX} seconds")
        finally:
            self.close()

    async def kill(self) -> str:
        """Kill the child if it still runs, wait until it exits, and return why it ended. The exit takes a while if the child has much
        memory to free.
        """
        try:
            if self.status() is None:
                os.kill(self.pid, signal.SIGKILL)
            with trio.CancelScope(shield=True):
                while self.status() is None:
                    await trio.sleep(END_POLL_SECONDS)
            return self.message()
        finally:
            self.close()

    def message(self) -> str:
        """Return the error message of a child that has ended, or a description of its exit status."""
        message = os.read(self._reading, MESSAGE_SIZE_MAX).decode("utf-8", "replace")
        return message or f"the process has ended with {describe(self.status() or 0)}"

    def status(self) -> int | None:
        """Return the exit status of the child, or None while it runs."""
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._status = os.waitstatus_to_exitcode(status) if pid else None
        return self._status

    def close(self) -> None:
        """Kill the child if it still runs, and close the pipe."""
        if self.status() is None:
            os.kill(self.pid, signal.SIGKILL)
            self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self._reading)


def describe(status: int) -> str:
    """Describe an exit status in words."""
    return f"signal {-status}" if status < 0 else f"status {status}"


def _work_and_exit(work: Callable[[], object], writing: int, inherited: Iterable[int], niceness: int) -> None:
    """Run the work in the child and exit, without returning to the code of the parent.

    `writing` is the descriptor for an error message. Descriptors that are neither this one nor in `inherited` are closed, because the
    parent's lock and listening sockets must not outlive a killed parent.
    """
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        for before, after in pairwise(sorted({STANDARD_MAX, writing, *inherited, os.sysconf("SC_OPEN_MAX")})):
            os.closerange(before + 1, after)
        os.nice(niceness)
        # A garbage collection would write to every object, and copy-on-write would copy all memory.
        gc.disable()
        result = work()
        if isinstance(result, bytes):
            assert len(result) <= MESSAGE_SIZE_MAX, "the result fits into the pipe"
            os.write(writing, result)
        status = 0
    except BaseException as error:
        os.write(writing, (str(error) or type(error).__name__).encode("utf-8", "replace")[:MESSAGE_SIZE_MAX])
    finally:
        os._exit(status)
