"""Clients with little overhead, so that benchmarks measure the node. Each has one connection, HTTP or WebSocket."""

import base64
import os
import socket
import struct
from typing import ClassVar, Protocol

CHUNK_SIZE = 1 << 18
SECONDS_MAX = 120
WHOLE_TEXT, MASKED = 0x81, 0x80
SIZE_IN_2, SIZE_IN_8 = 126, 127


class Client(Protocol):
    """One connection to a node."""

    NAME: ClassVar[str]

    def ask(self, body: bytes) -> bytes:
        """Send a request, and wait for the whole reply."""


class Stream:
    """Incoming bytes of a connection, read up to a delimiter or by count."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), SECONDS_MAX)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._waiting = bytearray()

    def _more(self) -> None:
        chunk = self.socket.recv(CHUNK_SIZE)
        if not chunk:
            raise SystemExit("the node has closed the connection")
        self._waiting += chunk

    def until(self, mark: bytes) -> bytes:
        """Read up to and including a delimiter."""
        while (at := self._waiting.find(mark)) < 0:
            self._more()
        return self.exactly(at + len(mark))

    def exactly(self, size: int) -> bytes:
        """Read exactly `size` bytes."""
        while len(self._waiting) < size:
            self._more()
        out = bytes(self._waiting[:size])
        del self._waiting[:size]
        return out


class HttpClient:
    """A persistent HTTP connection."""

    NAME = "HTTP"

    def __init__(self, port: int) -> None:
        self._stream = Stream(port)
        self._head = f"POST / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"

    def send(self, body: bytes) -> None:
        """Send a request."""
        self._stream.socket.sendall((self._head % len(body)).encode() + body)

    def receive(self) -> bytes:
        """Wait for the whole reply to the oldest unanswered request."""
        head = self._stream.until(b"\r\n\r\n").lower()
        assert head.startswith(b"http/1.1 200"), head
        return self._stream.exactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))

    def ask(self, body: bytes) -> bytes:
        """Send a request, and wait for the whole reply."""
        self.send(body)
        return self.receive()


class SocketClient:
    """A WebSocket."""

    NAME = "WebSocket"

    def __init__(self, port: int) -> None:
        self._stream = Stream(port)
        key = base64.b64encode(os.urandom(16)).decode()
        upgrade = f"upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-key: {key}\r\nsec-websocket-version: 13"
        self._stream.socket.sendall(f"GET / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{upgrade}\r\n\r\n".encode())
        assert self._stream.until(b"\r\n\r\n").startswith(b"HTTP/1.1 101")

    @property
    def descriptor(self) -> int:
        """The file descriptor of the socket, to wait for notices."""
        return self._stream.socket.fileno()

    def send(self, body: bytes) -> None:
        """Send a request. Its mask is zero, which is valid and leaves the bytes unchanged."""
        self._stream.socket.sendall(frame_head(len(body)) + bytes(4) + body)

    def receive(self) -> bytes:
        """Wait for the whole reply."""
        reply, is_last = b"", False
        while not is_last:
            first, size = self._stream.exactly(2)
            is_last = bool(first & 0x80)
            if size == SIZE_IN_2:
                size = int.from_bytes(self._stream.exactly(2), "big")
            elif size == SIZE_IN_8:
                size = int.from_bytes(self._stream.exactly(8), "big")
            reply += self._stream.exactly(size)
        return reply

    def ask(self, body: bytes) -> bytes:
        """Send a request, and wait for the whole reply."""
        self.send(body)
        return self.receive()


def frame_head(size: int) -> bytes:
    """Return the header of a frame of `size` bytes, up to its mask."""
    if size < SIZE_IN_2:
        return struct.pack("!BB", WHOLE_TEXT, MASKED | size)
    if size < 1 << 16:
        return struct.pack("!BBH", WHOLE_TEXT, MASKED | SIZE_IN_2, size)
    return struct.pack("!BBQ", WHOLE_TEXT, MASKED | SIZE_IN_8, size)
