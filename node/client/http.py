"""HTTP/1.1 client for a node: the protocol without I/O (using h11), and a blocking client. Every reply has a size limit and a timeout.

The trio client (`trio_http`) uses the same protocol.
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
from node.client.lines import LineSplitter
from node.client.urls import PORTS, parts_of, shown_url
from node.runtime.errors import NodeError

__tracebackhide__ = True  # reports of pytest end at the line of the test

CONNECT_SECONDS_MAX = 10
REPLY_SECONDS_MAX = 60
REPLY_BYTES_MAX = 64 << 20
RECEIVE_BYTES = 1 << 16
# Nodes close connections that were idle for longer.
IDLE_SECONDS_MAX = 3
# Chunks can be as small as one byte, and h11 takes about 20 µs for each. Other tasks can run after this number of chunks.
EVENTS_AT_ONCE_MAX = 100
# Maximum number of informational responses before the reply, for example 100 Continue.
ANNOUNCED_MAX = 10
SHOWN_CHARACTERS_MAX = 200

T = TypeVar("T")
# Parses received bytes. It yields whether it needs more; the caller sends them, or b"" at the end of the connection.
Steps = Generator[bool, Any, T]


class Protocol:
    """HTTP/1.1 on one connection to a node, without I/O. Encodes requests, and parses replies from received bytes.

    The parsing generators (`Steps`) raise NoNode, TooLarge and Unreachable.
    """

    def __init__(self, url: str) -> None:
        self.url, self.status, self.retry_after = shown_url(url), 0, ""
        parts = parts_of(url)
        assert parts.hostname is not None
        self.is_encrypted = parts.scheme == "https"
        self.address = parts.hostname, parts.port or PORTS[parts.scheme]
        self.target = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe="/?%:@!$&'()*+,;=~-._[]")
        host = parts.netloc.rpartition("@")[2]
        self._host = host if host.isascii() else host.encode("idna").decode()
        self.begin()

    def begin(self) -> None:
        """Reset the protocol for a new connection."""
        self._http = h11.Connection(h11.CLIENT)
        self._next_event: Any = None  # event that followed data

    @property
    def is_ready(self) -> bool:
        """Whether the connection accepts another request: the last reply was read completely and didn't close the connection."""
        if self._http.our_state is self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        return self._http.our_state is h11.IDLE

    def request(self, method: str, target: str, body: bytes = b"", forwarded_for: str = "") -> bytes:
        """Encode a request. `forwarded_for` is the address of the original client, if the request is forwarded."""
        headers = [("host", self._host), ("content-length", str(len(body))), ("content-type", "application/json")]
        headers += [("x-forwarded-for", forwarded_for)] if forwarded_for else []
        head = self._http.send(h11.Request(method=method, target=target, headers=headers)) or b""
        return head + (self._http.send(h11.Data(data=body)) or b"") + (self._http.send(h11.EndOfMessage()) or b"")

    def head(self) -> Steps[int]:
        """Read the status line and the headers of a reply. Return the status."""
        for _ in range(1 + ANNOUNCED_MAX):
            event = yield from self._event()
            if isinstance(event, h11.Response):
                self.status = event.status_code
                self.retry_after = next((value.decode("latin-1") for name, value in event.headers if name == b"retry-after"), "")
                return self.status
        raise NoNode(f"{self.url} announces an answer more than {ANNOUNCED_MAX} times, and gives none")

    def part(self) -> Steps[bytes]:
        """Read the next part of the body, b"" at its end."""
        while True:
            event = yield from self._event()
            if isinstance(event, h11.Data):
                return bytes(event.data)
            if isinstance(event, h11.EndOfMessage):
                return b""

    def reply(self, size_max: int) -> Steps[bytes]:
        """Read a complete reply. Return its body."""
        yield from self.head()
        body = bytearray()
        while part := (yield from self.part()):
            body += part
            if len(body) > size_max:
                raise TooLarge(f"{self.url} answers with more than {size_max >> 20} MiB")
            yield False
        return bytes(body)

    def result(self, method: str, body: bytes, answer: Any) -> Any:
        """Return the result in a decoded reply, `answer`. `body` is the reply's text, which an error message quotes. Raises RefusedCall and
        NoNode.
        """
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
        """Return the next h11 event. The data of consecutive chunks is joined."""
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
    """A blocking client of a node. Calls and streams share one connection."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.last_method = ""  # of the last call
        self._protocol = Protocol(url)
        self._sock: socket.socket | None = None
        self._last_id = 0
        self._used = 0.0

    def call(self, method: str, params: Any = (), *, seconds_max: float = REPLY_SECONDS_MAX) -> Any:
        """Return the result of a call. Raises Unreachable, NoNode or RefusedCall.

        A call is never retried, because the node can have executed it without answering.
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
        """Request a stream of lines. Return the status of the reply. Raises Unreachable and NoNode."""
        with self._errors(REPLY_SECONDS_MAX):
            return self._run(self._protocol.head(), self._send("GET", target, b"", REPLY_SECONDS_MAX))

    def lines(self) -> Iterator[list[bytes]]:
        """Yield the received lines of the stream in non-empty lists. Raises Unreachable and NoNode."""
        lines = LineSplitter()
        while True:
            with self._errors():
                part = self._run(self._protocol.part(), lines.latest(time.monotonic()))
            if not part:
                return
            if whole := lines.add(part):
                yield whole

    def close(self) -> None:
        """Close the connection. A call that another thread is waiting for then fails."""
        if self._sock is not None:
            with suppress(OSError):
                self._sock.shutdown(socket.SHUT_RDWR)
            self._sock.close()
            self._sock = None

    @contextmanager
    def _errors(self, seconds_max: float | None = None) -> Iterator[None]:
        """Context manager that closes the connection after an error, and converts the error to a NodeError."""
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
        """Send a request. Return the deadline of the reply, as a monotonic time in seconds."""
        sock = self._sock
        if sock is None or not self._protocol.is_ready or time.monotonic() - self._used > IDLE_SECONDS_MAX or has_input(sock):
            sock = self._open()
        latest = time.monotonic() + seconds_max
        sock.settimeout(seconds_max)
        sock.sendall(self._protocol.request(method, target, body))
        return latest

    def _run(self, steps: Steps[T], latest: float) -> T:
        """Run the steps of a parser on the received bytes until the deadline `latest`. Raises TimeoutError and OSError."""
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
    """Whether an idle connection was closed by the node or has received unexpected data."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


def nobody_answers(url: str, error: OSError) -> Unreachable:
    """Return the error for a URL at which no node answers."""
    return Unreachable(f"no node answers at {url} ({reason(error)})")


def reason(error: BaseException) -> str:
    """Return the operating system's message for an error."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
