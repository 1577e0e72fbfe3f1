"""`Table`, which contains the rows of one type and their indices. Every write goes through the table and is recorded in the journal."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, zip_longest
from types import FunctionType
from typing import Any, ClassVar, Generic, TypeVar, get_args

from state.protocol.errors import NotUnique, UnknownKey
from state.store.columns import Special
from state.store.due import Due, DueIndex
from state.store.grouped import Grouped, GroupedIds, GroupedIdsIndex, GroupedIndex
from state.store.journal import Journal
from state.store.lazy.background_load import BackgroundLoadable
from state.store.lazy.order import RELEASED_ROWS_MIN, UNREAD
from state.store.lazy_index import LazyIndex
from state.store.ordered import Ordered, OrderedIndex
from state.store.packed import Packed, PackedRows, PackedUniqueIndex
from state.store.rows import SHARED, SHARED_MAX, SPARSE_SHARE, Copying, CopyOfRows, Row, copying_values, more_shared, specialize_assignments
from state.store.setters import Setter, setter_maker
from state.store.unique import RESTORE_CLASH, Unique, UniqueIndex, getter

INSERT_CLASH = "could not insert object, most likely a uniqueness constraint was violated"
MODIFY_CLASH = "Could not modify object, most likely a uniqueness constraint was violated"

RowT = TypeVar("RowT", bound=Row)
Declared = Unique | Ordered | Due | Grouped | GroupedIds | Packed
Loose = DueIndex[RowT] | GroupedIndex[RowT] | GroupedIdsIndex[RowT] | PackedRows[RowT]  # always up to date, the rows in no order
Changes = dict[str, Any]
IndexUpdate = tuple[Any, Any, Any]  # an index, the old and the new entry of a row (None: the row is not in the index)
Readers = tuple[tuple[Any, ...], tuple[Any, ...]]  # the eager and the lazy indices that read a field

NO_READERS: Readers = ((), ())


class Table(BackgroundLoadable, Generic[RowT]):
    """Rows of one type, accessible by id and by the indices that the subclass declares as class attributes.

        class Accounts(Table[Account]):
            by_name = Unique("name")
            by_votes = Ordered("-votes", "name")

    With `packed = Packed(...)`, settled rows become bytes. A row is the same object for as long as anything refers to it.

    Only `insert`, `modify`, `remove` and declared setters (`Setter`) write. If one of these methods raises an exception, nothing has
    changed. Source of the rules: state-objects.md §1.5. Iteration is by id. After an insertion or removal its next step raises
    RuntimeError; modifying rows is allowed. The rules of the chain bound the size of a table.
    """

    ROW: ClassVar[type[Row]] = Row
    SPECIAL: ClassVar[Special] = {}  # the types of the fields declared as Any; set by state.portable
    declared: ClassVar[Sequence[tuple[str, Declared]]] = ()  # the names and declarations of indices, in order
    _setters: ClassVar[Sequence[tuple[str, Setter]]] = ()

    def __init_subclass__(cls) -> None:
        """Find the row type in the base class, check the declared indices against its fields, and copy the methods that write."""
        for base in getattr(cls, "__orig_bases__", ()):
            cls.ROW = next((row for row in get_args(base) if isinstance(row, type)), cls.ROW)
        # CPython specializes an access to an attribute of a table only if the class has no attribute of the same name, so the declarations
        # are taken out of the class.
        for name, value in list(vars(cls).items()):
            if isinstance(value, Declared):
                cls.declared = [*cls.declared, (name, value)]
                delattr(cls, name)
            elif isinstance(value, Setter):
                cls._setters = [*cls._setters, (name, value)]
                delattr(cls, name)
        specialize_assignments(cls.ROW)
        packs = any(isinstance(declared, Packed) for _, declared in cls.declared)
        for name, declared in (*cls.declared, *cls._setters):
            holds_all = isinstance(declared, Due | Grouped) or (isinstance(declared, Ordered) and not (declared.lazy or declared.where))
            if packs and holds_all:
                raise TypeError(f"{cls.__name__}.{name} would hold packed rows")
            unknown = set(declared.fields) - set(cls.ROW.__struct_fields__)
            if unknown:
                raise TypeError(f"{cls.__name__}.{name} reads fields that {cls.ROW.__name__} doesn't have: {sorted(unknown)}")
        # CPython specializes the bytecode of an attribute access for one class. Each table class therefore gets its own copies of the
        # methods that every write calls, which makes a whole replay 2.4 % faster.
        for method in (Table.insert, Table.modify, Table.remove, Table._move_in, Table._shift, Table._drop):
            if method.__name__ not in vars(cls):
                setattr(cls, method.__name__, _copied(method))

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.next_id = 0
        row: Any = self.ROW
        packing = [declared for _, declared in self.declared if isinstance(declared, Packed)]
        packed = PackedRows[RowT](packing[0], row, lambda: self.SPECIAL, journal.read_mode) if packing else None
        self.packing = packed
        self._rows: dict[int, RowT] = {} if packed is None else packed.hot
        # `get(id)` returns the row or None. It is bound to the dict, which therefore must stay the same object.
        self.get: Callable[[int], RowT | None] = getter(self._rows)
        self._in_order = True
        self._version = 0
        self._keys: list[UniqueIndex[RowT]] = []
        self._orders: list[OrderedIndex[RowT] | Loose[RowT]] = []
        self._lazy: list[LazyIndex[RowT]] = []
        self._readers: dict[str, Readers] = {"id": NO_READERS}
        for name, declared in self.declared:
            if not isinstance(declared, Packed):
                setattr(self, name, self._bind(declared))
        if packed is not None:
            self._orders.append(packed)
            for field in packed.fields:
                self._readers[field] = _merged(self._readers.get(field, NO_READERS), ((packed,), ()))
            journal.packing.append(packed.pack_some)
        # Attributes of the indices that each write needs, cached. They stay the same objects for the life of the table.
        self._by_key = [(keys.entry, keys.by_key) for keys in self._keys]
        journal.dicts += self._rows, *[by_key for _, by_key in self._by_key]
        self._dirty_rows = [index.dirty.add for index in self._lazy]
        self._watched = frozenset(self._readers)
        self._updated_by = frozenset(field for field, (eager, _) in self._readers.items() if eager)
        self._record = journal.record
        # Bound once, because a new bound method in each record would cost memory and time.
        self._undo_insert, self._undo_remove, self._undo_modify = self._uninsert, self._unremove, self._unmodify
        self._set_fields: dict[Any, tuple[str, ...]] = {}  # the fields of each setter, by the function that undoes it
        for name, setter in self._setters:
            setattr(self, name, self._bind_setter(setter))

    def __len__(self) -> int:
        return len(self._rows) if self.packing is None else len(self._rows) + self.packing.count

    def __iter__(self) -> Iterator[RowT]:
        """Yield all rows, ordered by id. Packed rows become hot, except in incremental reads (see `scan`)."""
        return self._steps(self.scan(), self._version)

    def find(self, row_id: int) -> RowT:
        """Return the row with this id. Raises UnknownKey."""
        row = self.get(row_id)
        if row is None:
            raise UnknownKey
        return row

    def peek(self, row_id: int) -> RowT | None:
        """Return the row with this id for reading at once, or None. The caller must neither keep nor modify it."""
        row = self._rows.get(row_id)
        return self.packing.peek(row_id) if row is None and self.packing is not None else row

    def scan(self) -> Iterator[RowT]:
        """Yield all rows, ordered by id, for reading at once (see `peek`)."""
        if self.packing is not None:
            return self.packing.rows_between(0, self.next_id)
        self._sort()
        return iter(self._rows.values())

    def rows_between(self, begin: int, end: int) -> Iterator[RowT]:
        """Yield the rows with ids from `begin` to below `end`, in ascending order, for reading at once (see `peek`)."""
        rows, end = self._rows, min(end, self.next_id)
        if self.packing is not None:
            return self.packing.rows_between(begin, end)
        ids = range(begin, end) if end - begin <= SPARSE_SHARE * len(rows) else sorted([each for each in rows if begin <= each < end])
        return (row for row_id in ids if (row := rows.get(row_id)) is not None)

    @property
    def undo_functions(self) -> tuple[Any, Any, tuple[Any, ...]]:
        """The functions that undo an insertion, a removal and the kinds of modifications: the same objects as in the journal's records."""
        return self._undo_insert, self._undo_remove, (self._undo_modify, *self._set_fields)

    def replaced(self, undo: Any, old: Any) -> Changes:
        """Return the replaced values, by field, of a record of a modification."""
        fields = self._set_fields.get(undo)
        return old if fields is None else dict(zip(fields, old, strict=True))

    @property
    def lazy_orders(self) -> Sequence[LazyIndex[RowT]]:
        """The lazy indices."""
        return self._lazy

    @property
    def index_count(self) -> int:
        """The number of indices that always contain all rows."""
        return len(self._keys) + len(self._orders)

    def sample(self, count: int) -> list[RowT]:
        """Return up to `count` rows in arbitrary order, hot rows if possible. The time doesn't depend on the size of the table."""
        rows = list(islice(self._rows.values(), count))
        return list(islice(self.scan(), count)) if self.packing is not None and len(rows) < count else rows

    def insert(self, row: RowT) -> RowT:
        """Insert a new row into the table and its indices, set its id and return it. Raises NotUnique."""
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
        for note in self._dirty_rows:
            note(UNREAD)
        self._record((self._undo_insert, row, None))
        return row

    def skip_ids(self, row_id: int) -> None:
        """Raise the id of the next new row to at least `row_id`."""
        if row_id > self.next_id:
            self._record((self._set_next_id, self.next_id, None))
            self.next_id = row_id

    def insert_at(self, row_id: int, row: RowT) -> RowT:
        """Insert a new row under an id, or under the next id if the id has a row. Raises NotUnique."""
        following = self.next_id
        if row_id == following or self.peek(row_id) is not None:
            return self.insert(row)
        self._record((self._set_next_id, following, None))
        self.next_id = row_id
        try:
            self.insert(row)
        except BaseException:
            self.next_id = following
            raise
        self.next_id = max(following, row_id + 1)
        self._in_order &= row_id >= following
        for index in self._lazy:
            index.dirty.add(row_id)
        return row

    def modify(self, row: RowT, /, **changes: Any) -> None:
        """Set fields of a row and update the indices that read them. Raises NotUnique."""
        assert self._rows.get(row.id) is row, "the row is not in this table"
        if not self._watched.isdisjoint(changes):
            self._shift(row, changes)
        else:
            # `_exchange`, inlined: most writes take this path, and a call would be a large part of their cost.
            try:
                for field, value in changes.items():
                    changes[field] = getattr(row, field)
                    setattr(row, field, value)
            except AttributeError:
                _restore(row, changes, field)
                raise
        # `changes` now holds the old values, so the journal can keep it without a second dict per write.
        self._record((self._undo_modify, row, changes))

    def remove(self, row: RowT) -> None:
        """Remove a row from the table and all indices. The row keeps its values and its id, which isn't reused."""
        assert self._rows.get(row.id) is row, "the row is not in this table"
        self._drop(row)
        self._record((self._undo_remove, row, None))

    def restore(self, rows: list[RowT], next_id: int) -> None:
        """Replace all rows. The new rows have ascending ids below `next_id`. Raises NotUnique.

        The change is not journaled, and the journal must be empty.
        """
        for _ in self.restoring([(rows, [row.id for row in rows])], next_id):
            pass

    def orders(self) -> list[list[int]]:
        """Return, for each eager index, the ids of all rows in the index's order. For an index that excludes rows or is ordered by id,
        return [].
        """
        found = [[] if isinstance(order, PackedRows | GroupedIdsIndex) else [row.id for row in order] for order in self._orders]
        return [ids if len(ids) == len(self._rows) and ids != sorted(self._rows) else [] for ids in found]

    def restoring(self, chunks: Iterable[tuple[list[RowT], list[int]]], next_id: int, orders: Iterable[list[int]] = ()) -> Iterator[None]:
        """Replace all rows like `restore`, by one chunk of rows and their ids per step.

        This is much faster than inserting the rows one by one. Lazy indices are sorted at the next read. The other indices are sorted
        fastest if `orders` is the result of the method `orders` for these rows; wrong orders are harmless. This also works while the table
        is loading (`state.store.lazy.background_load`).
        """
        own = self.raw_attributes()
        rows: dict[int, RowT] = own["_rows"]
        rows.clear()
        for keys in own["_keys"]:
            keys.by_key.clear()
        if own["packing"] is not None:
            own["packing"].clear()
        for more, ids in chunks:
            rows.update(zip(ids, more, strict=True))
            for keys in own["_keys"]:
                keys.by_key.update(zip(map(keys.entry, more), more, strict=True))
            yield
        for keys in own["_keys"]:
            if len(keys.by_key) != len(rows):
                raise NotUnique(RESTORE_CLASH)
        for order, ids in zip_longest(own["_orders"], orders):
            if isinstance(order, OrderedIndex):
                yield from order.restoring(rows, ids)
            elif order is not None:
                order.restore(rows, ids)
            yield
        for order in own["_lazy"]:
            order.restore(rows)
        own["next_id"], own["_in_order"] = next_id, True
        own["_version"] += 1

    def copying(self) -> Copying:
        """Copy all rows and indices in steps, and return a function that restores the copy into the same row objects.

        Restoring is not journaled. The caller must restore the journal together with the tables, and copy the removed rows to which only
        the journal refers (`copying_values`). If the table is still loading, the load is finished first.
        """
        rows, next_id, is_in_order = self._rows.copy(), self.next_id, self._in_order
        yield
        pause = self.journal.on_undone
        values = yield from copying_values(listed := list(rows.values()), kept := list[Any](), pause)
        parts: list[Callable[[], None]] = []
        for index in self._keys:
            parts.append(partial(_replace, index.by_key, index.by_key.copy()))
            yield
        for order in self._orders:
            parts.append(order.copy())
            yield

        def put_back() -> None:
            self.cancel_load()
            # In place: other objects hold bound methods of these dictionaries.
            _replace(self._rows, rows)
            values()
            for part in parts:
                part()
                pause()
            for lazy in self._lazy:
                lazy.restore(rows)
            self.next_id, self._in_order = next_id, is_in_order
            self._version += 1

        return CopyOfRows(put_back, [rows, listed, kept])

    def release_indices(self, least: int = RELEASED_ROWS_MIN) -> None:
        """Free the memory of lazy indices with more than `least` changes since their last read. Call it periodically."""
        if not self.is_loading:
            for order in self._lazy:
                order.release(least)

    def writes_since(self, mark: int) -> Iterator[tuple[int, RowT, Changes | None]]:
        """Yield the insertions and modifications since a position of the journal, oldest first.

        Each item consists of the journal position, the row, and the replaced values (None for an insertion).
        """
        for position, (undo, row, old) in self.journal.since(mark):
            # Bound methods are compared by identity here: the table has one object of each, to which all its records refer.
            if undo is self._undo_insert:
                yield position, row, None
            elif undo is self._undo_modify or undo in self._set_fields:
                yield position, row, self.replaced(undo, old)

    def check(self) -> None:
        """Verify ids, order and every index against the rows; for tests."""
        ids = list(self._rows)
        assert not self._in_order or self.packing is not None or ids == sorted(ids), "ids out of order"
        for row_id, row in self._rows.items():
            assert row.id == row_id, "a row under a wrong id"
            assert 0 <= row_id < self.next_id, "an id that was never assigned"
        for keys in self._keys:
            keys.check(self._rows)
        rows = {row.id: row for row in self.scan()}
        for order in self._orders:
            order.check(rows if isinstance(order, GroupedIdsIndex) else self._rows)
        for order in self._lazy:
            order.check(rows)
        packed = [row for row_id, row in rows.items() if row_id not in self._rows]
        holding = [order for order in self._orders if not isinstance(order, PackedRows | GroupedIdsIndex)]
        assert len(rows) == len(self), "the number of rows is wrong"
        assert all(order.entry(row) is None for order in holding for row in packed), "a packed row is in an index"

    def _unique(self, fields: tuple[str, ...]) -> UniqueIndex[RowT]:
        """Create the index of unique keys."""
        return UniqueIndex(fields) if self.packing is None else PackedUniqueIndex(fields, self.packing)

    def _bind(self, declared: Unique | Ordered | Due | Grouped | GroupedIds) -> UniqueIndex[RowT] | OrderedIndex[RowT] | Loose[RowT]:
        """Create the index of a declaration and register the fields that it reads."""
        index: UniqueIndex[RowT] | OrderedIndex[RowT] | Loose[RowT]
        keys: UniqueIndex[RowT] | None
        readers: Readers
        if isinstance(declared, Unique):
            index = keys = self._unique(declared.fields)
            readers = (keys,), ()
        elif isinstance(declared, Due | Grouped | GroupedIds):
            loose: Loose[RowT] = GroupedIdsIndex(declared, self.get) if isinstance(declared, GroupedIds) else declared.new_index()
            index, keys = loose, None
            self._orders.append(loose)
            readers = (loose,), ()
        elif declared.lazy:
            keys = self._unique(declared.fields) if declared.unique else None
            index = lazy = LazyIndex(declared, keys, self, self.journal.read_mode)
            readers = (keys,) if keys else (), (lazy,)
            self._lazy.append(lazy)
        else:
            order: OrderedIndex[RowT]
            keys = self._unique(declared.fields) if declared.unique else None
            index = order = OrderedIndex(declared, keys)
            readers = ((keys, order) if keys else (order,)), ()
            self._orders.append(order)
        if keys is not None:
            self._keys.append(keys)
        for field in declared.fields:
            self._readers[field] = _merged(self._readers.get(field, NO_READERS), readers)
        return index

    def _bind_setter(self, declared: Setter) -> Callable[..., None]:
        """Create the method of a declared setter."""
        fields = declared.fields
        eager = self._updated_by.intersection(fields)
        if eager:
            raise TypeError(f"{type(self).__name__}: modify must set {sorted(eager)}, which eager indices read")
        lazy = [self._readers.get(field, NO_READERS)[1] for field in fields]

        def undo(row: RowT, old: tuple[Any, ...]) -> None:
            self._unmodify(row, dict(zip(fields, old, strict=True)))

        self._set_fields[undo] = fields
        notes = [index.dirty.add for indices in lazy for index in indices]
        owner: Any = type(self)  # mypy doesn't treat classes as hashable
        return setter_maker(owner, fields, tuple(map(len, lazy)))(self._record, self._rows.get, undo, *notes)

    def _move_in(self, row: RowT) -> None:
        """Insert a row into all eager indices. If one of them refuses it (duplicate or incomparable key), insert it into none."""
        done = 0
        try:
            for key, by_key in self._by_key:
                if by_key.setdefault(key(row), row) is not row:
                    raise NotUnique(INSERT_CLASH)
                done += 1
            for order in self._orders:
                order.insert(row)
                done += 1
        except BaseException:
            # Undo the completed insertions, unique indices first.
            for key, by_key in self._by_key[:done]:
                del by_key[key(row)]
            for order in self._orders[: max(0, done - len(self._by_key))]:
                order.remove(row)
            raise

    def _shift(self, row: RowT, changes: Changes) -> None:
        """Modify fields that indices read, and move the row in the indices whose entry changes.

        An entry is a function of the row, and the row holds one set of values at a time. So the old entries are computed first, then the
        values are swapped, then the new entries are computed. This order also makes a failed write leave no trace: until `_perform` only
        the row's own fields have changed, and a second swap reverts them. A clash or an entry that can't be computed raises before that
        point. An entry that can't be compared raises within `_perform`, which reverts its moves.

        Most writes don't get here: `modify` sees in `_watched` that no index reads the fields. Many others leave an entry unchanged,
        because the value is equal or `where` excludes the row before and after. Such an index is not touched, and iterations over it can
        continue. A lazy index only records the id, at the very end, when nothing can fail.
        """
        assert "id" not in changes, "the table assigns ids"
        if self._updated_by.isdisjoint(changes):
            # Only lazy indices read these fields, so no entry has to be computed.
            _exchange(row, changes)
            row_id, readers = row.id, self._readers
            for field, old in changes.items():
                if field in readers and getattr(row, field) != old:
                    for index in readers[field][1]:
                        index.dirty.add(row_id)
            return
        eager, lazy = self._touched(row, changes)
        entered = [(index, index.entry(row)) for index in eager]
        moves: list[IndexUpdate] = []
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
            index.dirty.add(row.id)

    def _touched(self, row: RowT, changes: Changes) -> Readers:
        """Return the indices that read a field whose value changes, each index once.

        Usually only one such field changes. In that case the tuples stored for the field are returned without merging.
        """
        touched = NO_READERS
        known = self._readers
        for field, value in changes.items():
            if field in known and getattr(row, field) != value:
                readers = known[field]
                touched = readers if touched is NO_READERS else _merged(touched, readers)
        return touched

    def _drop(self, row: RowT) -> None:
        """Remove a row from the table and all indices."""
        row_id = row.id
        for key, by_key in self._by_key:
            del by_key[key(row)]
        for order in self._orders:
            order.remove(row)
        del self._rows[row_id]
        self._version += 1
        for lazy in self._lazy:
            lazy.forget(row_id)

    def _uninsert(self, row: RowT, _: None) -> None:
        self._drop(row)
        self.next_id = row_id = row.id
        for lazy in self._lazy:
            lazy.reuse(row_id)
        row.id = -1

    def _set_next_id(self, next_id: int, _: None) -> None:
        self.next_id = next_id

    def _unremove(self, row: RowT, _: None) -> None:
        self._move_in(row)
        rows, row_id = self._rows, row.id
        if rows and next(reversed(rows)) > row_id:
            self._in_order = False
        rows[row_id] = row
        self._version += 1
        for note in self._dirty_rows:
            note(row_id)

    def _unmodify(self, row: RowT, old: Changes) -> None:
        """Undo a modification: set the old values and move the row back in the indices.

        The journal contains no index entries. They are functions of the row, and all later writes are undone already, so computing them
        again results in the entries that the row had.
        """
        if self._watched.isdisjoint(old):
            for field, value in old.items():
                setattr(row, field, value)
        else:
            # A copy, since `_shift` swaps the values. Records never change, so that copies of the journal can share them.
            self._shift(row, old.copy())

    def _sort(self) -> None:
        """Sort the rows by id in place, because other objects hold the same dict. This is needed after undoing a removal."""
        if not self._in_order:
            rows = sorted(self._rows.items())
            self._rows.clear()
            self._rows.update(rows)
            self._in_order = True

    def _steps(self, rows: Iterator[RowT], version: int) -> Iterator[RowT]:
        self._require_unchanged(version)
        packed = self.packing
        for row in rows:
            yield row if packed is None or row.id in self._rows else self.find(row.id)
            if self._version != version:
                self._require_unchanged(version)

    def _require_unchanged(self, version: int) -> None:
        if self._version != version:
            raise RuntimeError("the table changed during an iteration")


def _copied(method: Any) -> FunctionType:
    """Return a copy of a function with its own bytecode, which the interpreter can specialize separately."""
    return FunctionType(method.__code__.replace(), method.__globals__, method.__name__)


def _merged(some: Readers, others: Readers) -> Readers:
    """Return the union of both arguments, with each index once."""
    return (*dict.fromkeys(some[0] + others[0]),), (*dict.fromkeys(some[1] + others[1]),)


def _replace(kept: dict[Any, Any], other: dict[Any, Any]) -> None:
    """Replace the content of the dictionary `kept` in place with that of `other`."""
    kept.clear()
    kept.update(other)


def _exchange(row: Row, changes: Changes) -> None:
    """Swap the values of a row with those in `changes`. Afterwards, `changes` contains the old values, which undo needs."""
    try:
        for field, value in changes.items():
            changes[field] = getattr(row, field)
            setattr(row, field, value)
    except AttributeError:
        _restore(row, changes, field)
        raise


def _restore(row: Row, changes: Changes, missing: str) -> None:
    """Revert an exchange of values that failed because the row has no field `missing`."""
    for field, old in changes.items():
        if field == missing:
            break
        setattr(row, field, old)


def _perform(moves: list[IndexUpdate], row: Row) -> None:
    """Update all indices. If an entry can't be compared with its neighbours, update none of them."""
    done = 0
    try:
        for index, old, new in moves:
            index.update(old, new, row)
            done += 1
    except BaseException:
        for index, old, new in moves[:done]:
            index.update(new, old, row)
        raise
