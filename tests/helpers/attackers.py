"""Hostile clients of a node, over raw sockets: requests that must end only their own connection (ONE_SHOT), clients that hold scarce
resources of the node (HOLDING), and clients that keep the node busy (FLOODS). They depend on the protocols only, not on the node's
defences.
"""

import base64
import contextlib
import json
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator
from threading import Event

from hpack import Encoder
from msgspec import Struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RESET, SETTINGS, PING, CONTINUATION = 0, 1, 2, 3, 4, 6, 9
END_STREAM, END_HEADERS = 1, 4
WINDOW_SIZE = 4
SECONDS_MAX = 10.0
CALL = b'{"jsonrpc":"2.0","method":"condenser_api.get_config","params":[],"id":1}'


class Target(Struct, frozen=True):
    """The node's address, and the address in 127.0.0.0/8 to attack it from. The node's limits apply to each such address separately."""

    port: int
    host: str = "127.0.0.1"
    source: str = "127.0.0.1"
    path: str = "/"
    call: bytes = CALL

    def connect(self) -> socket.socket:
        return socket.create_connection((self.host, self.port), SECONDS_MAX, (self.source, 0))


Holder = Callable[[Target], socket.socket]
Flood = Callable[[Target, Event], int]


def head(*lines: str | bytes) -> bytes:
    """Return the head of a request; str lines are encoded as UTF-8."""
    return b"\r\n".join([line.encode() if isinstance(line, str) else line for line in lines]) + b"\r\n\r\n"


def upgrade(*extra: str | bytes, connection: str | bytes = "Connection: Upgrade") -> bytes:
    """Return the request for a WebSocket."""
    key = "Sec-WebSocket-Key: " + base64.b64encode(bytes(16)).decode()
    return head("GET / HTTP/1.1", "Host: x", connection, "Upgrade: websocket", key, "Sec-WebSocket-Version: 13", *extra)


def ws_frame(payload: bytes, kind: int = 1, *, is_last: bool = True) -> bytes:
    """Return a masked client frame. Kinds: 0 continuation, 1 text, 2 binary, 8 close, 9 ping."""
    size = len(payload)
    length = (
        bytes([0x80 | size]) if size < 126 else b"\xfe" + size.to_bytes(2, "big") if size < 65536 else b"\xff" + size.to_bytes(8, "big")
    )
    return bytes([(0x80 if is_last else 0) | kind]) + length + bytes(4) + payload


def h2_frame(kind: int, stream: int = 0, payload: bytes = b"", flags: int = 0) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def h2_request(stream: int, *, is_whole: bool = True, **pseudo: bytes) -> bytes:
    """Return a HEADERS frame. `method` and `path` replace the usual pseudo-headers; an empty value leaves that one out."""
    given = {"method": b"POST", "scheme": b"http", "path": b"/", "authority": b"x", **pseudo}
    # A new encoder for each frame makes the header block independent of earlier ones.
    block = Encoder().encode([(b":" + name.encode(), value) for name, value in given.items() if value], huffman=False)
    return h2_frame(HEADERS, stream, block, END_HEADERS | (END_STREAM if is_whole else 0))


def h2_start(window: int | None = None) -> bytes:
    """Return the connection preface of an HTTP/2 client; `window` is the initial window size of its streams, in bytes."""
    return PREFACE + h2_frame(SETTINGS, 0, b"" if window is None else struct.pack(">HI", WINDOW_SIZE, window))


def h2_call(stream: int, call: bytes) -> bytes:
    """Return the frames of a complete HTTP/2 call."""
    return h2_request(stream, is_whole=False) + h2_frame(DATA, stream, call, END_STREAM)


def h2c(settings: str, *extra: str) -> bytes:
    """Return an upgrade request from HTTP/1.1 to HTTP/2."""
    return head("GET / HTTP/1.1", "Host: x", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", f"HTTP2-Settings: {settings}", *extra)


def _streams(count: int) -> Iterator[int]:
    return iter(range(1, 2 * count, 2))


ONE_SHOT: dict[str, bytes] = {
    "h2c with broken settings": h2c("AAAA"),
    "h2c with settings that are no base64": h2c("é"),
    "h2c without settings": head("GET / HTTP/1.1", "Host: x", "Connection: Upgrade", "Upgrade: h2c"),
    "h2c": h2c(""),
    "h2c and a non-ASCII path": h2c("").replace(b"GET /", b"GET /%FF"),
    "h2 preface alone": PREFACE,
    "h2 preface and noise": PREFACE + bytes(range(256)),
    "h2 non-ASCII method": h2_start() + h2_request(1, method="é".encode()),
    "h2 non-ASCII path": h2_start() + h2_request(1, path="/é".encode()),
    "h2 CONNECT without path": h2_start() + h2_request(1, method=b"CONNECT", path=b"", scheme=b""),
    "h2 CONNECT": h2_start() + h2_request(1, method=b"CONNECT"),
    "h2 WebSocket and a frame behind it": h2_start()
    + h2_frame(
        HEADERS,
        1,
        Encoder().encode(
            [
                (b":method", b"CONNECT"),
                (b":protocol", b"websocket"),
                (b":scheme", b"http"),
                (b":path", b"/"),
                (b":authority", b"x"),
                (b"sec-websocket-version", b"13"),
                (b"sec-websocket-protocol", "é".encode()),
            ]
        ),
        END_HEADERS,
    )
    + h2_frame(DATA, 1, ws_frame(b"x")),
    "h2 1,001 PRIORITY frames": h2_start() + b"".join(h2_frame(PRIORITY, s, struct.pack(">IB", 0, 15)) for s in _streams(1001)),
    "h2 PRIORITY on itself": h2_start() + h2_frame(PRIORITY, 1, struct.pack(">IB", 1, 15)),
    "h2 PRIORITY in a circle": h2_start()
    + h2_frame(PRIORITY, 3, struct.pack(">IB", 1, 15))
    + h2_frame(PRIORITY, 1, struct.pack(">IB", 3, 15)),
    "h2 4,550 streams with resets": h2_start()
    + b"".join(h2_request(s, is_whole=False) + h2_frame(RESET, s, struct.pack(">I", 8)) for s in _streams(4550)),
    "h2 DATA after the answer": h2_start() + h2_request(1, method=b"GET", path=b"/health") + h2_frame(DATA, 1, b"x"),
    "h2 headers without an end": h2_start()
    + h2_frame(HEADERS, 1, b"")
    + b"".join(h2_frame(CONTINUATION, 1, b"\x40\x01a\x01b") for _ in range(500)),
    "h2 header table size": h2_start() + h2_frame(HEADERS, 1, b"\x3f\xff\xff\xff\xff\x0f", END_HEADERS | END_STREAM),
    "WebSocket é in the protocol": upgrade("Sec-WebSocket-Protocol: é"),
    "WebSocket é in the extensions": upgrade("Sec-WebSocket-Extensions: é"),
    "WebSocket é in Connection": upgrade(connection="Connection: é, Upgrade"),
    "WebSocket broken extension": upgrade("Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=x; =;;,"),
    "WebSocket non-ASCII key": upgrade().replace(b"Sec-WebSocket-Key: ", b"Sec-WebSocket-Key: \xff"),
    "WebSocket without a version": upgrade().replace(b"Sec-WebSocket-Version: 13\r\n", b""),
    "WebSocket or HTTP/2": upgrade("Upgrade: h2c"),
    "WebSocket over HTTP/1.0": upgrade().replace(b"HTTP/1.1", b"HTTP/1.0"),
    "WebSocket upgraded twice": upgrade() + upgrade(),
    "WebSocket with a body": upgrade("Content-Length: 5") + b"hello",
    "WebSocket with a chunked body": upgrade("Transfer-Encoding: chunked") + b"1\r\nx\r\n0\r\n\r\n",
    "a frame right behind the upgrade request": upgrade() + ws_frame(CALL),
    "noise right behind the upgrade request": upgrade() + bytes(range(256)),
    "HTTP non-ASCII method": head(b"P\xc3\xa9 / HTTP/1.1", "Host: x"),
    "HTTP non-ASCII path": head("GET /é HTTP/1.1", "Host: x"),
    "HTTP é in Connection": head("GET / HTTP/1.1", "Host: x", "Connection: é"),
    "HTTP é in Host": head("GET / HTTP/1.1", "Host: é"),
    "HTTP é in Upgrade": head("GET / HTTP/1.1", "Host: x", "Connection: upgrade", "Upgrade: é"),
    "HTTP CONNECT": head("CONNECT x:80 HTTP/1.1", "Host: x") + b"hello",
    "HTTP two lengths": head("POST / HTTP/1.1", "Host: x", "Content-Length: 1", "Content-Length: 2") + b"xx",
    "HTTP negative length": head("POST / HTTP/1.1", "Host: x", "Content-Length: -1"),
    "HTTP broken chunk": head("POST / HTTP/1.1", "Host: x", "Transfer-Encoding: chunked") + b"xyz\r\n",
    "HTTP large chunk": head("POST / HTTP/1.1", "Host: x", "Transfer-Encoding: chunked") + b"f" * 20 + b"\r\n",
    "HTTP long head": b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 100_000,
    "HTTP many requests in one": head("GET /health HTTP/1.1", "Host: x") * 200,
    "HTTP expects and goes on": head("POST / HTTP/1.1", "Host: x", "Expect: 100-continue", "Content-Length: 3") + b"{}\n{}",
    "HTTP 2.0 without a preface": head("GET / HTTP/2.0", "Host: x"),
    "HTTP other preface": head("PRI / HTTP/2.0", "Host: x"),
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(500),
    "nothing": b"",
}


def shoot(target: Target, request: bytes, seconds: float = 0.5) -> bytes:
    """Send bytes regardless of the outcome. Return everything received until the node is silent for `seconds` or the connection ends."""
    answer = b""
    with contextlib.suppress(OSError), target.connect() as line:
        line.settimeout(seconds)
        with contextlib.suppress(OSError):
            line.sendall(request)
        while data := line.recv(65536):
            answer += data
    return answer


# ------------------------------------------------------------------ clients that hold scarce resources


def _nothing(target: Target) -> socket.socket:
    return target.connect()


def _slow_head(target: Target) -> socket.socket:
    line = target.connect()
    line.sendall(b"POST / HTTP/1.1\r\nHost: x\r\n")
    return line


def _slow_body(target: Target) -> socket.socket:
    line = target.connect()
    line.sendall(head(f"POST {target.path} HTTP/1.1", "Host: x", "Content-Length: 500") + b"{")
    return line


def _large_body(target: Target) -> socket.socket:
    line = target.connect()
    line.sendall(head(f"POST {target.path} HTTP/1.1", "Host: x", "Content-Length: 20000000"))
    line.setblocking(False)
    with contextlib.suppress(OSError):
        line.send(b" " * 10_000_000)
    return line


def _unread_reply(target: Target) -> socket.socket:
    line = target.connect()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.setblocking(False)
    with contextlib.suppress(OSError):
        line.sendall((head(f"POST {target.path} HTTP/1.1", "Host: x", f"Content-Length: {len(target.call)}") + target.call) * 100)
    return line


def _websocket(target: Target) -> socket.socket:
    line = target.connect()
    line.sendall(upgrade())
    line.recv(4096)
    return line


def _slow_message(target: Target) -> socket.socket:
    line = _websocket(target)
    line.setblocking(False)
    with contextlib.suppress(OSError):
        line.send(ws_frame(b" " * 1_000_000, is_last=False))
    return line


def _unread_messages(target: Target) -> socket.socket:
    line = _websocket(target)
    line.setblocking(False)
    with contextlib.suppress(OSError):
        line.send(ws_frame(target.call) * 200)
    return line


def _window_zero(target: Target) -> socket.socket:
    line = target.connect()
    line.setblocking(True)
    line.sendall(h2_start(window=0) + b"".join(h2_call(stream, target.call) for stream in _streams(100)))
    return line


def _h2_slow_bodies(target: Target) -> socket.socket:
    line = target.connect()
    line.sendall(h2_start() + b"".join(h2_request(s, is_whole=False) + h2_frame(DATA, s, b"{") for s in _streams(100)))
    return line


HOLDING: dict[str, Holder] = {
    "nothing": _nothing,
    "slow heads": _slow_head,
    "slow bodies": _slow_body,
    "large bodies": _large_body,
    "unread replies": _unread_reply,
    "WebSockets": _websocket,
    "slow messages": _slow_message,
    "unread messages": _unread_messages,
    "h2 window 0": _window_zero,
    "h2 slow bodies": _h2_slow_bodies,
}


def hold(holder: Holder, target: Target, count: int) -> list[socket.socket]:
    """Open `count` connections with `holder`, and return those that the node accepted. The caller ends the attack by closing them."""
    lines = []
    for _ in range(count):
        with contextlib.suppress(OSError):
            lines.append(holder(target))
    return lines


# ------------------------------------------------------------------ clients that keep it busy


def _again(target: Target, stop: Event, start: bytes, piece: bytes) -> int:
    """Send `piece` in a loop. Whenever the connection ends, open another one and send `start` first. Return the number of connections
    opened.
    """
    connections = 0
    while not stop.is_set():
        connections += 1
        with contextlib.suppress(OSError), target.connect() as line:
            line.settimeout(0.1)
            line.sendall(start)
            while not stop.is_set():
                with contextlib.suppress(TimeoutError):
                    line.sendall(piece)
                line.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    while line.recv(1 << 20):
                        pass
                line.settimeout(0.1)
        stop.wait(0.001)
    return connections


def _trickle(target: Target, stop: Event) -> int:
    """Send bodies of 10,000 bytes, one byte every 20 ms, on each of 50 connections. Return the number of connections opened."""
    lines: list[socket.socket] = []
    connections = 0
    while not stop.wait(0.02):
        for line in list(lines):
            try:
                line.send(b" ")
            except OSError:
                lines.remove(line)
        while len(lines) < 50 and not stop.is_set():
            connections += 1
            try:
                lines.append(_slow_body(target))
            except OSError:
                break
    for line in lines:
        line.close()
    return connections


def _connects(target: Target, stop: Event) -> int:
    """Open connections as fast as possible and keep the last 500 open. Return the number of connections opened."""
    lines: list[socket.socket] = []
    connections = 0
    while not stop.is_set():
        connections += 1
        with contextlib.suppress(OSError):
            lines.append(target.connect())
        if len(lines) > 500:
            lines.pop(0).close()
    for line in lines:
        line.close()
    return connections


def _post(target: Target, body: bytes) -> bytes:
    return head(f"POST {target.path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}") + body


def _page(path: bytes) -> bytes:
    return head(b"GET %s HTTP/1.1" % path, "Host: x")


_BATCH = json.dumps([{"jsonrpc": "2.0", "method": "condenser_api.get_config", "params": [], "id": i} for i in range(1000)]).encode()

FLOODS: dict[str, Flood] = {
    "connects": _connects,
    "trickle": _trickle,
    "calls": lambda target, stop: _again(target, stop, b"", _post(target, target.call) * 20),
    "pages": lambda target, stop: _again(target, stop, b"", _page(b"/health") * 50),
    "metrics": lambda target, stop: _again(target, stop, b"", _page(b"/metrics") * 20),
    "batches": lambda target, stop: _again(target, stop, b"", _post(target, _BATCH)),
    "small chunks": lambda target, stop: _again(
        target, stop, head("POST / HTTP/1.1", "Host: x", "Transfer-Encoding: chunked"), b"1\r\n \r\n" * 10_000
    ),
    "errors": lambda target, stop: _again(target, stop, b"", b"\xff\r\n\r\n" * 100),
    "pings": lambda target, stop: _again(target, stop, upgrade(), ws_frame(b"", 9) * 10_000),
    "fragments": lambda target, stop: _again(
        target, stop, upgrade() + ws_frame(b"", is_last=False), ws_frame(b"", 0, is_last=False) * 10_000
    ),
    "messages": lambda target, stop: _again(target, stop, upgrade(), ws_frame(b"x") * 1000),
    "h2 pings": lambda target, stop: _again(target, stop, h2_start(), h2_frame(PING, 0, bytes(8)) * 5000),
    "h2 settings": lambda target, stop: _again(target, stop, h2_start(), h2_frame(SETTINGS) * 5000),
    "h2 resets": lambda target, stop: _again(target, stop, ONE_SHOT["h2 4,550 streams with resets"], b""),
    "h2 empty data": lambda target, stop: _again(target, stop, h2_start() + h2_request(1, is_whole=False), h2_frame(DATA, 1) * 5000),
}


def ask_health(target: Target) -> float:
    """Return the seconds until an ordinary client gets GET /health over a new connection. Raises an error if there is no valid response."""
    begun = time.perf_counter()
    with target.connect() as line:
        line.sendall(head("GET /health HTTP/1.1", f"Host: localhost:{target.port}", "Connection: close"))
        answer = b""
        while data := line.recv(65536):
            answer += data
    if not answer.startswith((b"HTTP/1.1 200", b"HTTP/1.1 503")) or b"{" not in answer:
        raise OSError(f"no answer: {answer[:100]!r}")
    return time.perf_counter() - begun
