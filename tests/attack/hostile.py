"""Hostile requests over HTTP/1.1, HTTP/2 (prior knowledge) and WebSocket, each with and without the client closing its side.

After each request the node must answer GET /health. At the end it must be the same process, stop cleanly, and have no traceback in its log.
"""

import contextlib
import json
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from tests.attack.nodes import Client, Gone, Node, running, supported
from tests.fuzz.registry import TARGETS
from tests.fuzz.target import kept_inputs
from tests.helpers.attackers import CALL, ONE_SHOT, Target, h2_call, h2_start, head, shoot, upgrade, ws_frame
from tests.helpers.mutations import JUNK, damaged

ANSWER_SECONDS_MAX = 5.0
HEALTH_SECONDS_MAX = 5.0
LOOK_SECONDS = 0.15  # time to wait for a reply to an invalid request
SIZES = (10, 100, 1000, 100_000)
HTTP2_OPTION = "--http2"
# Expensive methods that need local rights are not attacks.
LOCAL_GROUPS = ("debug_node_api", "dev_api")

Lane = Callable[[bytes], bytes]


def run(count: int, seed: int) -> dict[str, int]:
    """Send `count` hostile requests. If the node has an option for HTTP/2, half of them go to a second node that is started with this
    option.
    """
    options = [[], [HTTP2_OPTION]] if supported(HTTP2_OPTION) else [[]]
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="coind-hostile-") as place:
        for number, each in enumerate(options):
            with running(Path(place) / str(number), "--no-produce", *each) as node:
                attacker = Attacker(node, Random(f"{seed}/{number}"))
                attacker.attack(count // len(options))
                attacker.end()
            total += attacker.counts
            total["slowest_health_ms"] = max(total["slowest_health_ms"], round(attacker.slowest * 1000))
    return dict(total)


class Attacker:
    """Sends hostile requests to one node."""

    def __init__(self, node: Node, random: Random) -> None:
        self.counts: Counter[str] = Counter()
        self.slowest = 0.0
        self._node, self._random = node, random
        self._target = Target(node.port)
        self._ordinary = Client(node, HEALTH_SECONDS_MAX)
        self._requests = [request for path in kept_inputs(TARGETS["rpc"]) if is_remote(request := read(path))]
        assert len(self._requests) > 100

    def attack(self, count: int) -> None:
        """Send all prepared requests once, then random ones."""
        for name, request in ONE_SHOT.items():
            shoot(self._target, request, LOOK_SECONDS)
            self._check("prepared", f"{name}")
            self._exchange(request)
            self._check("prepared", f"{name}, and the end")
        while sum(self.counts.values()) < count:
            name, request = self._random_request()
            self._exchange(request)
            self._check(name, repr(request[:1000]))

    def end(self) -> None:
        """Stop the node and check its log."""
        status = self._node.stop()
        words = self._node.errors.read_text("utf-8", "replace")
        assert status == 0, f"the node ended with status {status}: {words[-1000:]}"
        assert "Traceback" not in words, f"a traceback: {words[words.index('Traceback') :][:3000]}"

    def _random_request(self) -> tuple[str, bytes]:
        """Return a random invalid request for a random protocol, and its description."""
        random = self._random
        kind = random.choice(("confused", "confused", "confused", "batch", "deep", "number", "bytes", "bytes"))
        if kind == "bytes":
            return kind, mutated(random, random.choice(list(ONE_SHOT.values())))
        if kind == "confused":
            body = damaged(random, random.choice(self._requests))
        elif kind == "batch":
            body = b"[" + b",".join(damaged(random, random.choice(self._requests)) for _ in range(random.randint(0, 20))) + b"]"
        elif kind == "deep":
            body = random.choice((b"[", b'{"a":', b'[{"params":')) * random.choice(SIZES)
        else:
            number = random.choice((b"9", b"1e", b"-", b"0.")) + b"9" * random.choice(SIZES)
            body = b'{"jsonrpc":"2.0","id":%s,"method":"condenser_api.get_block","params":[%s]}' % (number, number)
        lane = random.choice(("http", "http", "chunked", "websocket", "http2"))
        return f"over {lane}", LANES[lane](body)

    def _exchange(self, request: bytes) -> bytes:
        """Send bytes, close the client's side, and read until the node closes its side."""
        answer = b""
        with contextlib.suppress(OSError), self._target.connect() as line:
            line.settimeout(ANSWER_SECONDS_MAX)
            with contextlib.suppress(OSError):
                line.sendall(request)
                line.shutdown(socket.SHUT_WR)
            while data := line.recv(65536):
                answer += data
        return answer

    def _check(self, kind: str, request: str) -> None:
        """Check that an ordinary client still gets an answer."""
        self.counts[kind] += 1
        start = time.monotonic()
        try:
            shown = self._ordinary.health()
        except (Gone, ValueError):
            # The node is allowed to close the idle persistent connection.
            shown = self._again(request)
        self.slowest = max(self.slowest, time.monotonic() - start)
        assert "head_block_number" in shown, shown
        assert self._node.is_running, f"{request} ended the node: {self._node.words()}"

    def _again(self, request: str) -> dict[str, Any]:
        try:
            return self._ordinary.health()
        except (Gone, ValueError) as error:
            state = "runs" if self._node.is_running else f"has ended with status {self._node.process.poll()}"
            raise AssertionError(f"after {request}: /health isn't answered ({error}); the node {state}: {self._node.words()}") from None


def read(path: Path) -> Any:
    """Return the JSON value of a seed file, or None if it isn't valid JSON."""
    try:
        return json.loads(path.read_bytes())
    except ValueError:
        return None


def is_remote(request: Any) -> bool:
    """Whether a request can be sent by a client on another machine, which has no local rights."""
    return isinstance(request, dict) and not any(group in json.dumps(request) for group in LOCAL_GROUPS)


def mutated(random: Random, data: bytes) -> bytes:
    """Return the data with some bytes changed, removed or duplicated."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 5, 20))):
        place = random.randrange(len(changed) + 1)
        how = random.randrange(4)
        if how == 0:
            changed[place : place + 1] = bytes([random.randrange(256)])
        elif how == 1:
            del changed[place : place + random.choice((1, 2, 9, 100))]
        elif how == 2:
            changed[place:place] = changed[place : place + random.choice((1, 9, 100))]
        else:
            changed[place:place] = str(random.choice(JUNK)).encode("utf-8", "replace")
    return bytes(changed)


def over_http(body: bytes) -> bytes:
    """Return an HTTP request with a Content-Length."""
    return head("POST / HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", "Connection: close") + body


def over_chunks(body: bytes) -> bytes:
    """Return an HTTP request in two chunks."""
    middle = len(body) // 2
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:middle], body[middle:]) if part)
    return head("POST / HTTP/1.1", "Host: localhost", "Transfer-Encoding: chunked", "Connection: close") + chunks + b"0\r\n\r\n"


def over_websocket(body: bytes) -> bytes:
    """Return WebSocket messages, the last of them valid, and a close frame."""
    return upgrade() + ws_frame(body) + ws_frame(body, 2) + ws_frame(CALL) + ws_frame(b"\x03\xe8", 8)


def over_http2(body: bytes) -> bytes:
    """Return two HTTP/2 requests, the second of them valid."""
    return h2_start() + b"".join(h2_call(stream, piece) for stream, piece in ((1, body[:16_000]), (3, CALL)))


LANES: dict[str, Lane] = {"http": over_http, "chunked": over_chunks, "websocket": over_websocket, "http2": over_http2}
