"""HTTP/1.1 to a node: the protocol without I/O, and a client that blocks. The size and the time of every reply are bounded.

h11 does the protocol for this client and for the one in trio (`trio_http`).
"""

import json
import select
import socket
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import quote

import h11

from node.client.errors import NoNode, TooLarge, Unreachable
from node.client.jsonrpc import encode_call, result_of
from node.client.lines import TimedLines
from node.client.urls import PORTS, parts_of
from node.runtime.errors import NodeError

__tracebackhide__ = True  # reports of pytest end at the line of the test

CONNECT_SECONDS_MAX = 10
REPLY_SECONDS_MAX = 60
REPLY_BYTES_MAX = 64 << 20
RECEIVE_BYTES = 1 << 16
# A node closes connections that are idle for longer.
IDLE_SECONDS_MAX = 3
# Chunks can be as small as a byte, and h11 takes some 20 µs for each: after this number other tasks may run.
EVENTS_AT_ONCE_MAX = 100
# Heads that may come before that of the reply, for example 100 Continue.
ANNOUNCED_MAX = 10
SHOWN_CHARACTERS_MAX = 200

T = TypeVar("T")
# Work on bytes that arrive. It yields whether it needs more of them, which are sent to it, b"" at the end of the connection.
Steps = Generator[bool, Any, T]


class Protocol:
    """HTTP/1.1 on one connection to a node, without I/O: requests as bytes, and replies from the bytes that arrive.

    Its steps raise NoNode, TooLarge and Unreachable.
    """

    def __init__(self, url: str) -> None:
        self.url, self.status = url, 0
        parts = parts_of(url)
        assert parts.hostname is not None
        self.is_encrypted = parts.scheme == "https"
        self.address = parts.hostname, parts.port or PORTS[parts.scheme]
        self.target = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe="/?%:@!$&'()*+,;=~-._[]")
        host = parts.netloc.rpartition("@")[2]
        self._host = host if host.isascii() else host.encode("idna").decode()
        self.begin()

    def begin(self) -> None:
        """Begin with a new connection."""
        self._http = h11.Connection(h11.CLIENT)
        self._next_event: Any = None  # that has come after data

    @property
    def is_ready(self) -> bool:
        """Whether the connection takes another request: the last reply is read, and hasn't closed it."""
        if self._http.our_state is self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        return self._http.our_state is h11.IDLE

    def request(self, method: str, target: str, body: bytes = b"", forwarded_for: str = "") -> bytes:
        """Return the bytes of a request, for the client at an address if it isn't our own."""
        headers = [("host", self._host), ("content-length", str(len(body))), ("content-type", "application/json")]
        headers += [("x-forwarded-for", forwarded_for)] if forwarded_for else []
        head = self._http.send(h11.Request(method=method, target=target, headers=headers)) or b""
        return head + (self._http.send(h11.Data(data=body)) or b"") + (self._http.send(h11.EndOfMessage()) or b"")

    def head(self) -> Steps[int]:
        """Read the head of a reply; returns its status."""
        for _ in range(1 + ANNOUNCED_MAX):
            event = yield from self._event()
            if isinstance(event, h11.Response):
                self.status = event.status_code
                return self.status
        raise NoNode(f"{self.url} announces an answer again and again, and gives none")

    def part(self) -> Steps[bytes]:
        """Read the next part of the body; returns b"" at its end."""
        while True:
            event = yield from self._event()
            if isinstance(event, h11.Data):
                return bytes(event.data)
            if isinstance(event, h11.EndOfMessage):
                return b""

    def reply(self, size_max: int) -> Steps[bytes]:
        """Read a whole reply; returns its body."""
        yield from self.head()
        body = bytearray()
        while part := (yield from self.part()):
            body += part
            if len(body) > size_max:
                raise TooLarge(f"{self.url} answers with more than {size_max >> 20} MiB")
            yield False
        return bytes(body)

    def result(self, method: str, body: bytes, answer: Any) -> Any:
        """Return the result in the answer that a body holds. Raises RefusedCall and NoNode."""
        try:
            return result_of(method, answer)
        except ValueError:
            shown = body[:SHOWN_CHARACTERS_MAX].decode("utf-8", "replace").strip()
            raise NoNode(f"{self.url} answers, but not as a node of this chain family (status {self.status}: {shown})") from None

    def _event(self) -> Steps[Any]:
        data = None
        try:
            while (event := self._next()) is h11.NEED_DATA:
                data = yield True
                self._http.receive_data(data)
        except h11.RemoteProtocolError as error:
            if data == b"":
                raise Unreachable(f"{self.url} ends the connection before its answer is whole") from None
            raise NoNode(f"{self.url} answers, but not in HTTP ({error}); is it the port of a node?") from None
        return event

    def _next(self) -> Any:
        """Return the next event; data of many chunks as one."""
        pieces: list[bytes] = []
        while len(pieces) < EVENTS_AT_ONCE_MAX:
            event, self._next_event = self._next_event or self._http.next_event(), None
            if not isinstance(event, h11.Data):
                if not pieces:
                    return event
                self._next_event = None if event is h11.NEED_DATA else event
                break
            pieces.append(event.data)
        return h11.Data(data=b"".join(pieces))


class Client:
    """A client of the node at an address. Its calls and streams block, and share one connection."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.last_method = ""  # that was called
        self._protocol = Protocol(url)
        self._sock: socket.socket | None = None
        self._last_id = 0
        self._used = 0.0

    def call(self, method: str, params: Any = (), *, seconds_max: float = REPLY_SECONDS_MAX) -> Any:
        """Return the result of a call. Raises Unreachable, NoNode or RefusedCall.

        It is never repeated: nobody knows whether a node that gives no answer has done it.
        """
        self._last_id += 1
        self.last_method = method
        with self._errors(seconds_max):
            latest = self._send("POST", self._protocol.target, encode_call(self._last_id, method, params), seconds_max)
            body = self._run(self._protocol.reply(REPLY_BYTES_MAX), latest)
        self._used = time.monotonic()
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            answer = None
        return self._protocol.result(method, body, answer)

    def open_stream(self, target: str) -> int:
        """Ask for a stream of lines; returns the status of the reply. Raises Unreachable and NoNode."""
        with self._errors(REPLY_SECONDS_MAX):
            return self._run(self._protocol.head(), self._send("GET", target, b"", REPLY_SECONDS_MAX))

    def lines(self) -> Iterator[list[bytes]]:
        """Yield the lines of the stream that have come, each time at least one. Raises Unreachable and NoNode."""
        lines = TimedLines(time.monotonic())
        while True:
            with self._errors():
                part = self._run(self._protocol.part(), lines.latest)
            if not part:
                return
            if whole := lines.add(part, time.monotonic()):
                yield whole

    def close(self) -> None:
        """Close the connection, which ends what another thread waits for."""
        if self._sock is not None:
            with suppress(OSError):
                self._sock.shutdown(socket.SHUT_RDWR)
            self._sock.close()
            self._sock = None

    @contextmanager
    def _errors(self, seconds_max: float | None = None) -> Iterator[None]:
        """Close the connection after an error, and raise it as one of ours."""
        try:
            yield
        except (NodeError, OSError) as error:
            self.close()
            if isinstance(error, NodeError):
                raise
            if isinstance(error, TimeoutError):
                late = "is silent" if seconds_max is None else f"gives no answer within {seconds_max:g} s"
                raise Unreachable(f"{self.url} {late}") from error
            raise Unreachable(f"the connection to {self.url} has ended ({reason(error)})") from error

    def _send(self, method: str, target: str, body: bytes, seconds_max: float) -> float:
        """Send a request; returns until when the reply must be whole."""
        sock = self._sock
        if sock is None or not self._protocol.is_ready or time.monotonic() - self._used > IDLE_SECONDS_MAX or has_input(sock):
            sock = self._open()
        latest = time.monotonic() + seconds_max
        sock.settimeout(seconds_max)
        sock.sendall(self._protocol.request(method, target, body))
        return latest

    def _run(self, steps: Steps[T], latest: float) -> T:
        """Do steps with the bytes that come until a point in time. Raises TimeoutError and OSError."""
        try:
            needs_bytes = next(steps)
            while True:
                needs_bytes = steps.send(self._receive(latest) if needs_bytes else None)
        except StopIteration as end:
            result: T = end.value
            return result

    def _receive(self, latest: float) -> bytes:
        seconds = latest - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        sock = self._sock
        if sock is None:
            raise ConnectionAbortedError("it is closed here")
        sock.settimeout(seconds)
        return sock.recv(RECEIVE_BYTES)

    def _open(self) -> socket.socket:
        self.close()
        self._protocol.begin()
        host, port = self._protocol.address
        try:
            sock = socket.create_connection((host, port), CONNECT_SECONDS_MAX)
            if self._protocol.is_encrypted:
                import ssl

                sock = ssl.create_default_context().wrap_socket(sock, server_hostname=host)
        except OSError as error:
            raise nobody_answers(self.url, error) from error
        self._sock = sock
        return sock


def has_input(sock: socket.socket) -> bool:
    """Whether an idle connection has ended, or brings what nobody has asked for."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


def nobody_answers(url: str, error: OSError) -> Unreachable:
    """Return the error of an address where no connection can be made."""
    return Unreachable(f"no node answers at {url} ({reason(error)})")


def reason(error: BaseException) -> str:
    """Return what the system says of an error."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
