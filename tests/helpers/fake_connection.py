"""The node's end of a connection to a fake client, usable as socket and stream."""

import socket
from typing import Any

import trio
import trio.testing

from rpc.http.connection import Connection


class FakeConnection:
    """A connection whose client sends its pieces one by one, and receives everything into `sent`. Then it leaves, or, if `patient`, stays
    until `leave`. If `is_slow`, it sends each piece when the node is idle.
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
        """Send nothing more."""
        self._left.set()

    def plug(self, connection: Connection) -> None:
        """Replace a connection's socket."""
        connection._stream.socket.close()
        patched: Any = connection
        patched._stream = patched._socket = self
        patched._wait_readable = self.wait_readable

    @property
    def socket(self) -> "FakeConnection":
        """The stream's socket is the stream."""
        return self

    def fileno(self) -> int:
        """Return that there is no descriptor."""
        return -1

    def getsockname(self) -> tuple[str, int]:
        """Return the node's address."""
        return self._server

    async def wait_readable(self) -> None:
        """Wait until there is a piece, or nothing will come."""
        if self._is_slow:
            await trio.testing.wait_all_tasks_blocked()
        await self._turn()
        if not self._pieces:
            await self._left.wait()
            await self._turn()

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Return the next piece, or look at it."""
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
        """Receive data sent without waiting."""
        if self.is_closed:
            raise OSError("it is closed")
        self.sent += data
        return len(data)

    async def send_all(self, data: bytes) -> None:
        """Take it."""
        await self._turn()
        self.sent += data

    async def send_eof(self) -> None:
        """Take note that nothing more comes."""

    async def aclose(self) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """Close."""
        self.is_closed = True
        self.leave()

    async def _turn(self) -> None:
        await trio.lowlevel.checkpoint()
        if self.is_closed:
            raise trio.ClosedResourceError
