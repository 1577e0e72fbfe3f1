"""Serializers of tables, lists and dictionaries: round trips, and damaged bytes."""

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw, msgpack

from state.protocol.errors import NotUnique
from state.store import AppendLists, Journal, Table
from state.store import serializers as parts_module
from state.store.columns import CorruptData
from state.store.serializers import VALUES_FREE, DictPart, ListsPart, SnapshotPart, TablePart
from tests.state.store.test_store_model import Thing, Things

MANY = 1 << 26
TEXTS = st.text(st.characters(exclude_categories=()), max_size=4)  # with surrogates
INTEGERS = st.integers(-(2**130), 2**130) | st.integers(-2, 2)
THINGS: st.SearchStrategy[list[dict[str, Any]]] = st.lists(
    st.fixed_dictionaries(
        {"name": TEXTS, "group": TEXTS, "weight": INTEGERS, "rank": st.integers(0, 3), "live": st.booleans(), "note": INTEGERS}
    ),
    unique_by=lambda fields: (fields["name"], fields["rank"]),
    max_size=12,
)


def filled(rows: list[dict[str, Any]], removed: int = 0) -> Things:
    """Return a table from which the first `removed` of these rows have been removed."""
    things = Things(Journal())
    for fields in rows:
        things.insert(Thing(**fields))
    for thing in list(things)[:removed]:
        things.remove(thing)
    return things


def written(table: Table[Any]) -> list[str]:
    return [str(table.next_id), *map(repr, table)]


def moved(source: SnapshotPart, target: SnapshotPart) -> None:
    """Serialize one part, and load the bytes into another."""
    left = target.read(source.dump())()
    if left is not None:
        left.finish()


@pytest.fixture(params=[1, 3, 10_000], autouse=True)
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of rows in a chunk. Small values split the tests' tables into several chunks, like large tables."""
    monkeypatch.setattr(parts_module, "ROWS_PER_CHUNK", request.param)
    size: int = request.param
    return size


@pytest.mark.parametrize("is_deferred", [False, True])
@given(rows=THINGS, before=THINGS)
def test_a_table_round_trips(is_deferred: bool, rows: list[dict[str, Any]], before: list[dict[str, Any]]) -> None:
    source, target = filled(rows, removed=len(rows) // 3), filled(before)
    moved(TablePart(source), TablePart(target, is_deferred=is_deferred))
    assert written(target) == written(source)
    target.check()
    orders = ("by_rank", "by_group", "by_total", "live_by_weight", "lazily", "live_lazily")
    for name in orders:
        assert [row.id for row in getattr(target, name)] == [row.id for row in getattr(source, name)]
    target.insert(Thing(name="new", rank=9))
    target.check()


def test_reading_a_table_finishes_its_load(chunk: int) -> None:
    source = filled([{"name": str(number)} for number in range(10)])
    target = Things(Journal())
    by_name = TablePart(target, is_deferred=True).read(TablePart(source).dump())()
    assert (by_name is None) == (chunk >= 10)
    assert target.by_name.find("7", 0).id == 7  # an index first, whose declaration stands on the class
    assert by_name is None or by_name.is_done
    assert target.next_id == 10
    target.check()


def test_a_table_can_be_loaded_in_steps() -> None:
    source = filled([{"name": str(number)} for number in range(10)])
    target = Things(Journal())
    left = TablePart(target, is_deferred=True).read(TablePart(source).dump())()
    while left is not None and not left.is_done:
        left.advance()
    assert written(target) == written(source)


def test_rows_that_clash_are_refused() -> None:
    first, second = filled([{"name": "a", "rank": 1}]), filled([{"name": "b", "rank": 1}])
    first.next_id = 2
    ((_, orders, one), (_, _, other)) = (list(TablePart(table).dump()) for table in (first, second))
    clashing = msgpack.encode((msgpack.encode([1, [1]]), 1, msgpack.decode(one)[2]))
    with pytest.raises(NotUnique):
        TablePart(Things(Journal())).read(iter([msgpack.encode((2, 2)), orders, one, clashing]))()
    assert other


@pytest.mark.parametrize(
    "spoil",
    [
        lambda chunks: chunks[:-1],
        lambda chunks: chunks[:1],
        lambda chunks: [],
        lambda chunks: [*chunks, chunks[-1]],
        lambda chunks: [chunks[1], *chunks[1:]],
        lambda chunks: [msgpack.encode((0, 2)), *chunks[1:]],
        lambda chunks: [*chunks[:2], chunks[2][:-1]],
        lambda chunks: [*chunks[:2], chunks[2].replace(b"two", b"\xff\xff\xff")],
        lambda chunks: [*chunks[:2], msgpack.encode((msgpack.encode([1, [1, 0]]), 2, msgpack.decode(chunks[2])[2]))],
        lambda chunks: [*chunks[:2], msgpack.encode((msgpack.encode([1, [0, 1]]), 2, msgpack.encode([])))],
        lambda chunks: [*chunks[:2], msgpack.encode((msgpack.encode([9, []]), 2, b""))],
        # Equal values take no space, regardless of their number.
        lambda chunks: [*chunks[:2], msgpack.encode((msgpack.encode([0, [1, [1]]]), 10**12, b""))],
    ],
)
@pytest.mark.parametrize("chunk", [3, 10_000], indirect=True)  # the two rows have to be in one
def test_damaged_tables_are_refused(spoil: Any, chunk: int) -> None:
    chunks = list(TablePart(filled([{"name": "one"}, {"name": "two"}])).dump())
    with pytest.raises(CorruptData):
        TablePart(Things(Journal())).read(iter(spoil(chunks)))


@given(
    st.sampled_from([("", INTEGERS), ("q", st.integers(-(2**63), 2**63 - 1))]).flatmap(
        lambda drawn: st.tuples(st.just(drawn[0]), st.dictionaries(TEXTS, st.lists(drawn[1], min_size=1, max_size=5), max_size=6))
    )
)
def test_lists_round_trip(drawn: tuple[str, dict[str, list[int]]]) -> None:
    typecode, values_of = drawn
    source: AppendLists[str, int] = AppendLists(Journal(), typecode)
    for key, values in values_of.items():
        for value in values:
            source.append(key, value)
        source.drop_front(key, len(values) // 2)
    target: AppendLists[str, int] = AppendLists(Journal(), typecode)
    target.append("old", 1)
    moved(ListsPart(source, str, int), ListsPart(target, str, int))
    assert [(key, target.get(key).first, list(target.get(key))) for key in target] == [
        (key, source.get(key).first, list(source.get(key))) for key in source
    ]
    target.check()


@given(st.dictionaries(st.binary(max_size=4), INTEGERS, max_size=6))
def test_a_dictionary_round_trips_in_order(values: dict[bytes, int]) -> None:
    target: dict[bytes, int] = {b"old": 1}
    moved(DictPart(values, bytes, int), DictPart(target, bytes, int))
    assert list(target.items()) == list(values.items())


def equal(values: bytes) -> bytes:
    """Return a column in which all values are equal."""
    return msgpack.encode([0, Raw(msgpack.encode([1, Raw(values)]))])


@pytest.mark.parametrize(
    ("part", "chunks"),
    [
        (DictPart({}, int, int), [(MANY, equal(b"\x91\x01"), equal(b"\x91\x01"))]),
        (
            ListsPart(AppendLists(Journal()), int, int),
            [1, (1, MANY, *[msgpack.encode([1, [number]]) for number in (1, 0, MANY)], equal(b"\x91\x01"))],
        ),
        (ListsPart(AppendLists(Journal()), int, int), [1, (MANY, 0, *[equal(b"\x91\x00")] * 3, msgpack.encode([1, []]))]),
        (ListsPart(AppendLists(Journal(), "I"), int, int), [1, (1, 1, *[msgpack.encode([1, [number]]) for number in (1, 0, 1, -1)])]),
        (TablePart(Things(Journal())), [(MANY, 100_000), [], (equal(b"\x91\x01"), 100_000, b"\x90")]),
        (TablePart(Things(Journal())), [(MANY, 1), [[]] * 1000]),
    ],
)
def test_a_few_bytes_do_not_take_much_memory(part: SnapshotPart, chunks: list[Any]) -> None:
    packed = [msgpack.encode(chunk) for chunk in chunks]
    tracemalloc.start()
    try:
        with pytest.raises(CorruptData):
            part.read(iter(packed))
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_equal_values_of_many_histories_round_trip() -> None:
    lists: AppendLists[int, int] = AppendLists(Journal())
    for _ in range(3 * VALUES_FREE):
        lists.append(7, 1)
    target: AppendLists[int, int] = AppendLists(Journal())
    moved(ListsPart(lists, int, int), ListsPart(target, int, int))
    assert list(target.get(7)) == [1] * 3 * VALUES_FREE


def test_entries_show_the_content_of_a_part() -> None:
    table, lists = filled([{"name": "one", "weight": 2}]), AppendLists[str, int](Journal())
    lists.append("key", 5)
    assert dict(TablePart(table).entries())[0]["weight"] == "2"
    assert dict(ListsPart(lists, str, int).entries()) == {"key": {"0": "5"}}
    assert dict(DictPart({"a": 1}, str, int).entries()) == {"a": {"value": "1"}}
