"""Values encoded as columns of bytes: round trips of arbitrary values, and compatible types."""

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import MsgspecError, Struct, msgpack

from state.store.columns import COUNT_MAX, Column, CorruptData, Structs, schema
from tests.helpers.golden import fails

TEXTS = st.text(st.characters(exclude_categories=()), max_size=3)
INTEGERS = st.integers(-(2**130), 2**130) | st.integers(0, 1)


class Pair(NamedTuple):
    left: int
    right: str


class Inner(Struct, frozen=True):
    number: int = 0
    texts: tuple[str, ...] = ()


class Outer(Struct):
    inner: Inner = Inner()
    pair: Pair = Pair(0, "")
    maybe: Inner | None = None
    score: float = 0.0
    data: bytes = b""


INNERS = st.builds(Inner, INTEGERS, st.lists(TEXTS, max_size=2).map(tuple))
OUTERS = st.builds(
    Outer,
    inner=INNERS,
    pair=st.builds(Pair, INTEGERS, TEXTS),
    maybe=st.none() | INNERS,
    score=st.floats(allow_nan=False),
    data=st.binary(max_size=3),
)


@given(st.lists(OUTERS, max_size=8), st.integers(0, 3))
def test_structs_round_trip(values: list[Outer], times: int) -> None:
    values = values * times
    structs = Structs(Outer)
    back = structs.unpack(structs.pack(values), len(values))
    assert list(map(repr, back)) == list(map(repr, values))


@pytest.mark.parametrize("kind", [str, bytes, int, bool])
def test_a_column_of_few_values_is_short(kind: Any) -> None:
    values = [kind(), *[kind()] * 998, kind()]
    packed = Column(kind).pack(values)
    assert len(packed) < 20
    assert Column(kind).unpack(packed, 1000) == values


@given(st.lists(st.sampled_from(["a", "\udc80", "c"]), max_size=200))
def test_chosen_values_round_trip(values: list[str]) -> None:
    column = Column(str)
    assert column.unpack(column.pack(values), len(values)) == values


@pytest.mark.parametrize(
    "data",
    [
        b"",
        msgpack.encode([1, ["a"]]),
        msgpack.encode([0, [0, [1]]]),
        msgpack.encode([0, [1, []]]),
        msgpack.encode([2, [msgpack.encode([1, ["a"]]), [1]]]),
        msgpack.encode([4, [msgpack.Ext(9, b"")]]),
        msgpack.encode([4, [msgpack.Ext(2, b"x")]]),
        msgpack.encode([7, []]),
        msgpack.encode({}),
    ],
)
def test_damaged_columns_are_refused(data: bytes) -> None:
    with pytest.raises((CorruptData, MsgspecError, ValueError)):
        Column(int).unpack(data, 1)


@pytest.mark.parametrize("count", [-1, COUNT_MAX + 1, 10**12])
def test_a_column_with_too_many_values_is_refused(count: int) -> None:
    with fails(CorruptData):
        Column(int).unpack(msgpack.encode([0, [1, [7]]]), count)


def test_a_schema_names_every_field_and_type() -> None:
    assert schema(Outer) == (
        "Outer(inner: Inner(number: int, texts: tuple[str, Ellipsis]), pair: Pair(left: int, right: str), "
        "maybe: |[Inner(number: int, texts: tuple[str, Ellipsis]), NoneType], score: float, data: bytes)"
    )
    assert schema(Outer, {"data": str}) != schema(Outer)
