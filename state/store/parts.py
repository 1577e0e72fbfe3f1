"""Tables, lists and dictionaries as bytes and back: the parts of which a snapshot is made. They know no rule, and nothing of files.

A part is written as a few chunks, so that whoever writes a file needs the memory of one chunk only. Reading has two steps: `read`
decodes and checks everything and changes nothing; the function that it returns puts it in place. What can be refused is so refused
before anything has changed.
"""

from collections.abc import Callable, Iterator
from itertools import accumulate
from operator import attrgetter
from typing import Annotated, Any, Protocol

from msgspec import Meta, MsgspecError, msgpack

from state.store.columns import Column, Special, Structs, Unreadable, schema
from state.store.deferred import Deferred
from state.store.lists import Lists
from state.store.rows import Keeping
from state.store.table import Table

ROWS_PER_CHUNK = 10_000
ROWS_PER_CHUNK_MAX = 100_000  # that are read
ORDERS_MAX = 64  # of a table
# A column of equal values says in a few bytes how many there are. Of histories, so many values more than bytes are read.
VALUES_FREE = 100_000

Install = Callable[[], Deferred | None]
"""Puts what was read in place, and returns what is left to do."""


class Part(Protocol):
    """One thing that a state or a plugin keeps. `schema` says what it consists of: equal texts can read each other's bytes."""

    @property
    def schema(self) -> str:
        """What it consists of, as text."""

    def dump(self) -> Iterator[bytes]:
        """Yield what it holds, in chunks."""

    def read(self, chunks: Iterator[bytes]) -> Install:
        """Return the function that replaces what it holds by what was dumped. Raises Unreadable."""

    def keeping(self) -> Keeping:
        """Return, after some steps, a function that puts it back as it is now, in memory and in place, any number of times."""

    def entries(self) -> Iterator[tuple[Any, dict[str, str]]]:
        """Yield what it holds in words: a key, and the fields of what stands under it."""


class TablePart:
    """A table: its rows by id, and the next id. `special` has the types of fields that are declared as Any.

    With `is_deferred` a table of more than one chunk is filled after it has been installed, or when somebody looks at it.
    """

    def __init__(self, table: Table[Any], special: Special | None = None, *, is_deferred: bool = False) -> None:
        self._table, self._is_deferred = table, is_deferred
        self._special = special
        self._structs = Structs(table.ROW, special, without=("id",))

    @property
    def schema(self) -> str:
        """See Part."""
        return schema(self._table.ROW, self._special)

    def dump(self) -> Iterator[bytes]:
        """See Part."""
        table = self._table
        rows = list(table)
        yield msgpack.encode((table.next_id, len(rows)))
        yield msgpack.encode(table.orders())
        for begin in range(0, len(rows), ROWS_PER_CHUNK):
            piece = rows[begin : begin + ROWS_PER_CHUNK]
            yield msgpack.encode((_IDS.pack([row.id for row in piece]), len(piece), self._structs.pack(piece)))

    def read(self, chunks: Iterator[bytes]) -> Install:
        """See Part. A deferred table decodes its rows later."""
        next_id, count = decoded(tuple[int, int], next(chunks, b""))
        orders = decoded(_ORDERS, next(chunks, b""))
        if self._is_deferred and count > ROWS_PER_CHUNK:
            return lambda: Deferred(
                (self._table,), self._table.restoring(self._rows(chunks, next_id, count), next_id, orders), self._table.journal.reads
            )
        rows = list(self._rows(chunks, next_id, count))

        def install() -> None:
            self._table.take_back()
            for _ in self._table.restoring(rows, next_id, orders):
                pass

        return install

    def _rows(self, chunks: Iterator[bytes], next_id: int, count: int) -> Iterator[tuple[list[Any], list[int]]]:
        """Yield the rows of each chunk, with their ids. Raises Unreadable."""
        total, last = 0, -1
        for chunk in chunks:
            packed_ids, size, packed = decoded(tuple[bytes, int, bytes], chunk)
            if size > min(ROWS_PER_CHUNK_MAX, len(packed_ids)):  # no two ids are equal
                raise Unreadable(f"{size} rows in one chunk")
            ids, rows = checked_read(_IDS.unpack, packed_ids, size), checked_read(self._structs.unpack, packed, size)
            if [last, *ids] != sorted({last, *ids}) or max(ids, default=-1) >= next_id:
                raise Unreadable("the ids of rows are out of order")
            for row, row_id in zip(rows, ids, strict=True):
                row.id = row_id
            total, last = total + size, max(ids, default=last)
            yield rows, ids
        if total != count:
            raise Unreadable(f"{total} rows in place of {count}")

    def keeping(self) -> Keeping:
        """See Part."""
        return self._table.keeping()

    def entries(self) -> Iterator[tuple[Any, dict[str, str]]]:
        """See Part."""
        yield "next id", {"value": str(self._table.next_id)}
        for row in self._table:
            yield row.id, {field: repr(getattr(row, field)) for field in row.__struct_fields__}


class ListsPart:
    """Histories by key, with the types of keys and values."""

    def __init__(self, lists: Lists[Any, Any], key: Any, value: Any) -> None:
        self._lists = lists
        self._types = key, value
        self._keys, self._values = Column(key), Column(value)

    @property
    def schema(self) -> str:
        """See Part."""
        return f"lists of {schema(self._types[0])}: {schema(self._types[1])}"

    def dump(self) -> Iterator[bytes]:
        """See Part."""
        yield from dump_lists(self._lists, self._keys, self._values)

    def read(self, chunks: Iterator[bytes]) -> Install:
        """See Part."""
        found = read_lists(chunks, self._keys, self._values.unpack)
        return lambda: self._lists.restore(found)

    def keeping(self) -> Keeping:
        """See Part."""
        return self._lists.keeping()

    def entries(self) -> Iterator[tuple[Any, dict[str, str]]]:
        """See Part."""
        for key in self._lists:
            history = self._lists.get(key)
            yield key, {str(number): repr(value) for number, value in enumerate(history, history.first)}


class DictPart:
    """A dictionary, in its order, with the types of keys and values."""

    def __init__(self, kept: dict[Any, Any], key: Any, value: Any) -> None:
        self._kept = kept
        self._types = key, value
        self._keys, self._values = Column(key), Column(value)

    @property
    def schema(self) -> str:
        """See Part."""
        return f"dict of {schema(self._types[0])}: {schema(self._types[1])}"

    def dump(self) -> Iterator[bytes]:
        """See Part."""
        keys, values = list(self._kept), list(self._kept.values())
        yield msgpack.encode((len(keys), self._keys.pack(keys), self._values.pack(values)))

    def read(self, chunks: Iterator[bytes]) -> Install:
        """See Part."""
        count, keys, values = decoded(tuple[int, bytes, bytes], next(chunks, b""))
        if count > len(keys):  # no two are equal
            raise Unreadable(f"{count} keys in {len(keys)} bytes")
        found = dict(zip(checked_read(self._keys.unpack, keys, count), checked_read(self._values.unpack, values, count), strict=True))
        if len(found) != count:
            raise Unreadable("a key stands there twice")

        def install() -> None:
            # In place, since listeners and undo records hold the dictionary itself.
            self._kept.clear()
            self._kept.update(found)

        return install

    def keeping(self) -> Keeping:
        """See Part."""
        kept = self._kept.copy()
        yield

        def put_back() -> None:
            self._kept.clear()
            self._kept.update(kept)

        return put_back

    def entries(self) -> Iterator[tuple[Any, dict[str, str]]]:
        """See Part."""
        return ((key, {"value": repr(value)}) for key, value in self._kept.items())


def tables(kept: Any, *names: str) -> dict[str, Part]:
    """Return the parts of the tables that an object has as attributes of these names; a name may lead through others, with dots.

    They are deferred where they are large.
    """
    return {name: TablePart(attrgetter(name)(kept), is_deferred=True) for name in names}


# ------------------------------------------------------------------ histories

Histories = dict[Any, tuple[int, list[Any]]]
"""The number of the oldest value kept, and the values, by key."""


def dump_lists(lists: Lists[Any, Any], keys: Column, column: Column) -> Iterator[bytes]:
    """Yield histories in chunks; `column` writes their values."""
    every = list(lists)
    yield msgpack.encode(len(every))
    for begin in range(0, len(every), ROWS_PER_CHUNK):
        piece = every[begin : begin + ROWS_PER_CHUNK]
        histories = [lists.get(key) for key in piece]
        values = [value for history in histories for value in history]
        firsts, sizes = [history.first for history in histories], [len(history) for history in histories]
        packed = column.pack(values)
        if len(packed) < len(values):
            packed = column.pack(values, is_plain=True)
        yield msgpack.encode((len(piece), len(values), keys.pack(piece), _IDS.pack(firsts), _IDS.pack(sizes), packed))


def read_lists(chunks: Iterator[bytes], keys: Column, unpack: Callable[[bytes, int], list[Any]]) -> Histories:
    """Return histories that `dump_lists` has written; `unpack` reads that many values. Raises Unreadable."""
    found: Histories = {}
    total, room = decoded(int, next(chunks, b"")), VALUES_FREE
    for chunk in chunks:
        count, size, packed_keys, packed_firsts, packed_sizes, packed = decoded(tuple[int, int, bytes, bytes, bytes, bytes], chunk)
        room += len(chunk) - size
        if count > len(packed_keys) or room < 0:
            raise Unreadable(f"{count} histories with {size} values in {len(chunk)} bytes")
        values = checked_read(unpack, packed, size)
        firsts, sizes = checked_read(_IDS.unpack, packed_firsts, count), checked_read(_IDS.unpack, packed_sizes, count)
        if any(number < 0 for number in (*firsts, *sizes)) or sum(sizes) != size:
            raise Unreadable("histories of other sizes than their values have")
        starts = accumulate(sizes, initial=0)
        for key, first, start, length in zip(checked_read(keys.unpack, packed_keys, count), firsts, starts, sizes, strict=False):
            found[key] = first, values[start : start + length]
    if len(found) != total or any(not first and not values for first, values in found.values()):
        raise Unreadable("a history is missing, empty, or there twice")
    return found


# ------------------------------------------------------------------ decoding

_IDS = Column(int)
_ORDERS = Annotated[list[list[int]], Meta(max_length=ORDERS_MAX)]


def decoded(kind: Any, data: bytes) -> Any:
    """Return a value of that type. Raises Unreadable."""
    return checked_read(lambda: msgpack.decode(data, type=kind))


def checked_read(read: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that decodes; whatever it finds wrong becomes Unreadable."""
    try:
        return read(*arguments)
    except (MsgspecError, TypeError, ValueError, OverflowError) as error:
        raise Unreadable(str(error)) from None
