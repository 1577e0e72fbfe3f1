"""`Table`, the rows of one type with their indices; every write goes through it and is journaled. It knows no chain rule."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from types import FunctionType
from typing import Any, ClassVar, Generic, TypeVar, get_args

from state.protocol.errors import NotUnique, UnknownKey
from state.store.deferred import Deferrable
from state.store.due import Due, DueIndex
from state.store.grouped import Grouped, GroupedIndex
from state.store.journal import Journal
from state.store.lazy import LET_GO_MIN
from state.store.ordered import UNREAD, Ordered, OrderedIndex
from state.store.rows import SHARED, SHARED_MAX, Keeping, Row, keeping_values, more_shared
from state.store.unique import Unique, UniqueIndex

RESTORE_CLASH = "two rows have the same key"
INSERT_CLASH = "could not insert object, most likely a uniqueness constraint was violated"
MODIFY_CLASH = "Could not modify object, most likely a uniqueness constraint was violated"

RowT = TypeVar("RowT", bound=Row)
Declared = Unique | Ordered | Due | Grouped
Loose = DueIndex[RowT] | GroupedIndex[RowT]  # Always up to date, without an order of all rows.
Changes = dict[str, Any]
Move = tuple[Any, Any, Any]  # An index, the entry that a row has there, the one that it gets; None is out of the index.
Readers = tuple[tuple[Any, ...], tuple[Any, ...]]  # Indices, and lazy ones, that read a field.

NO_READERS: Readers = ((), ())


class Table(Deferrable, Generic[RowT]):
    """Rows of one type, by id and by the indices that the subclass declares as class attributes.

        class Accounts(Table[Account]):
            by_name = Unique("name")
            by_votes = Ordered("-votes", "name")

    Only `insert`, `modify` and `remove` write. One that raises, whatever it raises, has changed nothing. Source of the
    rules: state-objects.md §1.5. Iteration is in the order of ids, and raises RuntimeError at its next step after a row
    came or went; rows may be modified meanwhile. A table grows with the state of the chain; the rules bound it.
    """

    ROW: ClassVar[type[Row]] = Row
    _declared: ClassVar[Sequence[tuple[str, Declared]]] = ()

    def __init_subclass__(cls) -> None:
        """Take the row type from the base, refuse declarations of fields that it doesn't have, and copy the methods that write."""
        for base in getattr(cls, "__orig_bases__", ()):
            cls.ROW = next((row for row in get_args(base) if isinstance(row, type)), cls.ROW)
        cls._declared = list(_declarations(cls))
        for name, declared in cls._declared:
            unknown = set(declared.fields) - set(cls.ROW.__struct_fields__)
            if unknown:
                raise TypeError(f"{cls.__name__}.{name} reads fields that {cls.ROW.__name__} doesn't have: {sorted(unknown)}")
        # The interpreter adapts each access to an attribute to the class that it meets there, but not where it meets a new one all
        # the time. So each table runs a copy of its own of what every write goes through: 2.4 % less for a whole replay.
        for method in (Table.insert, Table.modify, Table.remove, Table._move_in, Table._shift, Table._drop):
            setattr(cls, method.__name__, _copied(method))

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.next_id = 0
        self._rows: dict[int, RowT] = {}
        self._in_order = True
        self._version = 0
        self._keys: list[UniqueIndex[RowT]] = []
        self._orders: list[OrderedIndex[RowT] | Loose[RowT]] = []
        self._lazy: list[OrderedIndex[RowT]] = []
        self._readers: dict[str, Readers] = {"id": NO_READERS}
        for name, declared in self._declared:
            setattr(self, name, self._bind(declared))
        # What each write needs of the indices, so that it needn't ask them: these stay the same objects for ever.
        self._by_key = [(keys.entry, keys.by_key) for keys in self._keys]
        self._notes = [index.changed.add for index in self._lazy]
        # `get(id)` is the row or None: the bound function of the dict, which stays the same object for ever.
        self.get: Callable[[int], RowT | None] = self._rows.get
        self._watched = frozenset(self._readers)
        self._moved_by = frozenset(field for field, (eager, _) in self._readers.items() if eager)
        self._record = journal.record
        # Bound once: a fresh bound method in each record would cost memory and time.
        self._undo_insert, self._undo_remove, self._undo_modify = self._uninsert, self._unremove, self._unmodify

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[RowT]:
        """All rows, by id."""
        self._sort()
        return self._steps(self._version)

    def find(self, row_id: int) -> RowT:
        """The row with an id, or the refusal `UnknownKey`."""
        try:
            return self._rows[row_id]
        except KeyError:
            raise UnknownKey from None

    @property
    def undo_functions(self) -> tuple[Any, Any, Any]:
        """What takes back an insertion, a removal and a modification: the very objects that records of the journal hold."""
        return self._undo_insert, self._undo_remove, self._undo_modify

    @property
    def lazy_orders(self) -> Sequence[OrderedIndex[RowT]]:
        """The orders that are sorted when they are read."""
        return self._lazy

    @property
    def index_count(self) -> int:
        """How many indices a row is in."""
        return len(self._keys) + len(self._orders) + len(self._lazy)

    def sample(self, count: int) -> list[RowT]:
        """Up to `count` rows, in no order that means anything; it takes the same time however many there are."""
        return list(islice(self._rows.values(), count))

    def insert(self, row: RowT) -> RowT:
        """Give a new row its id, enter it into all indices and return it; refuses one that clashes in a unique index."""
        assert row.id == -1, "the row is in a table already"
        row_id = row.id = self.next_id
        try:
            self._move_in(row)
        except BaseException:
            row.id = -1
            raise
        self._rows[row_id] = row
        following = row_id + 1
        if following < SHARED_MAX:
            try:
                following = SHARED[following]
            except IndexError:
                following = more_shared(following)
        self.next_id = following
        self._version += 1
        for note in self._notes:
            note(UNREAD)
        self._record((self._undo_insert, row, None))
        return row

    def modify(self, row: RowT, /, **changes: Any) -> None:
        """Set fields of a row and re-sort it where they count; refuses a clash in a unique index."""
        assert self._rows.get(row.id) is row, "the row is not in this table"
        if not self._watched.isdisjoint(changes):
            self._shift(row, changes)
        else:
            # `_exchange` in line: most writes go through here, and a call is a good part of what they cost.
            try:
                for field, value in changes.items():
                    changes[field] = getattr(row, field)
                    setattr(row, field, value)
            except AttributeError:
                _restore(row, changes, field)
                raise
        # `changes` holds the old values now, and is what the journal keeps: no second dict per write.
        self._record((self._undo_modify, row, changes))

    def remove(self, row: RowT) -> None:
        """Take a row out of the table and all indices. It keeps its values and its id, which no other row gets."""
        assert self._rows.get(row.id) is row, "the row is not in this table"
        self._drop(row)
        self._record((self._undo_remove, row, None))

    def restore(self, rows: list[RowT], next_id: int) -> None:
        """Replace all rows by others, which have their ids already, in ascending order below `next_id`; refuses a clash.

        Nothing of it is in the journal, which must be empty.
        """
        for _ in self.restoring([(rows, [row.id for row in rows])], next_id):
            pass

    def orders(self) -> list[list[int]]:
        """Return the ids of the rows in each order that is always sorted and isn't that of the ids; [] for the others."""
        found = [[row.id for row in order] for order in self._orders]
        return [ids if len(ids) == len(self._rows) and ids != list(self._rows) else [] for ids in found]

    def restoring(self, chunks: Iterable[tuple[list[RowT], list[int]]], next_id: int, orders: Iterable[list[int]] = ()) -> Iterator[None]:
        """Replace all rows, as `restore` does, by chunks of rows with their ids, one at a step.

        Whole chunks take a small part of the time that inserting row by row would take; lazy indices are sorted when they are read, the
        others take the least time when `orders` are what the method of that name has returned for these rows; they may be wrong.
        The attributes may be parked meanwhile (`state.store.deferred`).
        """
        own = self.parked()
        rows: dict[int, RowT] = own["_rows"]
        rows.clear()
        for keys in own["_keys"]:
            keys.by_key.clear()
        for more, ids in chunks:
            rows.update(zip(ids, more, strict=True))
            for keys in own["_keys"]:
                keys.by_key.update(zip(map(keys.entry, more), more, strict=True))
            yield
        for keys in own["_keys"]:
            if len(keys.by_key) != len(rows):
                raise NotUnique(RESTORE_CLASH)
        for order, ids in zip_longest(own["_orders"], orders):
            if order is not None:
                order.restore(rows, ids)
            yield
        for order in own["_lazy"]:
            order.restore(rows)
        own["next_id"], own["_in_order"] = next_id, True
        own["_version"] += 1

    def keeping(self) -> Keeping:
        """Return, after some steps, a function that puts all rows and indices back as they are now; the rows are the same objects then.

        Nothing of it is in the journal, which has to be put back with the tables. Rows that have been removed, and that only the journal
        still knows, are left to whoever keeps that (`keeping_values`). A table that is deferred is filled first.
        """
        rows, next_id = self._rows.copy(), self.next_id
        is_in_order = self._in_order
        yield
        values = yield from keeping_values(list(rows.values()), lambda: self.journal.on_undone())
        keys, orders = [], []
        for index in self._keys:
            keys.append((index.by_key, index.by_key.copy()))
            yield
        for order in self._orders:
            orders.append(order.keep())
            yield

        def put_back() -> None:
            self.abandon()
            # In place, since bound functions of the dictionaries are held all over.
            _replace(self._rows, rows)
            values()
            for by_key, kept in keys:
                _replace(by_key, kept)
            for order in orders:
                order()
            for lazy in self._lazy:
                lazy.restore(rows)
            self.next_id, self._in_order = next_id, is_in_order
            self._version += 1

        return put_back

    def let_go(self, least: int = LET_GO_MIN) -> None:
        """Give back what lazy indices hold in which more than `least` rows have changed since they were read; to be called now and then."""
        if not self.is_deferred:
            for order in self._lazy:
                order.let_go(least)

    def writes_since(self, mark: int) -> Iterator[tuple[int, RowT, Changes | None]]:
        """Yield what was written to this table since a mark of the journal, oldest first: the position, the row, and the values that
        were replaced; None for a row that was inserted. Removals are left out.
        """
        for position, (undo, row, old) in self.journal.since(mark):
            # Bound methods are compared by identity: the table has one object of each, and all its records hold that.
            if undo is self._undo_modify or undo is self._undo_insert:
                yield position, row, old

    def check(self) -> None:
        """Verify ids, order and every index against the rows; for tests, changes nothing."""
        ids = list(self._rows)
        assert not self._in_order or ids == sorted(ids), "ids out of order"
        for row_id, row in self._rows.items():
            assert row.id == row_id, "a row under another id"
            assert 0 <= row_id < self.next_id, "an id that was never given"
        for keys in self._keys:
            keys.check(self._rows)
        for order in (*self._orders, *self._lazy):
            order.check(self._rows)

    def _bind(self, declared: Declared) -> UniqueIndex[RowT] | OrderedIndex[RowT] | Loose[RowT]:
        """Make the index of a declaration, and note which fields it reads."""
        index: UniqueIndex[RowT] | OrderedIndex[RowT] | Loose[RowT]
        keys: UniqueIndex[RowT] | None
        readers: Readers
        if isinstance(declared, Unique):
            index = keys = UniqueIndex(declared.fields)
            readers = (keys,), ()
        elif isinstance(declared, Due | Grouped):
            loose: Loose[RowT] = DueIndex(declared) if isinstance(declared, Due) else GroupedIndex(declared)
            index, keys = loose, None
            self._orders.append(loose)
            readers = (loose,), ()
        else:
            index = order = OrderedIndex(declared, self._rows, self.journal.reads, lambda: self.next_id)
            keys = order.keys
            own = (keys,) if keys else ()
            readers = (own, (order,)) if order.lazy else ((*own, order), ())
            (self._lazy if order.lazy else self._orders).append(order)
        if keys is not None:
            self._keys.append(keys)
        for field in declared.fields:
            self._readers[field] = _merged(self._readers.get(field, NO_READERS), readers)
        return index

    def _move_in(self, row: RowT) -> None:
        """Enter a row into all indices that are always up to date or, when it clashes or can't be compared, into none."""
        done = 0
        try:
            for key, by_key in self._by_key:
                if by_key.setdefault(key(row), row) is not row:
                    raise NotUnique(INSERT_CLASH)
                done += 1
            for order in self._orders:
                order.enter(row)
                done += 1
        except BaseException:
            # The indices that it has been entered into, keys first.
            for key, by_key in self._by_key[:done]:
                del by_key[key(row)]
            for order in self._orders[: max(0, done - len(self._by_key))]:
                order.leave(row)
            raise

    def _shift(self, row: RowT, changes: Changes) -> None:
        """Modify fields that indices read, and move the row in those indices whose entry changes.

        An entry is a function of the row, and the row holds one set of values at a time. So the old entries are worked out first,
        then the values are exchanged, then the new entries: with both, the row can be moved without anybody searching for it. The
        order of these steps is also what makes a failed write leave no trace. Until `_perform` nothing but the row's own fields has
        changed, and exchanging once more takes that back. A clash or an entry that can't be worked out raises before that point, an
        entry that can't be compared within `_perform`, which takes back the moves that it has made.

        Most writes don't reach this: `modify` sees in `_watched` at once that no index reads the fields. Of those that do, many leave
        an entry as it was, because the value is the same or `where` leaves the row out before and after; that index is not touched,
        which is also why walks over it go on. A lazy index only notes the id, at the very end, when nothing can fail any more.
        """
        assert "id" not in changes, "ids are given by the table"
        if self._moved_by.isdisjoint(changes):
            # Only lazy indices read these fields: nothing moves, and no entry has to be worked out.
            _exchange(row, changes)
            row_id, readers = row.id, self._readers
            for field, old in changes.items():
                if field in readers and getattr(row, field) != old:
                    for index in readers[field][1]:
                        index.changed.add(row_id)
            return
        eager, lazy = self._touched(row, changes)
        entered = [(index, index.entry(row)) for index in eager]
        moves: list[Move] = []
        _exchange(row, changes)
        try:
            for index, old in entered:
                new = index.entry(row)
                if new != old:
                    if isinstance(index, UniqueIndex) and new in index.by_key:
                        raise NotUnique(MODIFY_CLASH)
                    moves.append((index, old, new))
            _perform(moves, row)
        except BaseException:
            _exchange(row, changes)
            raise
        for index in lazy:
            index.changed.add(row.id)

    def _touched(self, row: RowT, changes: Changes) -> Readers:
        """The indices that read a field which gets another value, each once.

        Mostly one field changes, and the tuples that are kept for it are returned as they are; merging is for the rest.
        """
        touched = NO_READERS
        known = self._readers
        for field, value in changes.items():
            if field in known and getattr(row, field) != value:
                readers = known[field]
                touched = readers if touched is NO_READERS else _merged(touched, readers)
        return touched

    def _drop(self, row: RowT) -> None:
        """Take a row out of all indices and the table."""
        row_id = row.id
        for key, by_key in self._by_key:
            del by_key[key(row)]
        for order in self._orders:
            order.leave(row)
        del self._rows[row_id]
        self._version += 1
        for lazy in self._lazy:
            lazy.forget(row_id)

    def _uninsert(self, row: RowT, _: None) -> None:
        self._drop(row)
        self.next_id = row_id = row.id
        for lazy in self._lazy:
            lazy.unread = min(lazy.unread, row_id)
        row.id = -1

    def _unremove(self, row: RowT, _: None) -> None:
        self._move_in(row)
        rows, row_id = self._rows, row.id
        if rows and next(reversed(rows)) > row_id:
            self._in_order = False
        rows[row_id] = row
        self._version += 1
        for note in self._notes:
            note(row_id)

    def _unmodify(self, row: RowT, old: Changes) -> None:
        """Take back a modification: set the old values, and move the row back in the indices.

        The journal holds no entries of indices. They are functions of the row, and all later writes are undone by now, so that
        working them out again gives the very entries that the row had.
        """
        if self._watched.isdisjoint(old):
            for field, value in old.items():
                setattr(row, field, value)
        else:
            # A copy, since `_shift` exchanges the values: records are never changed, so that a checkpoint can share them.
            self._shift(row, old.copy())

    def _sort(self) -> None:
        """Bring the rows back into the order of ids, which undoing a removal upsets; in place, others hold the dict."""
        if not self._in_order:
            rows = sorted(self._rows.items())
            self._rows.clear()
            self._rows.update(rows)
            self._in_order = True

    def _steps(self, version: int) -> Iterator[RowT]:
        self._demand_unchanged(version)
        for row in self._rows.values():
            yield row
            if self._version != version:
                self._demand_unchanged(version)

    def _demand_unchanged(self, version: int) -> None:
        if self._version != version:
            raise RuntimeError("the table changed while it was walked")


def _copied(method: Any) -> FunctionType:
    """Return a function that does the same, with bytecode of its own for the interpreter to adapt."""
    return FunctionType(method.__code__.replace(), method.__globals__, method.__name__)


def _declarations(table: type) -> Iterator[tuple[str, Declared]]:
    """The indices that a table class declares, in their order."""
    for base in reversed(table.__mro__):
        for name, declared in vars(base).items():
            if isinstance(declared, Declared):
                yield name, declared


def _merged(some: Readers, others: Readers) -> Readers:
    """Both together, each index once."""
    return (*dict.fromkeys(some[0] + others[0]),), (*dict.fromkeys(some[1] + others[1]),)


def _replace(kept: dict[Any, Any], other: dict[Any, Any]) -> None:
    """Let a dictionary hold what another holds."""
    kept.clear()
    kept.update(other)


def _exchange(row: Row, changes: Changes) -> None:
    """Swap the values of a row with those in `changes`: afterwards it holds the old ones, which is what undo needs."""
    try:
        for field, value in changes.items():
            changes[field] = getattr(row, field)
            setattr(row, field, value)
    except AttributeError:
        _restore(row, changes, field)
        raise


def _restore(row: Row, changes: Changes, missing: str) -> None:
    """Take back an exchange that came as far as a field that isn't there."""
    for field, old in changes.items():
        if field == missing:
            break
        setattr(row, field, old)


def _perform(moves: list[Move], row: Row) -> None:
    """Make all moves or, when an entry can't be compared with its neighbours, none."""
    done = 0
    try:
        for index, old, new in moves:
            index.move(old, new, row)
            done += 1
    except BaseException:
        for index, old, new in moves[:done]:
            index.move(new, old, row)
        raise
