"""Calls to a source: methods and sizes of batches are found out, and a source that stalls, refuses or lies is handled."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from node.client.errors import RefusedCall, TooLarge, Unreachable
from node.fork.source import (
    BATCH_CALLS_MAX,
    MESSAGE_LENGTH_MAX,
    PATIENCE_SECONDS,
    REPLY_SECONDS_MAX,
    VALUES_SIZE_MAX,
    Source,
    SourceSilent,
    SourceWrong,
)
from node.fork.transport import HttpReply

URL = "http://there:8090"
Answer = Callable[[Any], HttpReply]


class Scripted:
    """A transport that answers requests by functions, in order; the last one answers all further requests."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[Any] = []
        self.times: list[float] = []

    async def post(self, body: bytes, size_max: int) -> HttpReply:
        await trio.lowlevel.checkpoint()
        self.requests.append(json.loads(body))
        self.times.append(trio.current_time())
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer(self.requests[-1])

    async def close(self) -> None:
        """Do nothing."""


def replied(value: Any, status: int = 200, retry_after: str = "") -> HttpReply:
    return HttpReply(status, retry_after, value if isinstance(value, bytes) else json.dumps(value).encode())


def echo(request: Any) -> HttpReply:
    """Answer each call with its params."""
    calls = request if isinstance(request, list) else [request]
    results = [{"id": call["id"], "result": call["params"]} for call in calls]
    return replied(results if isinstance(request, list) else results[0])


def refuse(message: str, code: int = -32000) -> Answer:
    return lambda request: replied({"id": 1, "error": {"code": code, "message": message}})


def body(value: Any, **options: Any) -> Answer:
    return lambda request: replied(value, **options)


def fails(error: Exception) -> Answer:
    def answer(_: Any) -> HttpReply:
        raise error

    return answer


def source(*answers: Answer, **options: Any) -> tuple[Source, Scripted]:
    transport = Scripted(*answers)
    return Source(URL, transport=transport, **options), transport


async def test_a_call_returns_its_result(autojump_clock: MockClock) -> None:
    there, _ = source(echo)
    assert await there.call("a.b", {"x": 1}) == {"x": 1}


async def test_calls_are_sent_in_batches(autojump_clock: MockClock) -> None:
    there, transport = source(lambda request: replied(json.loads(echo(request).body)[::-1]))
    calls = [("a.b", [i]) for i in range(2 * BATCH_CALLS_MAX)]
    assert await there.batch(calls) == [[i] for i in range(2 * BATCH_CALLS_MAX)]
    assert [len(request) for request in transport.requests] == [BATCH_CALLS_MAX] * 2


@pytest.mark.parametrize(
    "refusal",
    [refuse("JSON-RPC batch is too large"), body(b"<html>", status=413), body([]), body([{"id": 1, "result": 1}]), fails(TooLarge("x"))],
    ids=["an error", "413", "no answers", "one answer", "too large"],
)
async def test_batches_are_halved_until_the_source_takes_them(refusal: Answer, autojump_clock: MockClock) -> None:
    there, transport = source(lambda request: refusal(request) if isinstance(request, list) and len(request) > 3 else echo(request))
    assert await there.batch([("a.b", [i]) for i in range(10)]) == [[i] for i in range(10)]
    assert [len(request) for request in transport.requests] == [10, 5, 2, 2, 2, 2, 2]


async def test_a_source_without_batches_gets_single_calls(autojump_clock: MockClock) -> None:
    there, _ = source(lambda request: body(b"no", status=400)(0) if isinstance(request, list) else echo(request))
    assert await there.batch([("a.b", [i]) for i in range(10)]) == [[i] for i in range(10)]


async def test_a_refused_call_is_raised_or_returned(autojump_clock: MockClock) -> None:
    there, _ = source(refuse("no"))
    with pytest.raises(RefusedCall, match=r"a\.b is refused: no"):
        await there.call("a.b")
    assert isinstance((await there.attempt([("a.b", [])]))[0], RefusedCall)


async def test_the_message_of_a_refusal_is_cut(autojump_clock: MockClock) -> None:
    there, _ = source(refuse("no" * 10_000))
    with pytest.raises(RefusedCall) as raised:
        await there.call("a.b")
    assert len(raised.value.message) == MESSAGE_LENGTH_MAX


@pytest.mark.parametrize(
    "failure",
    [
        fails(Unreachable("gone")),
        body(b"<html>Bad Gateway", status=502),
        body({"x": 1}, status=500),
        refuse("Unable to acquire database lock"),
        refuse("Internal Error", code=-32603),
        body(b"", status=429),
    ],
    ids=["gone", "502", "500", "lock", "internal", "429"],
)
async def test_passing_failures_are_repeated(failure: Answer, autojump_clock: MockClock) -> None:
    there, transport = source(failure, failure, echo)
    assert await there.call("a.b", [1]) == [1]
    assert len(transport.requests) == 3
    there, transport = source(failure)
    start = trio.current_time()
    with pytest.raises((SourceSilent, RefusedCall)):
        await there.call("a.b", [1])
    assert len(transport.requests) > 3
    assert trio.current_time() - start <= PATIENCE_SECONDS


async def test_only_the_failed_calls_of_a_batch_are_repeated(autojump_clock: MockClock) -> None:
    def half(request: list[Any]) -> HttpReply:
        return replied(
            [{"id": c["id"], "error": {"message": "Request Timeout"}} if i else {"id": c["id"], "result": 0} for i, c in enumerate(request)]
        )

    there, transport = source(half, echo)
    assert await there.batch([("a.b", [i]) for i in range(3)]) == [0, [1], [2]]
    assert len(transport.requests[1]) == 2


async def test_a_source_that_never_answers_is_silent(autojump_clock: MockClock) -> None:
    class Stalled(Scripted):
        async def post(self, body: bytes, size_max: int) -> HttpReply:
            await trio.sleep_forever()
            raise AssertionError

    with pytest.raises(SourceSilent, match=f"within {REPLY_SECONDS_MAX} s"):
        await Source(URL, transport=Stalled()).call("a.b")
    with pytest.raises(SourceSilent, match="within 2 s"):
        await Source(URL, transport=Stalled(), patience_seconds=2).batch([("a.b", []), ("a.c", [])])


async def test_the_pause_that_a_source_asks_for_is_kept_by_all_calls(autojump_clock: MockClock) -> None:
    there, transport = source(body(b"", status=429, retry_after="20"), echo)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(there.call, "a.b", [1])
        await trio.sleep(1)
        nursery.start_soon(there.call, "a.b", [2])
    assert transport.times[1] - transport.times[0] >= 20
    assert transport.times[2] - transport.times[0] >= 20


async def test_a_pause_beyond_our_patience_ends_the_call(autojump_clock: MockClock) -> None:
    there, transport = source(body(b"", status=429, retry_after="3600"))
    with pytest.raises(SourceSilent):
        await there.call("a.b", [1])
    assert len(transport.requests) == 1


async def test_messages_have_no_secrets(autojump_clock: MockClock) -> None:
    there = Source("http://user:secret@127.0.0.1:1/api?key=secret", patience_seconds=1)
    with pytest.raises(SourceSilent) as raised:
        await there.call("a.b")
    assert "http://127.0.0.1:1/api" in str(raised.value)
    assert "secret" not in str(raised.value)


async def test_requests_keep_the_rate(autojump_clock: MockClock) -> None:
    there, transport = source(echo, requests_per_second=2)
    async with trio.open_nursery() as nursery:
        for i in range(5):
            nursery.start_soon(there.call, "a.b", [i])
    assert transport.times[-1] - transport.times[0] == pytest.approx(2)


@pytest.mark.parametrize(
    "text",
    [
        b"<html>hello</html>",
        b'{"result": [1, 2',
        b'{"result": ' + b"[" * 500 + b"]" * 500 + b"}",
        b'{"result": 99999999999999999999999999}',
        b'{"hello": 1}',
        b"[]",
        b'{"result": "\xff"}',
        b"",
    ],
    ids=["html", "half", "deep", "large number", "other JSON", "list", "no UTF-8", "empty"],
)
async def test_an_unreadable_reply_names_the_method(text: bytes, autojump_clock: MockClock) -> None:
    there, _ = source(body(text))
    with pytest.raises(SourceWrong) as raised:
        await there.call("a.b")
    assert raised.value.method == "a.b"
    assert URL in str(raised.value)


async def test_a_reply_with_too_many_values_is_not_decoded(autojump_clock: MockClock) -> None:
    there, _ = source(body(b'{"id": 1, "result": [' + b"{}," * (VALUES_SIZE_MAX // 256) + b"{}]}"))
    with pytest.raises(SourceWrong, match="too many values"):
        await there.call("a.b")


async def test_brackets_in_texts_are_not_nesting(autojump_clock: MockClock) -> None:
    there, _ = source(echo)
    assert await there.call("a.b", ["[" * 500]) == ["[" * 500]


async def test_methods_are_those_of_the_list(autojump_clock: MockClock) -> None:
    there, transport = source(body({"result": ["condenser_api.get_config", "a.b"]}))
    assert await there.has("a.b")
    assert not await there.has("a.c")
    assert len(transport.requests) == 1


async def test_methods_of_an_indexer_are_tried(autojump_clock: MockClock) -> None:
    there, transport = source(body({"result": ["condenser_api.get_config"]}), body({"result": {}}), refuse("Could not find method c"))
    assert await there.has("condenser_api.get_content")
    assert not await there.has("bridge.c")
    assert len(transport.requests) == 3


@pytest.mark.parametrize("listed", [refuse("Could not find API jsonrpc"), body({"result": {}}), body({"result": ["x.y", 1]})])
async def test_without_a_list_methods_are_tried(listed: Answer, autojump_clock: MockClock) -> None:
    there, transport = source(listed, refuse("Assert Exception: 3 arguments needed"), refuse("Could not find method c"))
    assert await there.has("a.b")
    assert not await there.has("a.c")
    assert await there.has("a.b")
    assert not await there.has("a.c")
    assert len(transport.requests) == 3


async def test_a_listed_method_that_is_not_served_is_found_out(autojump_clock: MockClock) -> None:
    there, _ = source(body({"result": ["condenser_api.get_config", "a.b"]}), refuse("Invalid JSONRPC method namespace"), echo)
    assert await there.first_of(("a.b", [1]), ("condenser_api.get_config", [2])) == ("condenser_api.get_config", [2])
    assert not await there.has("a.b")
    assert await there.first_of(("a.b", [1]), ("a.c", [2])) is None
