"""Clients that use little CPU time, so that benchmarks measure the node. Each client has one connection, over HTTP or a WebSocket."""

import base64
import os
import socket
import struct
from abc import ABC, abstractmethod

CHUNK_SIZE = 1 << 18
SECONDS_MAX = 120
WHOLE_TEXT, MASKED = 0x81, 0x80
SIZE_IN_2, SIZE_IN_8 = 126, 127


class Client(ABC):
    """Base class of the clients. A client is a connection to a node."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), SECONDS_MAX)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._unread = bytearray()

    @abstractmethod
    def send(self, body: bytes) -> None:
        """Send a request."""

    @abstractmethod
    def receive(self) -> bytes:
        """Wait for the complete reply to the oldest unanswered request, and return it."""

    def ask(self, body: bytes) -> bytes:
        """Send a request, wait for the complete reply, and return it."""
        self.send(body)
        return self.receive()

    def _read_more(self) -> None:
        chunk = self._socket.recv(CHUNK_SIZE)
        if not chunk:
            raise SystemExit("the node has closed the connection")
        self._unread += chunk

    def _read_head(self) -> bytes:
        """Read the head of an HTTP reply."""
        while (end := self._unread.find(b"\r\n\r\n")) < 0:
            self._read_more()
        return self._read(end + 4)

    def _read(self, size: int) -> bytes:
        """Read exactly `size` bytes."""
        while len(self._unread) < size:
            self._read_more()
        out = bytes(self._unread[:size])
        del self._unread[:size]
        return out


class HttpClient(Client):
    """A persistent HTTP connection."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self._head = f"POST / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"

    def send(self, body: bytes) -> None:
        """Send a request."""
        self._socket.sendall((self._head % len(body)).encode() + body)

    def receive(self) -> bytes:
        """Wait for the complete reply to the oldest unanswered request, and return it."""
        head = self._read_head().lower()
        assert head.startswith(b"http/1.1 200"), head
        return self._read(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))


class SocketClient(Client):
    """A WebSocket."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        key = base64.b64encode(os.urandom(16)).decode()
        upgrade = f"upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-key: {key}\r\nsec-websocket-version: 13"
        self._socket.sendall(f"GET / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{upgrade}\r\n\r\n".encode())
        assert self._read_head().startswith(b"HTTP/1.1 101")

    def send(self, body: bytes) -> None:
        """Send a request. The frame's mask is zero, which is valid and leaves the bytes unchanged."""
        self._socket.sendall(frame_head(len(body)) + bytes(4) + body)

    def receive(self) -> bytes:
        """Wait for the complete reply, and return it."""
        reply, is_last = b"", False
        while not is_last:
            first, size = self._read(2)
            is_last = bool(first & 0x80)
            if size == SIZE_IN_2:
                size = int.from_bytes(self._read(2), "big")
            elif size == SIZE_IN_8:
                size = int.from_bytes(self._read(8), "big")
            reply += self._read(size)
        return reply


def frame_head(size: int) -> bytes:
    """Return the header of a WebSocket frame of `size` bytes, without the mask that follows it."""
    if size < SIZE_IN_2:
        return struct.pack("!BB", WHOLE_TEXT, MASKED | size)
    if size < 1 << 16:
        return struct.pack("!BBH", WHOLE_TEXT, MASKED | SIZE_IN_2, size)
    return struct.pack("!BBQ", WHOLE_TEXT, MASKED | SIZE_IN_8, size)
