"""Message channel between two processes of a node, over a socket pair.

Each message consists of its size (4 bytes, little endian) and that many bytes.
"""

import socket
from collections import deque
from collections.abc import AsyncIterator
from struct import Struct as Layout
from typing import Any

import msgspec
import trio

HEAD = Layout("<I")
RECEIVE_SIZE = 1 << 18
# Limit of queued bytes for a process that doesn't read. Beyond it the channel is closed.
QUEUED_SIZE_MAX = 256_000_000

_encoder = msgspec.msgpack.Encoder()


def framed(message: object) -> bytes:
    """Encode a message, preceded by its size."""
    data = _encoder.encode(message)
    return HEAD.pack(len(data)) + data


class Channel:
    """One end of a channel. `send` never blocks: `run` sends the bytes that the operating system didn't accept immediately."""

    def __init__(self, sock: socket.socket, kinds: Any) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._decoder = msgspec.msgpack.Decoder(kinds)
        self._queue: deque[memoryview] = deque()
        self._queued = 0
        self._put = 0  # bytes, of all messages
        self._progress = trio.lowlevel.ParkingLot()
        self._news = trio.Event()
        self.closed = trio.Event()

    def send(self, message: object) -> None:
        """Send a message."""
        self.send_framed(framed(message))

    def send_framed(self, data: bytes) -> None:
        """Send a message that is already encoded with its size. Do nothing if the channel is closed."""
        if self.closed.is_set():
            return
        view = memoryview(data)
        self._put += len(view)
        if not self._queue:
            try:
                view = view[self._sock.send(view) :]
            except BlockingIOError:
                pass
            except OSError:
                self.closed.set()
                return
            if not view:
                return
        self._queue.append(view)
        self._queued += len(view)
        if self._queued > QUEUED_SIZE_MAX:
            self.closed.set()
        self._news.set()

    async def sent(self) -> None:
        """Wait until all messages queued so far are sent, or the channel is closed."""
        put = self._put
        while self._put - self._queued < put and not self.closed.is_set():
            await self._progress.park()

    async def run(self) -> None:
        """Send queued bytes until the channel closes."""
        while not self.closed.is_set():
            if not self._queue:
                self._news = trio.Event()
                await self._news.wait()
                continue
            try:
                await trio.lowlevel.wait_writable(self._sock)
                sent = self._sock.send(self._queue[0])
            except BlockingIOError:
                continue
            except (OSError, trio.ClosedResourceError):
                self.closed.set()
                return
            self._queued -= sent
            self._progress.unpark_all()
            if sent == len(self._queue[0]):
                self._queue.popleft()
            else:
                self._queue[0] = self._queue[0][sent:]

    async def messages(self) -> AsyncIterator[Any]:
        """Yield received messages until the channel closes."""
        data = bytearray()
        while not self.closed.is_set():
            try:
                await trio.lowlevel.wait_readable(self._sock)
                more = self._sock.recv(RECEIVE_SIZE)
            except BlockingIOError:
                continue
            except (OSError, trio.ClosedResourceError):
                more = b""
            if not more:
                break
            data += more
            start = 0
            while len(data) - start >= HEAD.size:
                end = start + HEAD.size + HEAD.unpack_from(data, start)[0]
                if len(data) < end:
                    break
                message = self._decoder.decode(memoryview(data)[start + HEAD.size : end].tobytes())
                start = end
                yield message
            del data[:start]
        self.closed.set()

    def close(self) -> None:
        """Close the channel, and wake all tasks that wait for it."""
        self.closed.set()
        self._news.set()
        self._progress.unpark_all()
        if self._sock.fileno() >= 0:
            trio.lowlevel.notify_closing(self._sock)
            self._sock.close()
