"""The store compared with a plain model: random writes, undos and commits, with a comparison after each step."""

from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from state.protocol.errors import NotUnique
from state.store import AppendLists, ComputedKey, Due, Grouped, Journal, Ordered, Row, Setter, Table, Unique
from tests.helpers.stores import use_small_buckets

TEXTS = st.sampled_from(["", "a", "ab", "b"])
SMALL = st.integers(-3, 3)


class Thing(Row):
    name: str
    group: str = ""
    weight: int = 0
    rank: int = 0
    live: bool = True
    note: int = 0
    seen: int = 0


def total(weight: int, rank: int) -> int:
    return weight + rank


class Things(Table[Thing]):
    by_name = Unique("name", "rank")
    by_rank = Ordered("-rank", "group", "name", unique=True)
    by_group = Ordered("group", "-weight")
    by_total = Ordered(ComputedKey(total, "weight", "rank"), "name")
    by_total_down = Ordered(ComputedKey(total, "weight", "rank", descending=True))
    live_by_weight = Ordered("weight", where=(bool, "live"))
    due = Due("weight")
    grouped = Grouped("group")
    lazily = Ordered("-weight", "group", lazy=True)
    live_lazily = Ordered("group", where=(bool, "live"), lazy=True)
    by_seen = Ordered("-seen", lazy=True)
    set_seen = Setter("seen", "note")


# The orders of the indices as functions that return the key of a plain row, or None if the index excludes the row.
ORDERS: dict[str, Any] = {
    "by_rank": lambda t: (-t["rank"], t["group"], t["name"]),
    "by_group": lambda t: (t["group"], -t["weight"], t["id"]),
    "by_total": lambda t: (t["weight"] + t["rank"], t["name"], t["id"]),
    "by_total_down": lambda t: (-t["weight"] - t["rank"], t["id"]),
    "live_by_weight": lambda t: (t["weight"], t["id"]) if t["live"] else None,
    "lazily": lambda t: (-t["weight"], t["group"], t["id"]),
    "live_lazily": lambda t: (t["group"], t["id"]) if t["live"] else None,
    "by_seen": lambda t: (-t["seen"], t["id"]),
}
DESCENDING = {"by_rank": {0}, "by_group": {1}, "by_total_down": {0}, "lazily": {0}, "by_seen": {0}}

CHANGES = st.fixed_dictionaries(
    {}, optional={"name": TEXTS, "group": TEXTS, "weight": SMALL, "rank": SMALL, "live": st.booleans(), "note": SMALL}
)


class Model:
    """A model of a table and its lists, with plain values."""

    def __init__(self) -> None:
        self.rows: dict[int, dict[str, Any]] = {}
        self.next_id = 0
        self.lists: dict[str, tuple[int, list[int]]] = {}

    def copy(self) -> "Model":
        other = Model()
        other.rows = {row_id: dict(row) for row_id, row in self.rows.items()}
        other.next_id = self.next_id
        other.lists = {key: (first, list(values)) for key, (first, values) in self.lists.items()}
        return other

    def clashes(self, new: dict[str, Any]) -> bool:
        """Whether another row already has one of the keys that must be unique."""
        others = [row for row in self.rows.values() if row["id"] != new["id"]]
        return any(all(row[f] == new[f] for f in key) for key in (("name", "rank"), ("rank", "group", "name")) for row in others)

    def order(self, index: str) -> list[tuple[tuple[Any, ...], int]]:
        """Return the keys and ids in the order of an index."""
        return sorted((key, row["id"]) for row in self.rows.values() if (key := ORDERS[index](row)) is not None)


class StoreMachine(RuleBasedStateMachine):
    """Applies the same writes to the store and to the model. `positions` lists the journal positions that can be restored, each with its
    model.
    """

    @initialize(count=st.integers(0, 12))
    def start(self, count: int) -> None:
        self.journal = Journal()
        self.things = Things(self.journal)
        self.lists: AppendLists[str, int] = AppendLists(self.journal)
        self.model = Model()
        self.objects: dict[int, Thing] = {}
        self.positions: list[tuple[int, Model, dict[int, Thing]]] = []
        for n in range(count):
            self.insert({"name": "abcd"[n % 4], "rank": n % 7 - 3, "weight": n % 3})
        self.mark()

    def pick(self, choice: int) -> Thing:
        return self.objects[sorted(self.objects)[choice % len(self.objects)]]

    @rule(values=CHANGES)
    def insert(self, values: dict[str, Any]) -> None:
        row = Thing(**{"name": "a", **values})
        plain = {**msgspec.structs.asdict(row), "id": self.model.next_id}
        clash = self.model.clashes(plain)
        try:
            self.things.insert(row)
        except NotUnique:
            assert clash
            assert row.id == -1
            return
        assert not clash
        assert row.id == self.model.next_id
        self.model.rows[row.id] = plain
        self.model.next_id += 1
        self.objects[row.id] = row

    @precondition(lambda self: self.objects)
    @rule(choice=st.integers(0, 99), changes=CHANGES)
    def modify(self, choice: int, changes: dict[str, Any]) -> None:
        row = self.pick(choice)
        plain = {**self.model.rows[row.id], **changes}
        clash = self.model.clashes(plain)
        try:
            self.things.modify(row, **changes)
        except NotUnique:
            assert clash
            return
        assert not clash
        self.model.rows[row.id] = plain

    @precondition(lambda self: self.objects)
    @rule(choice=st.integers(0, 99), seen=SMALL, note=SMALL)
    def set_seen(self, choice: int, seen: int, note: int) -> None:
        row = self.pick(choice)
        self.things.set_seen(row, seen, note)
        self.model.rows[row.id] |= {"seen": seen, "note": note}

    @precondition(lambda self: self.objects)
    @rule(choice=st.integers(0, 99))
    def remove(self, choice: int) -> None:
        row = self.pick(choice)
        self.things.remove(row)
        del self.model.rows[row.id], self.objects[row.id]

    @rule(key=TEXTS, values=st.lists(SMALL, min_size=1, max_size=40))
    def append(self, key: str, values: list[int]) -> None:
        for value in values:
            first, known = self.model.lists.setdefault(key, (0, []))
            assert self.lists.append(key, value) == first + len(known)
            known.append(value)

    @rule(key=TEXTS, share=st.integers(0, 4))
    def drop_front(self, key: str, share: int) -> None:
        first, known = self.model.lists.get(key, (0, []))
        count = len(known) * share // 4
        self.lists.drop_front(key, count)
        if count:
            self.model.lists[key] = (first + count, known[count:])

    @rule()
    def release(self) -> None:
        self.things.release_indices(0)

    @rule()
    def mark(self) -> None:
        self.positions.append((self.journal.position(), self.model.copy(), dict(self.objects)))

    @precondition(lambda self: self.positions)
    @rule(choice=st.integers(0, 99))
    def undo(self, choice: int) -> None:
        choice %= len(self.positions)
        position, self.model, self.objects = self.positions[choice]
        self.journal.undo(position)
        assert self.journal.position() == position
        del self.positions[choice:]
        self.mark()  # the position that was undone to stays valid

    @precondition(lambda self: self.positions)
    @rule(choice=st.integers(0, 99))
    def cut(self, choice: int) -> None:
        position = self.positions[choice % len(self.positions)][0]
        end = self.journal.position()
        self.journal.commit(position)
        assert len(self.journal) == end - position
        self.positions = [known for known in self.positions if known[0] >= position]

    @precondition(lambda self: self.objects)
    @rule(choice=st.integers(0, 99), changes=CHANGES)
    def failing_session(self, choice: int, changes: dict[str, Any]) -> None:
        row = self.pick(choice)
        try:
            with self.journal.session():
                self.things.modify(row, **changes)
                self.lists.append("b", 1)
                self.things.remove(row)
                self.things.insert(Thing("fresh", rank=9))
                raise KeyboardInterrupt
        except (NotUnique, KeyboardInterrupt):
            pass

    @rule(index=st.sampled_from(sorted(ORDERS)))
    def read(self, index: str) -> None:
        """Read a complete index. This happens only sometimes, so that lazy indices also remain unread for a while."""
        expected = [self.objects[row_id] for _, row_id in self.model.order(index)]
        found = getattr(self.things, index)
        assert list(found) == expected
        assert list(reversed(found)) == expected[::-1]
        assert len(found) == len(expected)
        assert (found.first(), found.last()) == ((expected[0], expected[-1]) if expected else (None, None))

    @rule(time=SMALL, group=TEXTS)
    def read_due_and_grouped(self, time: int, group: str) -> None:
        rows = [self.objects[row_id] for row_id in sorted(self.objects)]
        earliest = min((row.weight for row in rows), default=time)
        due = self.things.due.earliest_before(time)
        assert sorted(row.id for row in due) == [row.id for row in rows if row.weight == earliest < time]
        assert list(self.things.due) == sorted(rows, key=lambda row: (row.weight, row.id))
        assert sorted(row.id for row in self.things.grouped.of(group)) == [row.id for row in rows if row.group == group]
        assert list(self.things.grouped) == rows

    @rule(
        index=st.sampled_from(sorted(ORDERS)),
        texts=st.lists(TEXTS, min_size=3, max_size=3),
        numbers=st.lists(SMALL, min_size=3, max_size=3),
    )
    def read_prefix(self, index: str, texts: list[str], numbers: list[int]) -> None:
        kinds = [type(part) for part in ORDERS[index]({"id": 0, "name": "", "group": "", "weight": 0, "rank": 0, "live": True, "seen": 0})]
        values: list[Any] = [texts[n] if kind is str else numbers[n] for n, kind in enumerate(kinds)]
        order, found = self.model.order(index), getattr(self.things, index)
        for size in range(len(kinds) + 1):
            given = values[:size]
            bound = tuple(-value if n in DESCENDING.get(index, ()) else value for n, value in enumerate(given))
            cut = [(key[:size], row_id) for key, row_id in order]
            assert [row.id for row in found.starting(*given)] == [n for key, n in cut if key >= bound]
            assert [row.id for row in found.after(*given)] == [n for key, n in cut if key > bound]
            assert [row.id for row in found.equal(*given)] == [n for key, n in cut if key == bound]
            assert [row.id for row in found.before(*given)] == [n for key, n in cut if key < bound][::-1]

    @invariant()
    def same_as_the_model(self) -> None:
        self.things.check()
        self.lists.check()
        assert self.things.next_id == self.model.next_id
        assert len(self.things) == len(self.model.rows)
        assert self.things.get(self.model.next_id) is None
        for row_id, plain in self.model.rows.items():
            row = self.things.get(row_id)
            assert row is self.objects[row_id]
            assert msgspec.structs.asdict(row) == plain
            assert self.things.by_name.get(plain["name"], plain["rank"]) is row
            assert self.things.by_rank.get(plain["rank"], plain["group"], plain["name"]) is row
        assert {key: (self.lists.get(key).first, list(self.lists.get(key))) for key in self.lists} == self.model.lists

    @rule(weight=SMALL, limits=st.sets(st.integers(0, 12), min_size=1).map(sorted).map(tuple))
    def read_class(self, weight: int, limits: tuple[int, ...]) -> None:
        below = sum(row.weight > weight for row in self.objects.values())
        assert self.things.lazily.class_of(limits, weight) == sum(limit <= below for limit in limits)

    @rule()
    def walk_all(self) -> None:
        assert [row.id for row in self.things] == sorted(self.model.rows)


@pytest.fixture(autouse=True)
def _small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    use_small_buckets(monkeypatch)


TestStore = StoreMachine.TestCase
TestStore.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)
