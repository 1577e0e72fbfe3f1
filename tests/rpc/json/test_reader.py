"""Limits on request bodies from clients with and without local rights, and where large bodies are decoded."""

import json
from threading import Event
from typing import Any

import pytest
import trio
import trio.testing

from rpc.caller import ANYBODY, LOCAL
from rpc.json import reader
from rpc.json.reader import REMOTE_MARKS_MAX, REMOTE_SIZE_MAX, read_json
from rpc.jsonrpc import dispatch
from state.protocol.errors import ParseError
from tests.helpers.fakes import Results, ask, call, fake_service, serving
from tests.helpers.golden import fails


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b" " * (REMOTE_SIZE_MAX + 1), "size <= 4000000: A request may have at most 4000000 bytes, unless it comes from a program on"),
        (b"[" + b"[]," * (REMOTE_MARKS_MAX // 3) + b"[]]", "commas + brackets <= 200000: The request holds too many values"),
    ],
)
async def test_large_bodies_need_local_rights(body: bytes, said: str) -> None:
    service = serving({})
    reply = await ask(service, body, local=False)
    assert (reply["error"]["code"], said in reply["error"]["message"]) == (-32000, True)
    assert said not in json.dumps(await ask(service, body, local=True))


@pytest.mark.parametrize("depth", [300, 9_000])
@pytest.mark.parametrize(("start", "end"), [(b"[", b"]"), (b'{"a":', b"}")])
async def test_brackets_in_strings_do_not_hide_depth(start: bytes, end: bytes, depth: int) -> None:
    hidden = b'["%b",%b1%b]' % (end * depth, start * depth, end * depth)
    reply = await ask(serving({}), hidden, local=False)
    assert "object graph too deep" in reply["error"]["message"]


def test_real_numbers_are_read_by_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader parses real numbers with Python's float, because msgspec needs 6 microseconds for a very large or very small one."""
    read: list[str] = []

    def counted(text: str) -> float:
        read.append(text)
        return float(text)

    monkeypatch.setattr(reader, "float", counted, raising=False)
    texts = ["1e300", "5e-324", "2.2250738585072011e-308", "1e-400", "-0.0", f"0.{'1' * 9999}"]
    assert read_json(f"[{','.join(texts)}]".encode()) == [float(text) for text in texts]
    assert read == texts
    for text in ("1e309", "-1e999"):
        with fails(ParseError) as caught:
            read_json(text.encode())
        assert "Number out of range" in str(caught.value)


@pytest.mark.parametrize("name", ["." * 3_000_000, "a.b" * 1_000_000])
async def test_name_with_millions_of_dots_is_split_only_twice(name: str) -> None:
    service = serving({})
    paths: list[Any] = []
    known = service._errors.not_found
    service._errors.not_found = lambda request_id, path, caller: paths.append(path) or known(request_id, path, caller)  # type: ignore[method-assign, func-returns-value]
    reply = await call(service, name, local=False)
    assert reply["error"]["message"] == "Assert Exception:v.size() == 2: method specification invalid. Should be api.method"
    assert [len(path) for path in paths] == [3]


@pytest.mark.parametrize("size", [0, REMOTE_SIZE_MAX], ids=["in a thread", "at once"])
async def test_a_large_body_is_answered_like_a_small_one(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    request = b'{"jsonrpc":"2.0","id":7,"method":"database_api.get_version"}'
    bodies = [request, b"[%b,%b]" % (request, request), b"[]", b"[1,", b"\xff", b"[[]]", request[:-1], b" " * 9]
    bodies += [request + rest for rest in (b" x", b"\xff", b"]", request)]
    small = [await answer(body) for body in bodies]
    monkeypatch.setattr(dispatch, "LARGE_SIZE_MIN", 0)
    monkeypatch.setattr(dispatch, "REMOTE_SIZE_MAX", size)
    monkeypatch.setattr(reader, "REMOTE_MARKS_MAX", 10)  # marks and bytes from which a body counts as large
    assert [await answer(body) for body in bodies] == small


async def test_large_remote_bodies_are_decoded_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "LARGE_SIZE_MIN", 0)
    monkeypatch.setattr(dispatch, "REMOTE_SIZE_MAX", 0)
    begun, go_on = list[bool](), Event()

    def read(body: bytes, is_local: bool) -> Any:
        begun.append(is_local)
        assert is_local or go_on.wait(20)
        return {}

    monkeypatch.setattr(dispatch, "read_json", read)
    service = fake_service(Results())
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(service.answer_in_turn, b"{}", ANYBODY)
            assert await service.answer_in_turn(b"{}", LOCAL)
            while False not in begun:
                await trio.sleep(0.001)
            await trio.testing.wait_all_tasks_blocked()
            assert begun.count(False) == 1
            go_on.set()
    assert begun.count(False) == 3


async def answer(body: bytes) -> Any:
    """Return the decoded reply to a body. The stacks of its errors are removed, because they contain source lines and times."""
    reply = await fake_service(Results()).answer_in_turn(body, LOCAL)
    said = json.loads(reply if isinstance(reply, bytes) else await reply)
    for each in said if isinstance(said, list) else [said]:
        each.get("error", {}).get("data", {}).pop("stack", None)
    return said
