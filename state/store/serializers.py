"""Serializers for the parts of a snapshot: tables, lists and dictionaries.

A part is written in chunks, so that the writer of a file needs the memory of only one chunk. Reading has two steps: `read` decodes and
checks all data without changing anything, and the function that it returns installs the data. Errors are therefore raised before anything
has changed. Only large tables that load in the background decode their rows later.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import accumulate, chain, islice
from operator import attrgetter
from struct import Struct as Layout
from typing import Annotated, Any, Protocol

from msgspec import Meta, MsgspecError, msgpack

from state.store.columns import Column, CorruptData, Special, Structs, schema
from state.store.lazy.background_load import BackgroundLoad
from state.store.lists import AppendLists
from state.store.row_codec import LoadedChunk
from state.store.rows import Copying
from state.store.table import Table

ROWS_PER_CHUNK = 10_000
ROWS_PER_CHUNK_MAX = 100_000  # accepted when reading
ORDERS_MAX = 64  # per table
# A constant column states its length in a few bytes. The lists of a part can together contain at most this many more values than bytes.
VALUES_FREE = 100_000
RECORDS_BETWEEN_PAUSES = 10_000

RowChunk = tuple[list[Any], list[int]]
"""Rows and their ids."""
Install = Callable[[], BackgroundLoad | None]
"""Installs the data that was read. Returns the background load of the rest, if any."""


class SnapshotPart(Protocol):
    """Serializer of one table or container that belongs to a state or a plugin."""

    @property
    def schema(self) -> str:
        """Description of the data types. Parts with equal schemas can read each other's bytes."""

    def dump(self) -> Iterator[bytes]:
        """Yield the encoded content in chunks."""

    def read(self, chunks: Iterator[bytes]) -> Install:
        """Decode dumped chunks. Return a function that puts the decoded content into the table or container. Raises CorruptData."""

    def copying(self) -> Copying:
        """Copy the content in memory, in steps. Return a function that restores it in place and can be called any number of times."""

    def entries(self) -> Iterator[tuple[Any, dict[str, str]]]:
        """Yield the content as text, for comparison: each key with the fields of its value."""


class TablePart:
    """Serializer for a table: its rows and the next id. `special` contains the actual types of the fields declared as Any.

    With `is_deferred`, a table of more than one chunk loads in the background after it is installed.
    """

    def __init__(self, table: Table[Any], special: Special | None = None, *, is_deferred: bool = False) -> None:
        self._table, self._is_deferred = table, is_deferred
        self._special = special

    @cached_property
    def _structs(self) -> Structs:
        # Created on use, since copies in memory need no codec.
        return Structs(self._table.ROW, self._special, without=("id",))

    @property
    def schema(self) -> str:
        """Implement `SnapshotPart.schema`."""
        return schema(self._table.ROW, self._special)

    def dump(self) -> Iterator[bytes]:
        """Implement `SnapshotPart.dump`."""
        return chain.from_iterable(self.pieces())

    def pieces(self) -> Iterator[Iterator[bytes]]:
        """Yield iterators whose chunks are those of `dump`. Each touches few rows, and only when its chunks are read."""
        packing = self._table.packing  # a table that is still loading is loaded now
        ids = sorted(self._table.raw_attributes()["_rows"])
        yield self._dump_head(len(ids))
        for begin in range(0, len(ids), ROWS_PER_CHUNK):
            yield self.dump_rows(map(self._table.peek, ids[begin : begin + ROWS_PER_CHUNK]))
        if packing is not None:
            yield packing.dump()

    def _dump_head(self, rows: int) -> Iterator[bytes]:
        table, packing = self._table, self._table.packing
        packed = packing.count if packing is not None else 0
        yield msgpack.encode((table.next_id, rows, *([packed] if packed else ())))
        yield msgpack.encode(table.orders())

    def dump_rows(self, rows: Iterable[Any]) -> Iterator[bytes]:
        """Yield the encoded rows in chunks."""
        following = iter(rows)
        while piece := list(islice(following, ROWS_PER_CHUNK)):
            yield msgpack.encode((_IDS.pack([row.id for row in piece]), len(piece), self._structs.pack(piece)))

    def read(self, chunks: Iterator[bytes]) -> Install:
        """Implement `SnapshotPart.read`. A table that loads in the background decodes its rows after the installation, and every other
        table its packed rows.
        """
        head: list[int] = decoded(_HEAD, next(chunks, b""))
        next_id, count, packed_count = head[0], head[1], head[2] if len(head) > 2 else 0
        orders = decoded(_ORDERS, next(chunks, b""))
        table = self._table
        if packed_count and table.raw_attributes()["packing"] is None:
            raise CorruptData("packed rows in a table that packs none")

        # What a table that is needed at once must not wait for: checks of all its packed rows.
        unchecked: list[LoadedChunk] | None = None if self._is_deferred else []

        def restoring(rows: Iterable[RowChunk], packed: Iterator[bytes]) -> Iterator[None]:
            """Restore the hot rows, then the packed ones, which are not decoded before."""
            yield from table.restoring(rows, next_id, orders)
            own = table.raw_attributes()
            if packed_count:
                yield from own["packing"].loading(packed, packed_count, next_id, own["_orders"], unchecked)

        rows = self._rows(chunks, next_id, count, is_followed=bool(packed_count))
        install = self._install(rows, chunks, count + packed_count, restoring)
        if unchecked is None or not packed_count:
            return install

        def install_unchecked() -> BackgroundLoad:
            install()
            own = table.raw_attributes()
            return BackgroundLoad((), own["packing"].checking(unchecked, own["_orders"]), table.journal.read_mode)

        return install_unchecked

    def _install(
        self,
        rows: Iterator[RowChunk],
        chunks: Iterator[bytes],
        count: int,
        restoring: Callable[[Iterable[RowChunk], Iterator[bytes]], Iterator[None]],
    ) -> Install:
        """Return the function that restores `count` rows by the steps of `restoring`, given the decoded rows and the remaining chunks."""
        table = self._table
        if self._is_deferred and count > ROWS_PER_CHUNK:
            return lambda: BackgroundLoad((table,), restoring(rows, chunks), table.journal.read_mode)
        decoded_rows, others = list(rows), iter(list(chunks))

        def install() -> None:
            table.restore_attributes()
            for _ in restoring(decoded_rows, others):
                table.journal.on_undone()

        return install

    def _rows(
        self, chunks: Iterator[bytes], next_id: int, count: int, *, is_followed: bool = False
    ) -> Iterator[tuple[list[Any], list[int]]]:
        """Yield the rows and ids of each chunk, of all chunks unless they are followed by others. Raises CorruptData."""
        total, last = 0, -1
        while total < count or not is_followed:
            chunk = next(chunks, None)
            if chunk is None:
                break
            packed_ids, size, packed = decoded(tuple[bytes, int, bytes], chunk)
            if size > min(ROWS_PER_CHUNK_MAX, len(packed_ids)):  # Ids are distinct, so each takes at least a byte.
                raise CorruptData(f"{size} rows in one chunk")
            ids, rows = checked_read(_IDS.unpack, packed_ids, size), checked_read(self._structs.unpack, packed, size)
            if [last, *ids] != sorted({last, *ids}) or max(ids, default=-1) >= next_id:
                raise CorruptData("the ids of rows are out of order")
            for row, row_id in zip(rows, ids, strict=True):
                row.id = row_id
            total, last = total + size, max(ids, default=last)
            yield rows, ids
        if total != count:
            raise CorruptData(f"{total} rows instead of {count}")

    def copying(self) -> Copying:
        """Implement `SnapshotPart.copying`."""
        return self._table.copying()

    def entries(self) -> Iterator[tuple[Any, dict[str, str]]]:
        """Implement `SnapshotPart.entries`."""
        yield "next id", {"value": str(self._table.next_id)}
        for row in self._table.scan():
            yield row.id, {field: repr(getattr(row, field)) for field in row.__struct_fields__}


class ListsPart:
    """Serializer of an `AppendLists` whose keys and values have the given types."""

    def __init__(self, lists: AppendLists[Any, Any], key: Any, value: Any) -> None:
        self._lists = lists
        self._types = key, value
        self._keys, self._values = Column(key), Column(value)

    @property
    def schema(self) -> str:
        """Implement `SnapshotPart.schema`."""
        return f"lists of {schema(self._types[0])}: {schema(self._types[1])}"

    def dump(self) -> Iterator[bytes]:
        """Implement `SnapshotPart.dump`."""
        yield from dump_lists(self._lists, self._keys, self._values)

    def read(self, chunks: Iterator[bytes]) -> Install:
        """Implement `SnapshotPart.read`."""
        found = read_lists(chunks, self._keys, self._values.unpack, self._lists.values_of)
        return lambda: self._lists.restore(found)

    def copying(self) -> Copying:
        """Implement `SnapshotPart.copying`."""
        return self._lists.copying()

    def entries(self) -> Iterator[tuple[Any, dict[str, str]]]:
        """Implement `SnapshotPart.entries`."""
        for key in self._lists:
            history = self._lists.get(key)
            yield key, {str(number): repr(value) for number, value in enumerate(history, history.first)}


class DictPart:
    """Serializer of a dictionary whose keys and values have the given types. Preserves the dictionary's order."""

    def __init__(self, kept: dict[Any, Any], key: Any, value: Any) -> None:
        self._kept = kept
        self._types = key, value
        self._keys, self._values = Column(key), Column(value)

    @property
    def schema(self) -> str:
        """Implement `SnapshotPart.schema`."""
        return f"dict of {schema(self._types[0])}: {schema(self._types[1])}"

    def dump(self) -> Iterator[bytes]:
        """Implement `SnapshotPart.dump`."""
        keys, values = list(self._kept), list(self._kept.values())
        yield msgpack.encode((len(keys), self._keys.pack(keys), self._values.pack(values)))

    def read(self, chunks: Iterator[bytes]) -> Install:
        """Implement `SnapshotPart.read`."""
        count, keys, values = decoded(tuple[int, bytes, bytes], next(chunks, b""))
        if count > len(keys):  # Keys are distinct, so each takes at least a byte.
            raise CorruptData(f"{count} keys in {len(keys)} bytes")
        found = dict(zip(checked_read(self._keys.unpack, keys, count), checked_read(self._values.unpack, values, count), strict=True))
        if len(found) != count:
            raise CorruptData("a duplicate key")

        def install() -> None:
            # Changed in place, because listeners and undo records refer to the dictionary itself.
            self._kept.clear()
            self._kept.update(found)

        return install

    def copying(self) -> Copying:
        """Implement `SnapshotPart.copying`."""
        kept = self._kept.copy()
        yield

        def put_back() -> None:
            self._kept.clear()
            self._kept.update(kept)

        return put_back

    def entries(self) -> Iterator[tuple[Any, dict[str, str]]]:
        """Implement `SnapshotPart.entries`."""
        return ((key, {"value": repr(value)}) for key, value in self._kept.items())


def tables(kept: Any, *names: str) -> dict[str, SnapshotPart]:
    """Return the parts of tables that are attributes of `kept`. A name can be a dotted path. Large tables load in the background."""
    return {name: TablePart(attrgetter(name)(kept), is_deferred=True) for name in names}


def pieces_of(part: SnapshotPart) -> list[Iterator[bytes]]:
    """Return iterators that together yield the chunks of a part. A part with the method `pieces` can be encoded in several processes."""
    pieces: Callable[[], Iterator[Iterator[bytes]]] | None = getattr(part, "pieces", None)
    return [part.dump()] if pieces is None else list(pieces())


# ------------------------------------------------------------------ append-only lists

Histories = dict[Any, tuple[int, Any]]
"""The number of the oldest retained value, and the values, by key."""


def dump_lists(lists: AppendLists[Any, Any], keys: Column, column: Column) -> Iterator[bytes]:
    """Yield the encoded lists in chunks. `column` encodes the values of the lists."""
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


def read_lists(
    chunks: Iterator[bytes], keys: Column, unpack: Callable[[bytes, int], list[Any]], values_of: Callable[[list[Any]], Any]
) -> Histories:
    """Decode lists that `dump_lists` has written. `unpack` decodes a given number of values, and `values_of` converts those of a list.
    Raises CorruptData.
    """
    found: Histories = {}
    total, room = decoded(int, next(chunks, b"")), VALUES_FREE
    for chunk in chunks:
        count, size, packed_keys, packed_firsts, packed_sizes, packed = decoded(tuple[int, int, bytes, bytes, bytes, bytes], chunk)
        room += len(chunk) - size
        if count > len(packed_keys) or room < 0:
            raise CorruptData(f"{count} lists with {size} values in {len(chunk)} bytes")
        values = checked_read(unpack, packed, size)
        firsts, sizes = checked_read(_IDS.unpack, packed_firsts, count), checked_read(_IDS.unpack, packed_sizes, count)
        if any(number < 0 for number in (*firsts, *sizes)) or sum(sizes) != size:
            raise CorruptData("the sizes of lists don't add up to the number of values")
        starts = accumulate(sizes, initial=0)
        for key, first, start, length in zip(checked_read(keys.unpack, packed_keys, count), firsts, starts, sizes, strict=False):
            found[key] = first, checked_read(values_of, values[start : start + length])
    if len(found) != total or any(not first and not values for first, values in found.values()):
        raise CorruptData("a list is missing, empty, or duplicated")
    return found


# ------------------------------------------------------------------ decoding

_IDS = Column(int)
_HEAD = Annotated[list[int], Meta(min_length=2, max_length=3)]
_ORDERS = Annotated[list[list[int]], Meta(max_length=ORDERS_MAX)]


def decoded(kind: Any, data: bytes) -> Any:
    """Decode a value of type `kind` from MessagePack. Raises CorruptData."""
    return checked_read(lambda: msgpack.decode(data, type=kind))


def records_of(data: bytes | bytearray, layout: Layout, pause: Callable[[], None]) -> Iterator[tuple[Any, ...]]:
    """Yield the records of this layout in `data`, whose size fits. Calls `pause` after every RECORDS_BETWEEN_PAUSES records."""
    size = RECORDS_BETWEEN_PAUSES * layout.size
    for begin in range(0, len(data), size):
        yield from layout.iter_unpack(data[begin : begin + size])
        pause()


def checked_read(read: Callable[..., Any], *arguments: Any) -> Any:
    """Call a decoding function and convert its errors to CorruptData."""
    try:
        return read(*arguments)
    except (MsgspecError, TypeError, ValueError, OverflowError) as error:
        raise CorruptData(str(error)) from None
