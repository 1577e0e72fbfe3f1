"""The trio client with a node that sends arbitrary data: other tasks keep running, and every call ends."""

from collections.abc import AsyncIterator, Callable
from itertools import count
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from node.client import trio_http
from node.client.errors import NoNode, TooLarge, Unreachable
from node.client.http import ANNOUNCED_MAX, EVENTS_AT_ONCE_MAX, REPLY_SECONDS_MAX
from node.client.lines import LINE_RATE_MIN, SILENCE_SECONDS_MAX
from node.client.trio_http import connected
from rpc.jsonrpc.scheduler import CHECKPOINTS, ReplyScheduler

URL = "http://there:8090"
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"
ENDLESS = HEAD + b"connection: close\r\n\r\n"
Next = Callable[[], AsyncIterator[bytes]]


class Stream(trio.abc.Stream):
    """A connection that delivers the chunks of an iterator, one for each receive call."""

    def __init__(self, parts: AsyncIterator[bytes]) -> None:
        self._parts, self._rest = parts, b""

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        await trio.lowlevel.checkpoint()
        self._rest = self._rest or await anext(self._parts, b"")
        part, self._rest = self._rest[:max_bytes], self._rest[max_bytes:] if max_bytes else b""
        return part

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Discard the data."""
        await trio.lowlevel.checkpoint()

    async def wait_send_all_might_not_block(self) -> None:
        """Return immediately, since sending never blocks."""

    async def aclose(self) -> None:
        """Do nothing."""


Sends = Callable[[Next], None]


@pytest.fixture
def sends(monkeypatch: pytest.MonkeyPatch) -> Sends:
    """A function that sets the data, in chunks, that the node at URL sends on each new connection."""

    def send(parts: Next) -> None:
        async def connect(*_: Any) -> Stream:
            return Stream(parts())

        monkeypatch.setattr(trio, "open_tcp_stream", connect)

    return send


def once(*parts: bytes) -> Next:
    """Return a source of these chunks, after which the connection ends."""

    async def each() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    return each


def dripping(*, seconds: float, part: bytes, head: bytes = ENDLESS) -> Next:
    """Return a source that sends `head`, then `part` repeatedly, with a pause of `seconds` before each."""

    async def each() -> AsyncIterator[bytes]:
        yield head
        while True:
            await trio.sleep(seconds)
            yield part

    return each


def every_turn() -> ReplyScheduler:
    """Return a scheduler for which each step takes a whole time slice, so that other tasks run after every step."""
    return ReplyScheduler(count().__next__)


async def turns_during(work: Callable[[], Any]) -> int:
    """Run `work`, and return how often another task ran while it was running."""
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        await work()
        nursery.cancel_scope.cancel()
    return turns


def chunks(body: bytes) -> bytes:
    """Encode a body in HTTP's chunked encoding, with chunks of one byte."""
    return b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"


async def called(**options: Any) -> Any:
    async with connected(URL, every_turn()) as connection:
        return await connection.call("a.b", {}, **options)


async def test_other_tasks_run_between_chunks_of_one_byte(sends: Sends) -> None:
    body = b'{"result": "' + b"x" * 10_000 + b'"}'
    sends(once(CHUNKED + chunks(body)))
    results: list[str] = []

    async def call() -> None:
        results.append(await called())

    assert await turns_during(call) >= len(body) // EVENTS_AT_ONCE_MAX * CHECKPOINTS
    assert results == ["x" * 10_000]


async def test_other_tasks_run_while_a_large_reply_is_decoded(sends: Sends) -> None:
    body = b'{"result": [' + b",".join([b"[]"] * 250_000) + b"]}"
    sends(once(HEAD + b"content-length: %d\r\n\r\n" % len(body) + body))
    assert await turns_during(called) > len(body) >> 16


async def test_other_tasks_run_between_lines(sends: Sends) -> None:
    sends(once(CHUNKED + chunks(b"a\n" * 1000)))
    found: list[bytes] = []

    async def read() -> None:
        async with connected(URL, every_turn()) as connection:
            await connection.open_stream("/")
            async for lines in connection.lines():
                found.extend(lines)

    assert await turns_during(read) >= 2000 // EVENTS_AT_ONCE_MAX * CHECKPOINTS
    assert found == [b"a"] * 1000


@pytest.mark.parametrize("has_more", [False, True])
async def test_the_number_of_informational_responses_is_bounded(sends: Sends, has_more: bool) -> None:
    announced = b"HTTP/1.1 100 Continue\r\n\r\n" * (ANNOUNCED_MAX + has_more)
    sends(once(announced + HEAD + b'content-length: 12\r\n\r\n{"result":1}'))
    if has_more:
        with pytest.raises(NoNode):
            await called()
    else:
        assert await called() == 1


@pytest.mark.parametrize(
    "sent",
    [
        HEAD + b"a: b\r\n" * 20_000,
        CHUNKED + b"1;" + b"x" * 100_000,
        CHUNKED + b"0\r\n" + b"a: b\r\n" * 20_000,
        HEAD + b"content-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 301 Moved\r\nlocation: /\r\ncontent-length: 0\r\n\r\n",
        HEAD + b"content-encoding: gzip\r\ncontent-length: 4\r\n\r\n\x1f\x8b\x08\x00",
        ENDLESS + b"[" * 100_000,
        ENDLESS + b"\xff\xff",
        ENDLESS + b"x" * 1_000_001,
    ],
)
async def test_an_invalid_reply_is_an_error(sends: Sends, sent: bytes) -> None:
    sends(once(sent))
    with pytest.raises((NoNode, Unreachable)):
        await called(size_max=1_000_000)


async def test_a_reply_with_too_many_values_is_refused(sends: Sends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trio_http, "MARKS_MAX", 10)
    sends(once(ENDLESS + b'{"result":[' + b"[]," * 4 + b"1]}"))
    with pytest.raises(TooLarge):
        await called()


async def test_an_endless_reply_is_refused(sends: Sends) -> None:
    sends(dripping(seconds=0, part=b"x" * 65536))
    with pytest.raises(TooLarge):
        await called()


@pytest.mark.parametrize("part", [b"", HEAD[:-2], HEAD, CHUNKED, CHUNKED + b"2\r\na"])
async def test_a_connection_closed_early_is_unreachable(sends: Sends, part: bytes) -> None:
    sends(once(part))
    with pytest.raises(Unreachable):
        await called()


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 ", HEAD, ENDLESS, CHUNKED + b"1;"])
async def test_a_slow_reply_times_out(sends: Sends, autojump_clock: MockClock, head: bytes) -> None:
    sends(dripping(seconds=1, part=b"a", head=head))
    with pytest.raises(Unreachable):
        await called()
    assert trio.current_time() <= REPLY_SECONDS_MAX + 1


async def test_a_call_waits_for_the_head_up_to_its_timeout(sends: Sends, autojump_clock: MockClock) -> None:
    async def each() -> AsyncIterator[bytes]:
        await trio.sleep(10 * REPLY_SECONDS_MAX)
        yield HEAD + b'content-length: 12\r\n\r\n{"result":1}'

    sends(each)
    assert await called(seconds_max=11 * REPLY_SECONDS_MAX) == 1
    with pytest.raises(Unreachable):
        await called(seconds_max=9 * REPLY_SECONDS_MAX)


async def lines_read() -> int:
    """Read a stream to its end, and return the number of lines."""
    found = 0
    async with connected(URL, ReplyScheduler()) as connection:
        await connection.open_stream("/")
        async for lines in connection.lines():
            found += len(lines)
    return found


async def test_a_line_that_drips_ends_in_time(sends: Sends, autojump_clock: MockClock) -> None:
    sends(dripping(seconds=1, part=b"a"))
    begun = trio.current_time()
    with pytest.raises(Unreachable):
        await lines_read()
    assert trio.current_time() - begun <= SILENCE_SECONDS_MAX + 2


async def test_a_long_line_has_its_time_and_so_has_silence_between_lines(sends: Sends, autojump_clock: MockClock) -> None:
    async def each() -> AsyncIterator[bytes]:
        yield ENDLESS + b"one\n"
        for _ in range(5 * SILENCE_SECONDS_MAX):
            await trio.sleep(1)
            yield b"x" * LINE_RATE_MIN
        yield b"\n"
        await trio.sleep(SILENCE_SECONDS_MAX - 1)
        yield b"three\n"

    sends(each)
    assert await lines_read() == 3
