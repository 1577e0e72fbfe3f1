"""The node's end of a connection whose client is a list of byte chunks. A Connection uses it as its socket and stream."""

import socket
from typing import Any

import trio
import trio.testing

from rpc.http.connection import Connection


class FakeConnection:
    """A connection whose client sends chunks one at a time and reads everything. It closes after the last chunk, or, if `is_patient`, when
    `leave` is called. If `is_slow`, it sends a chunk only when the node is idle.

    `sent` is what the client received.
    """

    def __init__(self, pieces: list[bytes], server: tuple[str, int], *, is_patient: bool = False, is_slow: bool = False) -> None:
        self.sent = bytearray()
        self.is_closed = False
        self._is_slow = is_slow
        self._left = trio.Event()
        if not is_patient:
            self.leave()
        self._pieces = pieces[::-1]
        self._server = server

    def leave(self) -> None:
        """Close the client's side after the last chunk."""
        self._left.set()

    def plug(self, connection: Connection) -> None:
        """Replace the socket of a connection with this one."""
        connection._stream.socket.close()
        patched: Any = connection
        patched._stream = patched._socket = self
        patched._wait_readable = self.wait_readable

    @property
    def socket(self) -> "FakeConnection":
        """Return this object, which serves as both stream and socket."""
        return self

    def fileno(self) -> int:
        """Return -1, since there is no descriptor."""
        return -1

    def getsockname(self) -> tuple[str, int]:
        return self._server

    async def wait_readable(self) -> None:
        """Wait until there is a chunk or the client has closed."""
        if self._is_slow:
            await trio.testing.wait_all_tasks_blocked()
        await self._turn()
        if not self._pieces:
            await self._left.wait()
            await self._turn()

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Return the next chunk; with MSG_PEEK, leave it in the buffer."""
        if not self._pieces:
            if not self._left.is_set():
                raise BlockingIOError
            return b""
        if flags & socket.MSG_PEEK:
            return self._pieces[-1][:size]
        piece = self._pieces.pop()
        if len(piece) > size:
            self._pieces.append(piece[size:])
        return piece[:size]

    def send(self, data: bytes, flags: int) -> int:
        """Accept all data immediately."""
        if self.is_closed:
            raise OSError("it is closed")
        self.sent += data
        return len(data)

    async def send_all(self, data: bytes) -> None:
        """Accept all data."""
        await self._turn()
        self.sent += data

    async def send_eof(self) -> None:
        """Ignore the end of the node's output."""

    async def aclose(self) -> None:
        self.close()

    def close(self) -> None:
        self.is_closed = True
        self.leave()

    async def _turn(self) -> None:
        await trio.lowlevel.checkpoint()
        if self.is_closed:
            raise trio.ClosedResourceError
