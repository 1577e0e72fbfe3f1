"""What a request may be for it to be read at all, with local rights and without."""

import json
from typing import Any

import pytest

from rpc.json.reader import REMOTE_MARKS_MAX, REMOTE_SIZE_MAX
from tests.helpers.fakes import ask, call, serving


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b" " * (REMOTE_SIZE_MAX + 1), "size <= 4000000: A request may have at most 4000000 bytes, unless it comes from a program on"),
        (b"[" + b"[]," * (REMOTE_MARKS_MAX // 3) + b"[]]", "commas + brackets <= 200000: The request holds too many values"),
    ],
)
async def test_large_bodies_are_for_programs_with_local_rights(body: bytes, said: str) -> None:
    service = serving({})
    reply = await ask(service, body, local=False)
    assert (reply["error"]["code"], said in reply["error"]["message"]) == (-32000, True)
    assert said not in json.dumps(await ask(service, body, local=True))


@pytest.mark.parametrize("name", ["." * 3_000_000, "a.b" * 1_000_000])
async def test_a_name_of_millions_of_points_is_not_taken_apart(name: str) -> None:
    service = serving({})
    paths: list[Any] = []
    known = service._errors.not_found
    service._errors.not_found = lambda request_id, path, caller: paths.append(path) or known(request_id, path, caller)  # type: ignore[method-assign, func-returns-value]
    reply = await call(service, name, local=False)
    assert reply["error"]["message"] == "Assert Exception:v.size() == 2: method specification invalid. Should be api.method"
    assert [len(path) for path in paths] == [3]
