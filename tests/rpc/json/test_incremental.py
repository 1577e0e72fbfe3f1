"""Large bodies, read in slices: values and refusals are those of the plain way, whatever the slices are."""

import json
from random import Random
from typing import Any

import pytest
import trio
import trio.testing

from rpc.caller import ANYBODY, LOCAL
from rpc.json import incremental, reader
from rpc.json.reader import read_json, read_json_in_steps
from rpc.jsonrpc import dispatch
from rpc.jsonrpc.scheduler import ReplyScheduler
from state.protocol.errors import ChainError, ParseError
from state.store.lazy.incremental import NotReady, ReadMode
from tests.helpers.fakes import Results, fake_service

BODIES = 3000
KEYS = ("a", "b", 'a "quoted" one', "\u00e9", "\U0001f600", "")
SCALARS = (1, -5, 1.5, -2.5e-7, 1e300, 2**63, 2**64, -(2**63) - 1, True, None, "", "\u00e9\u20ac", "\U0001f600", "[{,}]", '\\"', "9" * 22)
PIECES = (
    *(b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"0", b"-", b".", b"e", b"E5", b" ", b"\n", b"\x0b", b"\x00", b"\x1f"),
    *(b"null", b"t", b"NaN", b"-Infinity", b"\xff", b"\xc3\xa9", b"\xed\xa0\x80", rb"\ud800", rb"\u00e9", b"1e999", b'"a":', b"9" * 4400),
    *(b"9" * 20, b'"k":[1,{"b":2}]'),
)


def made(random: Random, depth: int = 0) -> Any:
    """Return a random JSON value."""
    kind = random.random() if depth < 5 else 1.0
    if kind < 0.35:
        return [made(random, depth + 1) for _ in range(random.choice((0, 1, 2, 3, 8)))]
    if kind < 0.6:
        return {random.choice(KEYS): made(random, depth + 1) for _ in range(random.choice((0, 1, 2, 3, 8)))}
    return random.choice(SCALARS)


def spoilt(random: Random, body: bytes) -> bytes:
    """Return a body with some bytes put in, taken out, exchanged or cut off."""
    for _ in range(random.choice((0, 0, 1, 1, 2, 5))):
        place, piece = random.randrange(len(body) + 1), random.choice(PIECES)
        ways = (
            body[:place] + piece + body[place:],
            body[:place] + body[place + 2 :],
            body[:place] + piece + body[place + 1 :],
            body[:place],
        )
        body = random.choice(ways)
    return body


def outcome(body: bytes, in_slices: bool) -> tuple[str, str]:
    """Return the value of a body, or its refusal with all that it shows."""
    try:
        if not in_slices:
            return repr(read_json(body)), ""
        steps = read_json_in_steps(body)
        while True:
            next(steps)
    except StopIteration as end:
        return repr(end.value), ""
    except ChainError as error:
        return error.message(), f"{type(error)} {error.frames}"


def test_a_body_in_slices_is_what_it_is_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(0)
    refused = 0
    for _ in range(BODIES):
        monkeypatch.setattr(incremental, "WINDOW_SIZE", random.choice((8, 16, 32, 64, 1000)))
        monkeypatch.setattr(incremental, "MEMBERS_MAX", random.choice((1, 2, 100)))
        monkeypatch.setattr(incremental, "CHUNK_SIZE", random.choice((1, 3, 20, 100)))
        monkeypatch.setattr(reader, "CHUNK_SIZE", random.choice((1, 3, 20, 100)))
        monkeypatch.setattr(reader, "WALKED_CHUNK", random.choice((1, 5, 100)))
        monkeypatch.setattr(reader, "MARKS_MAX", marks := random.choice((10, 50, 10**6)))
        monkeypatch.setattr(reader, "REMOTE_MARKS_MAX", marks)
        text = json.dumps(made(random), ensure_ascii=random.random() < 0.5, indent=random.choice((None, 1, 0)))
        body = spoilt(random, text.encode())
        whole = outcome(body, in_slices=False)
        assert outcome(body, in_slices=True) == whole, body
        refused += bool(whole[1])
    assert BODIES // 10 < refused < BODIES * 9 // 10


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100 + b"]" * 100,
        b"[" * 98 + b'"' + b"[" * 3 + b'"' + b"]" * 98,
        b'{"a":' * 99 + b"1" + b"}" * 99,
        b" \t\r\n ",
        b"",
        b"[1,2" + b" " * 300 + b"3]",
        b'{"a":1,"a":[2],"b":3,"a":{}}',
        b"[" + b"12345678901234567890," * 2000 + b"123456789012345678901]",
        b'["' + b"x" * 5000 + b'", 123456789012345678901]',
        b'[{"a":[1, "b", -99999999999999999999]}]',
    ],
)
@pytest.mark.parametrize("size", [1, 7, 200])
def test_what_slices_may_miss(monkeypatch: pytest.MonkeyPatch, body: bytes, size: int) -> None:
    monkeypatch.setattr(incremental, "WINDOW_SIZE", size + 4)
    monkeypatch.setattr(incremental, "CHUNK_SIZE", size)
    monkeypatch.setattr(reader, "CHUNK_SIZE", size)
    assert outcome(body, in_slices=True) == outcome(body, in_slices=False)


async def test_a_large_body_is_answered_like_a_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    call = b'{"jsonrpc":"2.0","id":7,"method":"database_api.get_version"}'
    bodies = [call, b"[%b,%b]" % (call, call), b"[]", b"[1,", b"\xff", b"[[]]", call[:-1], b" " * 9]
    whole = [await answer(body) for body in bodies]
    monkeypatch.setattr(dispatch, "WHOLE_SIZE_MAX", 0)
    assert [await answer(body) for body in bodies] == whole


@pytest.mark.parametrize("is_local", [False, True])
async def test_few_large_bodies_are_read_at_a_time(monkeypatch: pytest.MonkeyPatch, is_local: bool) -> None:
    monkeypatch.setattr(dispatch, "WHOLE_SIZE_MAX", 0)
    monkeypatch.setattr(ReplyScheduler, "run", take_in_turn)
    begun, open_now, most = 0, 0, 0

    def read(body: bytes, local: bool) -> Any:
        nonlocal begun, open_now, most
        begun, open_now = begun + 1, open_now + 1
        most = max(most, open_now)
        yield
        open_now -= 1
        if begun % 2:
            raise ParseError("no value")
        return {}

    monkeypatch.setattr(dispatch, "read_json_in_steps", read)
    service = fake_service(Results())
    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(service.answer_in_turn, b"{}", LOCAL if is_local else ANYBODY)
        await trio.testing.wait_all_tasks_blocked()
    assert (begun, open_now, most) == (10, 0, dispatch.LARGE_AT_ONCE_MAX)


async def test_programs_with_local_rights_do_not_wait_for_the_large_bodies_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "WHOLE_SIZE_MAX", 0)
    monkeypatch.setattr(ReplyScheduler, "run", take_in_turn)

    def read(body: bytes, local: bool) -> Any:
        while not local:
            yield
        return {}

    monkeypatch.setattr(dispatch, "read_json_in_steps", read)
    service = fake_service(Results())
    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(service.answer_in_turn, b"{}", ANYBODY)
        with trio.fail_after(20):
            assert await service.answer_in_turn(b"{}", LOCAL)
        nursery.cancel_scope.cancel()


async def test_a_call_that_is_unsettled_again_and_again_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "PREPARED_AGAIN_MAX", 7)
    made = []

    class Restless(ReadMode):
        def try_read(self, read: Any, *given: Any) -> Any:
            made.append(read)
            raise NotReady(lambda: False)

    call = b'{"jsonrpc":"2.0","id":7,"method":"database_api.get_version"}'
    service = fake_service(Results())
    whole = service.answer(call)
    service.read_mode = Restless()
    with trio.fail_after(20):
        assert await (await service.answer_in_turn(call)) == whole  # type: ignore[misc]  # it waits
    assert len(made) == 8


async def take_in_turn(turns: ReplyScheduler, work: Any, *_: Any) -> Any:
    """Do some work after everybody else has had a turn."""
    await trio.lowlevel.checkpoint()
    return work()


async def answer(body: bytes) -> Any:
    """Return the answer to a body, without what errors say of their place in our code and of the time."""
    reply = await fake_service(Results()).answer_in_turn(body, LOCAL)
    said = json.loads(reply if isinstance(reply, bytes) else await reply)
    for each in said if isinstance(said, list) else [said]:
        each.get("error", {}).get("data", {}).pop("stack", None)
    return said
