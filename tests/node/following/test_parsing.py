"""Lines and JSON in whatever parts they come."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.failures import NodeError
from node.following import parsing
from node.following.lines import read_packed
from node.following.parsing import LINE_SIZE_MAX, WHOLE_SIZE_MAX, Cutter, TooLarge, json_in_steps
from rpc.push.events import COMMAS_MAX
from rpc.service.turns import Turns


@given(st.lists(st.binary(max_size=4).map(lambda part: part.replace(b"\x00", b"\n"))))
def test_lines_are_the_same_however_they_are_cut(parts: list[bytes]) -> None:
    cutter = Cutter()
    *lines, rest = b"".join(parts).split(b"\n")
    assert [line for part in parts for line in cutter.add(part)] == lines
    assert cutter.size == len(rest)


def test_a_long_line_is_not_copied_for_each_byte_that_comes() -> None:
    cutter = Cutter()
    cutter.add(b"x" * (LINE_SIZE_MAX - 20_000))
    begun = cutter._begun
    for _ in range(20_000):
        cutter.add(b"x")
    # Copied each time it would be 300 GB.
    assert cutter._begun is begun
    assert len(cutter.add(b"\n")[0]) == LINE_SIZE_MAX


@pytest.mark.parametrize("size", [10, WHOLE_SIZE_MAX // 10])
async def test_json_in_steps_is_the_same_value(size: int) -> None:
    value = {"texts": ["[" * 9, "é\ud7ff"] * size, "numbers": [1, -2.5, 10**18], "nothing": None}
    assert await Turns().take_steps(json_in_steps(json.dumps(value).encode())) == value


async def test_too_many_values_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "MARKS_MAX", WHOLE_SIZE_MAX)
    with pytest.raises(TooLarge):
        await Turns().take_steps(json_in_steps(b"[" + b"[]," * WHOLE_SIZE_MAX))


NO_LINES = [
    b"",
    b"{}",
    b"5",
    b"[]",
    b'"undone"',
    b"null",
    b"NaN",
    b'{"undone":5}',
    b'{"undone":{"first":1e999,"last":1}}',
    b'{"undone":{"first":"' + b"9" * 5000 + b'","last":1}}',
    b'{"head":1e999}',
    b'{"head":' + b"9" * 30 + b"}",
    b'{"block":-1,"id":"","packed":""}',
    b'{"undone":{"first":-1,"last":1}}',
    b'{"block":1,"id":"","packed":"","accepted":[1' + b",1" * COMMAS_MAX + b"]}",
    b'{"chain":{"name":"' + b"x" * 201 + b'"}}',
    b"[" * 300_000,
    b"[" * 2000,
    b'{"a":' * 300_000,
]


@pytest.mark.parametrize("line", NO_LINES, ids=lambda line: line[:30].decode())
def test_a_line_of_another_form_is_no_bug(line: bytes) -> None:
    with pytest.raises(NodeError):
        read_packed(line)
