"""Computes bytes of a large state in forked children, one after the other, so that little memory is copied at a time.

Reading an object changes its reference count, so the system copies the page with the object for the process that reads it. A process that
encodes the whole state therefore copies half of it. Here, a child ends after it has copied COPIED_PAGES_MAX pages, and the next one
continues.
"""

import gc
import os
import resource
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, Pipe
from typing import NoReturn

from node.runtime.forked_child import ChildFailed, describe

COPIED_PAGES_MAX = 8192  # 32 MiB, with pages of 4 KiB
CHUNK, DONE, FAILED = b"c", b"d", b"f"  # first bytes of messages


def chunks_of_children(works: Sequence[Iterator[bytes]]) -> Iterator[Iterator[bytes]]:
    """Yield for each of the iterators an iterator of its chunks, which a forked child computes. Read them one after the other.

    The process must have no event loop and no other threads. Raises ChildFailed.
    """
    children = _Children(works)
    try:
        for place in range(len(works)):
            yield children.chunks(place)
    finally:
        children.close()


class _Children:
    """The child that runs, and the end of the pipe from which its messages are read."""

    def __init__(self, works: Sequence[Iterator[bytes]]) -> None:
        self._works = works
        self._reading: Connection | None = None
        self._pid = 0

    def chunks(self, place: int) -> Iterator[bytes]:
        """Yield the chunks of an iterator."""
        message = self._message()
        if not message:
            self._fork(place)
            message = self._message()
        while message.startswith(CHUNK):
            yield message[len(CHUNK) :]
            message = self._message()
        if not message.startswith(DONE):
            status = self.close()
            raise ChildFailed(message[len(FAILED) :].decode("utf-8", "replace") or f"a process has ended with {describe(status)}")

    def close(self) -> int:
        """Wait for the child. It ends when its pipe is closed, at the latest. Return its exit status."""
        if self._reading is None:
            return 0
        self._reading.close()
        self._reading = None
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    def _fork(self, place: int) -> None:
        self.close()
        self._reading, writing = Pipe(duplex=False)
        try:
            self._pid = os.fork()
        except OSError as error:
            raise ChildFailed(f"the system can't fork the process: {error.strerror}") from None
        if not self._pid:
            self._reading.close()
            _compute_and_exit(self._works[place:], writing)
        writing.close()

    def _message(self) -> bytes:
        """Return the next message of the child, or nothing if there is no child or it has ended."""
        try:
            return b"" if self._reading is None else self._reading.recv_bytes()
        except EOFError:
            return b""


def _compute_and_exit(works: Sequence[Iterator[bytes]], writing: Connection) -> NoReturn:
    """Send the chunks of the iterators until too many pages are copied, and exit without returning to the code of the parent."""
    try:
        gc.disable()
        for work in works:
            for chunk in work:
                writing.send_bytes(CHUNK + chunk)
            writing.send_bytes(DONE)
            if resource.getrusage(resource.RUSAGE_SELF).ru_minflt > COPIED_PAGES_MAX:
                break
    except BaseException as error:
        writing.send_bytes(FAILED + (str(error) or type(error).__name__).encode("utf-8", "replace"))
    finally:
        os._exit(0)
