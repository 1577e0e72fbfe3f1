"""Packed rows: what a table contains, refuses and returns doesn't depend on which of its rows are packed."""

import sys
import types
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec import msgpack

from state.protocol.errors import NotUnique, UnknownKey
from state.store import Due, Grouped, GroupedIds, Journal, Ordered, Packed, Row, Table, Unique, serializers
from state.store import packed as store_packed
from state.store.columns import CorruptData, Special
from state.store.packed_keys import PackedKeys
from state.store.row_codec import PACKED_SIZE_MAX
from state.store.rows import Restore, run_steps
from state.store.serializers import TablePart
from state.store.slots import SLOTS

TEXTS = st.sampled_from(["", "a", "é", "\0", "b" * 40, "\udc80"])
NUMBERS = st.sampled_from([0, 1, -1, 2**63, -(2**63), 2**64, 127, 70_000])


class Pair(msgspec.Struct, frozen=True):
    first: int = 0
    texts: tuple[tuple[str, int], ...] = ()


class Thing(Row):
    name: str
    place: int = 0
    weight: int = 0
    note: str = ""
    key: bytes = b""
    pair: Pair = Pair()
    is_open: bool = False
    other: tuple[Any, ...] = ()


class Things(Table[Thing]):
    packed = Packed(where=(lambda is_open: not is_open, "is_open"))
    by_name = Unique("name")
    by_place = Ordered("place", "name", unique=True, lazy=True)
    by_note = Ordered("note", "-weight", lazy=True)
    open_by_weight = Ordered("weight", where=(bool, "is_open"))


CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "place": st.integers(0, 3),
        "weight": NUMBERS,
        "note": TEXTS,
        "key": st.sampled_from([b"", b"\xff" * 33]),
        "pair": st.builds(Pair, NUMBERS, st.sampled_from([(), (("a", 1),), (("a", 1), ("b", 2))])),
        "is_open": st.booleans(),
        "other": st.sampled_from([(), (1,)]),
    },
)
Model = dict[int, dict[str, Any]]


def values(row: Any) -> dict[str, Any]:
    return {field: getattr(row, field) for field in row.__struct_fields__}


def pack_all(table: Table[Any]) -> None:
    """Pack all rows that can be packed now."""
    packed = table.packing
    assert packed is not None
    packed.pack(len(packed._queue))


class PackedMachine(RuleBasedStateMachine):
    """Applies the same writes to a table and to a model, and packs rows at any time. `held` has the rows that somebody holds."""

    @initialize(count=st.integers(0, 2 * SLOTS + 2))
    def start(self, count: int) -> None:
        self.journal = Journal()
        self.things = Things(self.journal)
        self.model: Model = {}
        self.held: dict[int, Thing] = {}
        self.positions: list[tuple[int, Model, int]] = []
        self.copies: list[tuple[Restore, Restore, Model, int]] = []
        for number in range(count):
            self.things.insert(Thing(f"row {number}", number))
            self.model[number] = values(self.things.find(number))
        self.journal.commit(self.journal.position())
        self.pack()

    def plain(self) -> Model:
        return {row_id: dict(row) for row_id, row in self.model.items()}

    @rule(count=st.sampled_from([1, 10, 1000]))
    def pack(self, count: int = 1000) -> None:
        packed = self.things.packing
        assert packed is not None
        packed.pack(min(count, len(packed._queue)))

    @rule(name=st.integers(0, 6), changes=CHANGES, skipped=st.sampled_from([0, 0, 1, SLOTS, 10**6]), holds=st.booleans())
    def insert(self, name: int, changes: dict[str, Any], skipped: int, holds: bool) -> None:
        row, row_id = Thing(f"row {name}", **changes), self.things.next_id + skipped
        is_clash = any(each["name"] == row.name or (each["place"], each["name"]) == (row.place, row.name) for each in self.model.values())
        try:
            self.things.insert_at(row_id, row)
        except NotUnique:
            assert is_clash
            return
        assert not is_clash
        self.model[row_id] = values(row)
        if holds:
            self.held[row_id] = row

    @precondition(lambda self: self.model)
    @rule(choice=st.integers(0, 999), changes=CHANGES)
    def modify(self, choice: int, changes: dict[str, Any]) -> None:
        row = self.things.find(sorted(self.model)[choice % len(self.model)])
        self.things.modify(row, **changes)
        self.model[row.id].update(changes)

    @precondition(lambda self: self.model)
    @rule(choice=st.integers(0, 999), other=st.integers(0, 999))
    def rename(self, choice: int, other: int) -> None:
        row, name = self.things.find(sorted(self.model)[choice % len(self.model)]), f"row {other % 8}"
        is_clash = any(each["name"] == name and each["id"] != row.id for each in self.model.values())
        try:
            self.things.modify(row, name=name)
        except NotUnique:
            assert is_clash
            return
        assert not is_clash
        self.model[row.id]["name"] = name

    @precondition(lambda self: self.model)
    @rule(choice=st.integers(0, 999))
    def remove(self, choice: int) -> None:
        row = self.things.find(sorted(self.model)[choice % len(self.model)])
        self.things.remove(row)
        del self.model[row.id]
        self.held.pop(row.id, None)

    @precondition(lambda self: self.model)
    @rule(choice=st.integers(0, 999))
    def hold(self, choice: int) -> None:
        row = self.things.find(sorted(self.model)[choice % len(self.model)])
        self.held[row.id] = row

    @rule()
    def let_go(self) -> None:
        self.held.clear()

    @rule()
    def mark(self) -> None:
        self.positions.append((self.journal.position(), self.plain(), self.things.next_id))

    @precondition(lambda self: self.positions)
    @rule(choice=st.integers(0, 99))
    def undo(self, choice: int) -> None:
        choice %= len(self.positions)
        position, self.model, _ = self.positions[choice]
        self.journal.undo(position)
        self.held = {row_id: row for row_id, row in self.held.items() if row_id in self.model and row.id == row_id}
        del self.positions[choice:]

    @rule()
    def commit(self) -> None:
        self.journal.commit(self.journal.position())
        self.positions.clear()

    @rule()
    def copy(self) -> None:
        self.commit()
        self.copies.append((run_steps(self.things.copying()), self.journal.copy(), self.plain(), self.things.next_id))

    @precondition(lambda self: self.copies)
    @rule(choice=st.integers(0, 99))
    def restore(self, choice: int) -> None:
        table, journal, model, _ = self.copies[choice % len(self.copies)]
        table()
        journal()
        self.model = {row_id: dict(row) for row_id, row in model.items()}
        self.held.clear()
        self.positions.clear()

    @rule()
    def drop_copies(self) -> None:
        self.copies.clear()

    @rule(is_query=st.booleans(), index=st.sampled_from(["by_place", "by_note", "open_by_weight"]))
    def read(self, is_query: bool, index: str) -> None:
        keys: dict[str, Any] = {
            "by_place": lambda row: (row["place"], row["name"], row["id"]),
            "by_note": lambda row: (row["note"], -row["weight"], row["id"]),
            "open_by_weight": lambda row: (row["weight"], row["id"]),
        }
        expected = sorted((row for row in self.model.values() if index != "open_by_weight" or row["is_open"]), key=keys[index])

        def read() -> list[dict[str, Any]]:
            return [values(row) for row in getattr(self.things, index)]

        hot = len(self.things._rows)
        assert (run_steps(self.journal.read_mode.read_incrementally(read)) if is_query else read()) == expected
        assert not is_query or len(self.things._rows) == hot

    @rule(begin=st.integers(0, 2 * SLOTS), size=st.integers(0, SLOTS + 2))
    def read_range(self, begin: int, size: int) -> None:
        found = [values(row) for row in self.things.rows_between(begin, begin + size)]
        assert found == [self.model[row_id] for row_id in sorted(self.model) if begin <= row_id < begin + size]

    @rule()
    def walk(self) -> None:
        rows = list(self.things)
        assert [row.id for row in rows] == sorted(self.model)
        assert all(self.things.get(row.id) is row for row in rows)

    @invariant()
    def same_as_the_model(self) -> None:
        self.things.check()
        hot = len(self.things._rows)
        assert len(self.things) == len(self.model)
        assert {row.id: values(row) for row in self.things.scan()} == self.model
        assert all(self.things.get(row_id) is row for row_id, row in self.held.items())
        for row_id, plain in self.model.items():
            by_name = self.journal.read_mode.try_read(self.things.by_name.find, plain["name"])
            by_place = self.journal.read_mode.try_read(self.things.by_place.find, plain["place"], plain["name"])
            assert values(by_name) == values(by_place) == plain
            row = self.things.peek(row_id)
            assert row is not None
            assert values(row) == plain
        assert self.things.get(self.things.next_id) is self.things.peek(-1) is self.things.by_name.get("none") is None
        assert len(self.things._rows) == hot


TestPacked = PackedMachine.TestCase
TestPacked.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def table_of(count: int, **values: Any) -> Things:
    things = Things(Journal())
    for number in range(count):
        things.insert(Thing(f"row {number}", number, **values))
    things.journal.commit(things.journal.position())
    return things


def packed_count(table: Table[Any]) -> int:
    return len(table) - len(table._rows)


def test_only_rows_to_which_nothing_refers_are_packed() -> None:
    things = table_of(10)
    held, opened, written = things.find(3), things.find(4), things.find(5)
    things.modify(opened, is_open=True)
    things.journal.commit(things.journal.position())
    things.modify(written, weight=5)
    del opened, written
    pack_all(things)
    assert sorted(things._rows) == [3, 4, 5]
    assert things.find(3) is held
    del held
    things.journal.commit(things.journal.position())
    pack_all(things)
    assert sorted(things._rows) == [4]
    things.modify(things.find(4), is_open=False)
    things.journal.commit(things.journal.position())
    pack_all(things)
    assert not things._rows
    things.check()


def test_a_row_that_was_read_by_a_rule_stays_the_same_object() -> None:
    things = table_of(10)
    pack_all(things)
    row = things.find(3)
    assert things.by_name.get("row 3") is things.by_place.find(3, "row 3") is things.get(3) is row
    things.modify(row, weight=7)
    assert things.by_name.find("row 3").weight == 7


def test_a_query_leaves_rows_packed() -> None:
    things = table_of(10)
    pack_all(things)
    read = things.journal.read_mode.try_read
    assert values(read(things.find, 3)) == values(read(things.by_name.find, "row 3"))
    assert [row.id for row in read(lambda: list(things))] == list(range(10))
    assert read(lambda: things.by_note.first()) is not None
    assert packed_count(things) == 10


def test_unknown_rows_and_keys() -> None:
    things = table_of(3)
    pack_all(things)
    assert things.get(3) is things.by_name.get("row 3") is things.by_place.get(1, "row 2") is None
    with pytest.raises(UnknownKey):
        things.find(3)
    with pytest.raises(UnknownKey):
        things.by_name.find("row 3")
    with pytest.raises(UnknownKey):
        things.by_place.find(1, "row 2")


def test_a_new_row_clashes_with_a_packed_one() -> None:
    things = table_of(3)
    pack_all(things)
    with pytest.raises(NotUnique):
        things.insert(Thing("row 1", 9))
    with pytest.raises(NotUnique):
        things.modify(things.find(0), name="row 2")
    assert things.find(0).name == "row 0"
    things.check()


@pytest.mark.parametrize(
    "changes",
    [{"weight": 2**64}, {"note": "\udc80"}, {"note": "a" * PACKED_SIZE_MAX}, {"other": (1,)}, {"pair": Pair(2**70)}],
)
def test_rows_that_are_not_encoded_simply_stay_objects(changes: dict[str, Any]) -> None:
    things = table_of(3)
    row = things.find(1)
    things.modify(row, **changes)
    things.journal.commit(things.journal.position())
    del row
    pack_all(things)
    assert sorted(things._rows) == [1]
    assert all(getattr(things.find(1), field) == value for field, value in changes.items())


def test_some_rows_are_packed_per_call_the_oldest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_packed, "HOT_ROWS", 50)
    monkeypatch.setattr(store_packed, "PACKED_AT_ONCE", 20)
    things = table_of(100)
    things.journal.pack_rows()
    assert sorted(things._rows) == list(range(20, 100))
    for _ in range(5):
        things.journal.pack_rows()
    assert sorted(things._rows) == list(range(50, 100))
    things.find(7)
    things.journal.pack_rows()
    assert 7 in things._rows
    assert 50 not in things._rows


def test_tables_whose_indices_would_hold_packed_rows_are_refused() -> None:
    for index in (Due("weight"), Grouped("note"), Ordered("weight")):
        with pytest.raises(TypeError, match=r"Wrong\.index would hold packed rows"):
            types.new_class("Wrong", (Things,), exec_body=partial(dict.update, index=index))


def test_keys_with_the_same_hash() -> None:
    """-1 and -2 have the same hash, as other keys can have."""
    keys = PackedKeys()
    for row_id, key in enumerate((-1, -2, 5)):
        keys.add(key, row_id)
    assert keys.ids(-1) == keys.ids(-2) == [0, 1]
    keys.remove(-2, 1)
    assert keys.ids(-2) == [0]


def test_many_keys_with_the_same_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    """All entries with a hash are found, wherever the entries are split."""
    monkeypatch.setattr("state.store.packed_keys.PART_MAX", 4)
    keys, expected = PackedKeys(), dict[int, list[int]]()
    for row_id in range(200):
        # Integers that differ by this modulus have the same hash.
        key = row_id % 7 + row_id * sys.hash_info.modulus
        keys.add(key, row_id)
        expected.setdefault(row_id % 7, []).append(row_id)
    assert {key: keys.ids(key) for key in range(7)} == expected
    assert sorted(keys) == list(range(200))
    for row_id in range(0, 200, 2):
        keys.remove(row_id % 7, row_id)
    assert [keys.ids(key) for key in range(7)] == [[row_id for row_id in expected[key] if row_id % 2] for key in range(7)]


def test_many_keys() -> None:
    keys, numbers = PackedKeys(), range(20_000)
    for number in numbers:
        keys.add(str(number), number)
    assert sorted(keys) == list(numbers)
    assert all(number in keys.ids(str(number)) for number in numbers)
    assert sum(len(keys.ids(str(number))) for number in numbers) < len(numbers) * 1.01
    restore = keys.copy()
    for number in numbers[::2]:
        keys.remove(str(number), number)
    assert sorted(keys) == list(numbers[1::2])
    restore()
    assert sorted(keys) == list(numbers)


# ------------------------------------------------------------------ snapshots


def read_back(chunks: list[bytes], *, is_deferred: bool = False) -> Things:
    things = table_of(5)
    load = TablePart(things, is_deferred=is_deferred).read(iter(chunks))()
    if load is not None:
        load.finish()
    return things


def half_packed() -> Things:
    """Return a table with packed rows, rows that were unpacked, and rows that were removed after they were packed."""
    things = table_of(3 * SLOTS)
    pack_all(things)
    for row_id in (1, SLOTS + 1, SLOTS + 2):
        things.modify(things.find(row_id), is_open=row_id == 1, weight=7)
    things.remove(things.find(SLOTS + 3))
    things.journal.commit(things.journal.position())
    return things


@pytest.mark.parametrize("is_deferred", [False, True])
def test_chunks_are_written_and_read_as_they_are(is_deferred: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serializers, "ROWS_PER_CHUNK", 2)
    things = half_packed()
    hot = len(things._rows)
    dumped = list(TablePart(things).dump())
    assert len(things._rows) == hot
    read = read_back(dumped, is_deferred=is_deferred)
    assert (len(read._rows), len(read)) == (hot, len(things))
    read.check()
    assert [values(row) for row in read.scan()] == [values(row) for row in things.scan()]
    assert list(TablePart(read).dump()) == dumped
    assert values(read.by_name.find("row 70")) == values(things.by_name.find("row 70"))
    pack_all(read)
    assert sorted(read._rows) == [1]


class Post(Row):
    title: str
    pairs: tuple[Any, ...] = ()
    others: tuple[Any, ...] = ()


class Posts(Table[Post]):
    SPECIAL: ClassVar[Special] = {"pairs": tuple[Pair, ...], "others": tuple[tuple[int, Pair], ...]}
    packed = Packed()


def test_packed_rows_without_structs_have_the_values_and_types_of_the_hot_ones() -> None:
    posts = Posts(Journal())
    for number in range(2 * SLOTS + 1):
        posts.insert(Post(f"title {number}", (Pair(number),) * (number % 3), ((number, Pair(2)),) * (number % 2)))
    posts.journal.commit(posts.journal.position())
    expected = [values(row) for row in posts.scan()]
    pack_all(posts)
    assert not posts._rows
    assert [values(row) for row in posts.scan()] == expected
    assert [values(posts.peek(row_id)) for row_id in range(len(posts))] == expected
    for row in posts:
        posts.modify(row, title="")  # makes it hot, also while its chunk is being read
    assert [values(row) for row in posts.scan()] == [{**row, "title": ""} for row in expected]


def test_rows_that_are_packed_and_a_table_that_packs_none() -> None:
    class Plain(Table[Thing]):
        by_name = Unique("name")

    with pytest.raises(CorruptData):
        TablePart(Plain(Journal())).read(TablePart(half_packed()).dump())


def spoiled(change: Callable[[list[Any]], object]) -> list[bytes]:
    """Return a dumped table after a change of its first message of chunks."""
    dumped = list(TablePart(half_packed()).dump())
    message = msgpack.decode(dumped[-1])
    change(message)
    return [*dumped[:-1], msgpack.encode(message)]


def set_data(message: list[Any], data: bytes) -> None:
    message[1][2] = data


POSITIONS_SIZE = 4 * (SLOTS + 1)


@pytest.mark.parametrize(
    "change",
    [
        lambda message: message.pop(),
        lambda message: message.append(message[0]),
        lambda message: message[0].__setitem__(0, -1),
        lambda message: message[0].__setitem__(0, 1000),
        lambda message: message[0].__setitem__(1, 0),
        lambda message: message[0].__setitem__(1, 2**64 - 1),  # row 1 is hot
        lambda message: message[0].__setitem__(1, "all"),
        lambda message: set_data(message, b""),
        lambda message: set_data(message, message[1][2][:POSITIONS_SIZE]),
        lambda message: set_data(message, message[1][2][:-1]),
        lambda message: set_data(message, message[1][2] + b"\x00"),
        lambda message: set_data(message, b"\xff" * 4 + message[1][2][4:]),
        lambda message: set_data(message, message[1][2][:4] + message[1][2][:4] + message[1][2][8:]),
        lambda message: set_data(message, message[1][2].replace(b"row 70", b"row \xff0")),
        lambda message: set_data(message, message[1][2].replace(b"row 70", b"row 71")),
        lambda message: message[0].__setitem__(2, message[0][2].replace(b"row 20", b"row 21")),
        lambda message: set_data(message, message[1][2].replace(b"\xc2", b"\xc3")),  # all rows are open
    ],
)
def test_damaged_chunks_are_refused(change: Callable[[list[Any]], object]) -> None:
    with pytest.raises((CorruptData, NotUnique)):
        read_back(spoiled(change))


@settings(max_examples=300, deadline=None)
@given(place=st.integers(0, 10**6), byte=st.integers(0, 255))
def test_any_changed_byte_is_refused_or_gives_a_table_that_can_be_read(place: int, byte: int) -> None:
    dumped = list(TablePart(half_packed()).dump())
    message = bytearray(dumped[-1])
    message[place % len(message)] = byte
    try:
        things = read_back([*dumped[:-1], bytes(message)])
    except (CorruptData, NotUnique):
        return
    things.check()
    for row in list(things):
        assert things.find(row.id) is row


class Vote(Row):
    """A row that refers to another one."""

    post: int = 0
    weight: int = 0


class Votes(Table[Vote]):
    """A packed table with groups of ids."""

    packed = Packed()
    of_post = GroupedIds("post")


def test_groups_of_ids_include_packed_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("state.store.packed.HOT_ROWS", 0)
    monkeypatch.setattr("state.store.grouped.FEW_BYTES", 8)
    journal = Journal()
    table = Votes(journal)
    for number in range(40):
        table.insert(Vote(post=number % 7, weight=number))
    journal.commit(journal.position())
    table.packing.pack(30)  # type: ignore[union-attr]
    table.check()
    mark = journal.position()
    rows = table.of_post.of(3)
    assert [row.weight for row in rows] == [3, 10, 17, 24, 31, 38]
    table.modify(rows[1], post=4)
    table.remove(rows[0])
    assert [row.id for row in table.of_post.of(3)] == [17, 24, 31, 38]
    assert [row.id for row in table.of_post.of(4)] == [4, 10, 11, 18, 25, 32, 39]
    table.check()
    journal.undo(mark)
    table.check()
    put_back = run_steps(table.copying())
    for row in table.of_post.of(3):
        table.remove(row)
    assert table.of_post.of(3) == []
    journal.commit(journal.position())
    put_back()
    table.check()
    other = Votes(Journal())
    TablePart(other).read(iter(list(TablePart(table).dump())))()
    other.check()
    assert [row.weight for row in other.of_post.of(3)] == [3, 10, 17, 24, 31, 38]


def test_dicts_give_back_the_memory_of_packed_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("state.store.packed.HOT_ROWS", 10)
    monkeypatch.setattr("state.store.journal.BLOCKS_BETWEEN_SHRINKING", 3)
    journal = Journal()
    table = Votes(journal)
    rows = [table.insert(Vote(post=number, weight=number)) for number in range(5000)]
    kept, size = rows[7], sys.getsizeof(table._rows)
    del rows
    journal.commit(journal.position())
    for _ in range(60):
        journal.pack_rows()
    assert sys.getsizeof(table._rows) * 5 < size
    assert table.get(7) is kept
    table.check()
