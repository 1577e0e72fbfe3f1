"""Compares the WebSocket server with hypercorn, which served WebSockets before. Both must give the same result for random streams of frames
and handshakes. Most of these are unusual, many are mutated, and all are split at random.

Run: .venv/bin/python -m tests.rpc.http.websocket.test_websocket_differences [COUNT] [FIRST_SEED]

Only these differences are allowed:

- A client that violates the protocol gets a close frame with the code 1002 or 1007. Hypercorn ended the connection silently.
- The size limit of a message counts bytes. Hypercorn counted characters in texts.
- A WebSocket request with HTTP/1.2 to 1.9 is refused with 400. Hypercorn required no key for these versions, and returned 200.
"""

import re
import sys
from functools import partial
from random import Random
from typing import Any
from unittest.mock import patch

import trio
import trio.testing
from hypercorn.events import Closed, Event, RawData
from hypercorn.protocol.events import Data, EndData, StreamClosed
from hypercorn.protocol.events import Event as StreamEvent
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.protocol.ws_stream import ASGIWebsocketState, FrameTooLargeError, Handshake, WebsocketBuffer, WSStream
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState, LifespanState
from wsproto.connection import Connection, ConnectionType
from wsproto.extensions import PerMessageDeflate

from rpc.http import hypercorn_protocols
from rpc.http.connection import ClientEnded
from rpc.http.hypercorn_protocols import HypercornProtocol
from rpc.http.hypercorn_server import server_config
from rpc.http.input_scheduler import FairInputScheduler
from rpc.http.tasks import ConnectionTasks, bugs_logged
from rpc.http.websocket.frames import FrameEvent, Frames
from rpc.http.websocket.handshake import UpgradeRequest
from tests.helpers.socket_streams import frames, handshake, pieces

SIZE_MAX = 1000
COUNT = 400  # in a run of all tests
CLIENT, SERVER = ("127.0.0.1", 40000), ("127.0.0.1", 8090)

# The events in order (texts, other messages, sent frames, and the end), and the number of buffered bytes after each chunk.
BROKEN = [("SENT", b"\x88", code.to_bytes(2, "big")) for code in (1002, 1007)]
Outcome = tuple[list[tuple[str, bytes]], list[int]]


# ------------------------------------------------------------------ frames


def in_ours(data: list[bytes]) -> Outcome:
    """Return the outcome of our frame parser on a stream: its events, and the number of waiting bytes after each chunk."""
    read = Frames(SIZE_MAX)
    happened: list[tuple[str, bytes]] = []
    waiting: list[int] = []
    for piece in data:
        read.feed(piece)
        while (found := read.next())[0] is not FrameEvent.MORE:
            if found[0] is FrameEvent.NOTHING:
                continue
            if found[0] in (FrameEvent.TEXT, FrameEvent.BYTES):
                happened.append((found[0].name, found[1]))
                continue
            if found[1]:
                happened.append(("SENT", found[1]))
            if found[0] is not FrameEvent.ANSWER:
                return [*happened, ("END", b"")], waiting
        waiting.append(read.waiting_size)
    return happened, waiting


class InBytes(WebsocketBuffer):
    """Hypercorn's buffer of a message, changed so that it limits bytes instead of characters."""

    def extend(self, event: Any) -> None:
        super().extend(event)
        self.length += len(event.data.encode()) - len(event.data) if isinstance(event.data, str) else 0
        if self.length > self.max_length:
            raise FrameTooLargeError


async def in_hypercorn(data: list[bytes]) -> Outcome:
    """Return the outcome of hypercorn on a stream: its events, and the number of waiting bytes after each chunk."""
    happened: list[tuple[str, bytes]] = []
    waiting: list[int] = []

    async def send(event: StreamEvent) -> None:
        if isinstance(event, Data):
            happened.append(("SENT", event.data))
        elif isinstance(event, StreamClosed | EndData):
            stream.closed = True

    async def take(message: dict[str, Any]) -> None:
        happened.append(("BYTES", b"") if message["text"] is None else ("TEXT", message["text"].encode()))

    config = server_config(75)
    given: Any = (None, config, WorkerContext(None), None, False, CLIENT, SERVER, send, 1)
    stream = WSStream(*given)
    stream.handshake = Handshake([], "1.1")
    stream.handshake.accepted = True
    stream.buffer = InBytes(SIZE_MAX)
    stream.connection = Connection(ConnectionType.SERVER, [PerMessageDeflate()])
    stream.state = ASGIWebsocketState.CONNECTED
    stream.app_put = take
    for piece in data:
        await stream.handle(Data(stream_id=1, data=piece))
        if stream.closed or stream.buffer.length > SIZE_MAX:
            return [*happened, ("END", b"")], waiting
        waiting.append(stream.buffer.length)
    return happened, waiting


def now(coroutine: Any) -> Any:
    """Return the result of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waits")


def compare_frames(seed: int) -> None:
    """Compare both frame parsers on the stream that is generated from a seed."""
    random = Random(seed)
    data = pieces(random, frames(random))
    ours, theirs = in_ours(data), now(in_hypercorn(data))
    if ours != theirs:
        *before, (kind, frame), end = ours[0]
        assert (kind, frame[:1], frame[2:4]) in BROKEN, (seed, data)
        ours = [*before, end], ours[1]
    assert ours == theirs, (seed, data)


# ------------------------------------------------------------------ handshakes


async def serve(scope: Any, receive: Any, send: Any, *_: Any) -> None:
    """An ASGI app that accepts every WebSocket and every request."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        await trio.sleep_forever()
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


async def answer(data: list[bytes], *, is_ours: bool) -> tuple[bytes, bool]:
    """Return the bytes that a server sends until the end of the handshake, without dates, and whether it then closed the connection."""
    config = server_config(75)
    sent: list[bytes] = []
    ended = trio.Event()

    async def send(event: Event) -> None:
        if isinstance(event, RawData):
            sent.append(event.data)
        elif isinstance(event, Closed):
            ended.set()

    input_scheduler = FairInputScheduler()
    app: Any = serve
    protocol = HypercornProtocol(app, config, WorkerContext(None), partial(input_scheduler.wait, ""), is_http2=False)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(input_scheduler.run)
        state = ConnectionState(LifespanState({}))
        protocol.begin(ConnectionTasks(nursery, "", input_scheduler, bugs_logged()), state, CLIENT, SERVER, send)
        for piece in data:
            try:
                with trio.move_on_after(1):
                    await protocol.handle(RawData(piece))
            except UpgradeRequest as asked:
                assert is_ours
                sent.append(asked.accept(config.response_headers("h11")))
            except ClientEnded:
                ended.set()
            await trio.testing.wait_all_tasks_blocked()
            stream: Any = protocol._spoken.stream if isinstance(protocol._spoken, H11Protocol) else None
            if isinstance(stream, WSStream) and stream.closed:
                ended.set()  # by whoever drove hypercorn
            if ended.is_set() or any(each.startswith(b"HTTP/1.1 101") for each in sent):
                break
        answered = re.sub(rb"date: [^\r]*\r\n", b"", b"".join(sent)), ended.is_set()
        nursery.cancel_scope.cancel()
    return answered


async def compare_handshakes(seed: int) -> None:
    """Compare both servers on the handshake that is generated from a seed."""
    random = Random(seed)
    data = pieces(random, handshake(random))
    ours = await answer(data, is_ours=True)
    with patch.object(hypercorn_protocols, "asks", lambda request: False):
        theirs = await answer(data, is_ours=False)
    if b"upgrade: WebSocket" in theirs[0] and last_status(theirs[0]) == 200:
        assert re.search(rb"HTTP/1\.[2-9]\r\n", b"".join(data)), (seed, data)
        assert last_status(ours[0]) == 400, (seed, data)
        return
    assert ours == theirs, (seed, data)


def last_status(sent: bytes) -> int:
    """Return the status of the last response."""
    return int(sent.rpartition(b"HTTP/1.1 ")[2][:3])


# ------------------------------------------------------------------ runs


def test_frames_have_the_same_outcome() -> None:
    for seed in range(COUNT):
        compare_frames(seed)


async def test_handshakes_have_the_same_outcome(autojump_clock: trio.testing.MockClock) -> None:
    for seed in range(COUNT // 6):
        await compare_handshakes(seed)


def main() -> None:
    """Compare COUNT streams and handshakes."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0

    async def compare_all_handshakes() -> None:
        for seed in range(first, first + count):
            await compare_handshakes(seed)

    for seed in range(first, first + count):
        compare_frames(seed)
    trio.run(compare_all_handshakes, clock=trio.testing.MockClock(autojump_threshold=0))
    print(f"{count:,} streams of frames and {count:,} handshakes came to the same")


if __name__ == "__main__":
    main()
