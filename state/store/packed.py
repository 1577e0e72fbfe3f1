"""`Packed`, which keeps settled rows of a table as bytes instead of objects.

A row that rules will rarely touch again takes 100 to 200 bytes as MessagePack, and 1,000 as an object with entries in indices. A **hot
row** is an object in the table's dict. A **packed row** is in a chunk: the rows of 64 consecutive ids in one bytes object. The table
unpacks a row (6 µs) when a rule gets it. From then on, the row is hot and stays the same object until it's packed again. A query gets an
object of its own, so that queries don't fill the memory.

Rows wait in a queue from the time they settle or are unpacked. When too many wait, the oldest are packed. A row is packed only if nothing
refers to its object except the table: neither the journal, nor a copy of the state, nor a function that is running. The reference count
shows this without a search.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from itertools import accumulate, islice, pairwise, product, repeat
from sys import getrefcount
from typing import Any, Generic, TypeVar

from msgspec import MsgspecError, msgpack

from state.protocol.errors import NotUnique
from state.protocol.values.integers import UINT32_MAX
from state.store.columns import CorruptData
from state.store.grouped import GroupedIdsIndex
from state.store.keys import Where, test_function
from state.store.lazy.incremental import ReadMode
from state.store.packed_keys import LoadedKeys, PackedKeys
from state.store.row_codec import POSITIONS, SPAN, LoadedChunk, RowCodec
from state.store.rows import SPARSE_SHARE, Restore, Row
from state.store.slots import MASK, SHIFT, SLOTS
from state.store.unique import RESTORE_CLASH, UniqueIndex

RowT = TypeVar("RowT", bound=Row)

# Settled rows that stay hot. Most rows that rules touch again were touched a short time ago.
HOT_ROWS = 20_000
# Rows packed per block (4 to 6 µs each), and the share of the excess that is packed in addition.
PACKED_AT_ONCE, EXCESS_SHARE = 200, 512
ALL_SLOTS = (1 << SLOTS) - 1  # the mask of a chunk of packed rows only
# For each slot, all positions as one integer, in which those after the slot are 1 and the others 0.
AFTER = [int.from_bytes(POSITIONS.pack(*[int(n > slot) for n in range(SLOTS + 1)]), "little") for slot in range(SLOTS)]
CHUNKS_PER_MESSAGE = 64  # of a dump, so that loading a message takes some 10 ms

_SAMPLE = {0: Row()}
ALONE = getrefcount(_SAMPLE.get(0))  # the reference count of a row that is only in a dict
_MESSAGE = msgpack.Decoder(list[tuple[int, int, bytes]])


class Packed:
    """Declaration that a table packs its rows; with `where=(function, "field", ...)`, only those for which the function is true.

    An ordered index of such a table that isn't lazy must exclude these rows.
    """

    def __init__(self, *, where: Where | None = None) -> None:
        self.fields: tuple[str, ...] = where[1:] if where else ()
        self.is_settled = test_function(where)


class HotRows(dict[Any, RowT]):
    """Hot rows by id or key. Reading the item of a packed row makes the row hot with `find`, and that of a missing row returns None."""

    __slots__ = ("_find", "_packed")

    def __init__(self, find: Callable[[Any], RowT | None], packed: "PackedRows[RowT]") -> None:
        super().__init__()
        self._find, self._packed = find, packed

    def __missing__(self, key: Any) -> RowT | None:
        # No call where no rows are packed, because most insertions look up a key that is missing.
        return self._find(key) if self._packed.count else None


class HotKeys(HotRows[RowT]):
    """Hot rows by key. Whether a key is free also depends on the packed rows."""

    __slots__ = ()

    def __contains__(self, key: object) -> bool:
        return self[key] is not None

    def setdefault(self, key: Any, row: RowT) -> RowT:
        """Return the row with this key. If there is none, add `row` and return it."""
        found = self[key] if self._packed.count else self.get(key)
        if found is None:
            self[key] = found = row
        return found


class PackedUniqueIndex(UniqueIndex[RowT]):
    """Unique index of a table that packs rows. `by_key` has the hot rows, and `ids` the packed ones."""

    def __init__(self, fields: tuple[str, ...], packed: "PackedRows[RowT]") -> None:
        self.ids, self.fields = PackedKeys(), fields
        self._packed = packed
        super().__init__(fields, HotKeys(self._find, packed))
        packed.keys.append(self)

    def peek(self, *key: Any) -> RowT | None:
        """Return the row with this key for reading at once, or None. No row becomes hot."""
        entry = key if len(key) > 1 else key[0]
        row = self.by_key.get(entry)
        return self._peek(entry) if row is None else row

    def has(self, key: Any) -> bool:
        """Whether there is a hot or packed row with this key. No row becomes hot."""
        return self.by_key.get(key) is not None or self._peek(key) is not None

    def _peek(self, key: Any) -> RowT | None:
        if not self._packed.count:  # as on most chains
            return None
        for row_id in self.ids.ids(key):
            row = self._packed.peek(row_id)
            if row is not None and self.entry(row) == key:
                return row
        return None

    def _find(self, key: Any) -> RowT | None:
        row = self._peek(key)
        return None if row is None else self._packed.make_hot(row)


class PackedRows(Generic[RowT]):
    """The packed rows of a table, and the queue of rows to pack. The table updates it like an index of the settled rows."""

    def __init__(self, declared: Packed, row: type[RowT], special: Callable[[], dict[str, Any]], read_mode: ReadMode) -> None:
        self.fields, self.entry = declared.fields, declared.is_settled
        self.hot: HotRows[RowT] = HotRows(self._find, self)
        self.keys: list[PackedUniqueIndex[RowT]] = []
        self.count = 0
        # By the number of the chunk. Bit n of a mask is set if row n of the chunk is packed. The bytes of a row that was unpacked remain
        # until the chunk changes. Chunks never change, so copies of the state share them.
        self._chunks: dict[int, bytes] = {}
        self._masks: dict[int, int] = {}
        # The ids of the hot rows that are settled, oldest first. An id can be outdated or twice in the queue.
        self._queue: deque[int] = deque()
        self._read_mode = read_mode
        self._row, self._special = row, special

    @cached_property
    def _codec(self) -> RowCodec[RowT]:
        return RowCodec(self._row, self._special(), [field for index in self.keys for field in index.fields])

    @property
    def size(self) -> int:
        """The number of bytes of all chunks."""
        return sum(map(len, self._chunks.values()))

    # -------------------------------------------------------------- reading

    def peek(self, row_id: int) -> RowT | None:
        """Return a new object with the values of a packed row, or None if no packed row has this id."""
        chunk, slot = row_id >> SHIFT, row_id & MASK
        if not self._masks.get(chunk, 0) >> slot & 1:
            return None
        data = self._chunks[chunk]
        begin, end = SPAN.unpack_from(data, 4 * slot)
        return self._codec.unpack(data[begin:end], row_id)

    def make_hot(self, row: RowT) -> RowT:
        """Make a row hot that was just unpacked, unless a query reads it. Return the row."""
        if self._read_mode.is_incremental:
            return row
        row_id = row.id
        chunk = row_id >> SHIFT
        mask = self._masks[chunk] & ~(1 << (row_id & MASK))
        if mask:
            self._masks[chunk] = mask
        else:
            del self._masks[chunk], self._chunks[chunk]
        self.count -= 1
        for index in self.keys:
            key = index.entry(row)
            index.ids.remove(key, row_id)
            index.by_key[key] = row
        self.hot[row_id] = row
        self._queue.append(row_id)
        return row

    def rows_between(self, begin: int, end: int) -> Iterator[RowT]:
        """Yield all rows with ids from `begin` to below `end`, packed and hot, in ascending order. See `Table.rows_between`."""
        hot, chunks = self.hot, self._chunks
        first, last = begin >> SHIFT, (end + MASK) >> SHIFT
        numbers: Iterable[int] = range(first, last)
        if last - first > len(chunks) + len(hot) * SPARSE_SHARE // SLOTS:
            numbers = sorted({*(number for number in (*chunks, *(row_id >> SHIFT for row_id in hot)) if first <= number < last)})
        for number in numbers:
            rows = self._unpacked(number) if number in chunks else []
            if len(rows) == SLOTS and begin <= number << SHIFT and (number + 1) << SHIFT <= end:
                for row in rows:
                    yield hot.get(row.id, row)  # a row can become hot meanwhile
                continue
            unpacked = {row.id: row for row in rows}
            for row_id in range(max(begin, number << SHIFT), min(end, (number + 1) << SHIFT)):
                found = hot.get(row_id) or unpacked.get(row_id)
                if found is not None:
                    yield found

    def _unpacked(self, number: int) -> list[RowT]:
        """Return new objects with the values of the packed rows of a chunk."""
        data, mask, begin = self._chunks[number], self._masks[number], number << SHIFT
        if mask == ALL_SLOTS:
            return self._codec.unpack_all(data[POSITIONS.size :], range(begin, begin + SLOTS))
        positions = POSITIONS.unpack_from(data)
        ids = [begin + slot for slot in range(SLOTS) if positions[slot] < positions[slot + 1]]
        return [row for row in self._codec.unpack_all(data[POSITIONS.size :], ids) if mask >> (row.id & MASK) & 1]

    def _find(self, row_id: int) -> RowT | None:
        row = self.peek(row_id)
        return None if row is None else self.make_hot(row)

    # -------------------------------------------------------------- packing

    def pack_some(self) -> None:
        """Pack some of the oldest settled rows if more than HOT_ROWS wait. Call it at each block."""
        excess = len(self._queue) - HOT_ROWS
        if excess > 0:
            self.pack(min(excess, PACKED_AT_ONCE + excess // EXCESS_SHARE))

    def pack(self, count: int) -> None:
        """Pack the oldest `count` rows that wait. Rows to which something refers wait again."""
        hot, queue, is_settled, pack, alone = self.hot, self._queue, self.entry, self._codec.pack, ALONE + len(self.keys)
        chunks: dict[int, list[tuple[int, bytes]]] = {}
        for _ in range(count):
            row_id = queue.popleft()
            if row_id not in hot:
                continue
            if getrefcount(hot.get(row_id)) > alone:
                queue.append(row_id)
                continue
            row = hot[row_id]
            packed = pack(row) if is_settled(row) and row_id <= UINT32_MAX else None
            if packed is None:
                continue
            chunks.setdefault(row_id >> SHIFT, []).append((row_id & MASK, packed))
            for index in self.keys:
                key = index.entry(row)
                del index.by_key[key]
                index.ids.add(key, row_id)
            del hot[row_id]
            self.count += 1
        for number, rows in chunks.items():
            self._add_to_chunk(number, rows)

    def _add_to_chunk(self, number: int, rows: list[tuple[int, bytes]]) -> None:
        """Add packed rows, given with their places, to a chunk. If there are several, drop the bytes of the rows that were unpacked."""
        mask, data = self._masks.get(number, 0), self._chunks.get(number, b"")
        if mask and len(rows) == 1:
            self._chunks[number], self._masks[number] = replaced(data, *rows[0]), mask | 1 << rows[0][0]
            return
        parts = [b""] * SLOTS
        if mask:
            positions = POSITIONS.unpack_from(data)
            for slot in range(SLOTS):
                if mask >> slot & 1:
                    parts[slot] = data[positions[slot] : positions[slot + 1]]
        for slot, packed in rows:
            parts[slot] = packed
            mask |= 1 << slot
        self._chunks[number] = POSITIONS.pack(*accumulate(map(len, parts), initial=POSITIONS.size)) + b"".join(parts)
        self._masks[number] = mask

    # -------------------------------------------------------------- snapshots

    def dump(self) -> Iterator[bytes]:
        """Yield the chunks, some per message."""
        chunks = iter(sorted(self._chunks.items()))
        while some := list(islice(chunks, CHUNKS_PER_MESSAGE)):
            yield msgpack.encode([(number, self._masks[number], data) for number, data in some])

    def loading(
        self, messages: Iterator[bytes], count: int, next_id: int, indices: Iterable[Any], unchecked: list[LoadedChunk] | None = None
    ) -> Iterator[None]:
        """Add the dumped chunks of `count` rows, after the hot rows were restored, by one message per step. The eager `indices` of the
        table must exclude the rows. Raises CorruptData or NotUnique.

        With the list `unchecked`, only the keys of the rows are decoded, and the chunks are added to the list, for `checking`.
        """
        grouped = [index for index in indices if isinstance(index, GroupedIdsIndex)]
        limit, loads = min(next_id, UINT32_MAX + 1), [LoadedKeys() for _ in self.keys]
        for message in messages:
            try:
                for loaded in map(self._put_chunk, _MESSAGE.decode(message), repeat(limit)):
                    if unchecked is None or grouped:
                        rows = self._checked(loaded, indices)
                        for row, index in product(rows, grouped):
                            index.insert(row)
                    else:
                        rows = self._codec.unpack_keys(loaded)
                        unchecked.append(loaded)
                    self._add_keys(rows, loaded.ids, loads)
            except (MsgspecError, UnicodeDecodeError) as error:
                raise CorruptData(str(error)) from None
            yield
        if self.count != count:
            raise CorruptData(f"{self.count} packed rows instead of {count}")
        for unique, keys in zip(self.keys, loads, strict=True):
            yield from keys.installing(unique.ids, partial(self._key_of, unique))

    def checking(self, chunks: list[LoadedChunk], indices: Iterable[Any]) -> Iterator[None]:
        """Check rows of which `loading` has decoded only the keys, in steps. Raises CorruptData."""
        for place, loaded in enumerate(chunks, 1):
            try:
                self._checked(loaded, indices)
            except (MsgspecError, UnicodeDecodeError) as error:
                raise CorruptData(str(error)) from None
            if place % CHUNKS_PER_MESSAGE == 0:
                yield

    def _put_chunk(self, chunk: tuple[int, int, bytes], limit: int) -> LoadedChunk:
        """Add a chunk, after checks for which no row is decoded."""
        number, mask, data = chunk
        positions = POSITIONS.unpack_from(data) if len(data) >= POSITIONS.size else ()
        if not positions or (positions[0], positions[-1]) != (POSITIONS.size, len(data)) or list(positions) != sorted(positions):
            raise CorruptData(f"chunk {number} of rows is damaged")
        if number < 0 or number in self._chunks or not 0 < mask < 1 << SLOTS:
            raise CorruptData(f"chunk {number} of rows is there twice, empty, or too large")
        slots = [slot for slot, (begin, end) in enumerate(pairwise(positions)) if begin < end]
        live = [slot for slot in slots if mask >> slot & 1]
        ids = [(number << SHIFT) + slot for slot in live]
        if len(live) != mask.bit_count() or ids[-1] >= limit or not self.hot.keys().isdisjoint(ids):
            raise CorruptData(f"a row of chunk {number} is missing, or can't be packed")
        self._chunks[number], self._masks[number] = data, mask
        self.count += len(ids)
        return LoadedChunk(
            number, data, [positions[slot] for slot in slots], ids, None if live == slots else [slot in live for slot in slots]
        )

    def _checked(self, loaded: LoadedChunk, indices: Iterable[Any]) -> list[RowT]:
        """Decode the packed rows of a chunk, and check that the table packs them."""
        rows = self._codec.checked(loaded)
        if self.fields and not all(map(self.entry, rows)):
            raise CorruptData(f"a row of chunk {loaded.number} can't be packed")
        for index in indices:
            if index is not self and not isinstance(index, GroupedIdsIndex) and list(map(index.entry, rows)).count(None) != len(rows):
                raise CorruptData(f"a row of chunk {loaded.number} is in an index that excludes packed rows")
        return rows

    def _key_of(self, index: PackedUniqueIndex[RowT], row_id: int) -> Any:
        try:
            row = self.peek(row_id)
        except (MsgspecError, UnicodeDecodeError) as error:
            raise CorruptData(str(error)) from None
        return index.entry(row)

    def _add_keys(self, rows: list[Any], ids: list[int], loads: list[LoadedKeys]) -> None:
        for index, loaded in zip(self.keys, loads, strict=True):
            keys = list(map(index.entry, rows))
            if not index.by_key.keys().isdisjoint(keys):
                raise NotUnique(RESTORE_CLASH)
            loaded.add(keys, ids)

    # -------------------------------------------------------------- as an index of the settled rows

    def insert(self, row: RowT) -> None:
        """Put a row into the queue if it's settled. Only the table calls this."""
        if self.entry(row):
            self._queue.append(row.id)

    def remove(self, row: RowT) -> None:
        """Do nothing: the id in the queue is outdated. Only the table calls this."""

    def update(self, old: object, new: object, row: RowT) -> None:
        """Put a row into the queue if it has become settled. Only the table calls this."""
        if new:
            self._queue.append(row.id)

    def restore(self, rows: dict[int, RowT], ids: list[int] | None = None) -> None:
        """Queue the settled ones of the rows that replace all others. Only the table calls this."""
        self._queue = deque([row.id for row in rows.values() if self.entry(row)])

    def clear(self) -> None:
        """Remove all packed rows. Only the table calls this."""
        self._chunks.clear()
        self._masks.clear()
        self._queue.clear()
        self.count = 0
        for index in self.keys:
            index.ids.clear()

    def copy(self) -> Restore:
        """Copy the packed rows and the queue, and return a function that restores the copy. Only the table calls this."""
        chunks, masks, queue, count = self._chunks.copy(), self._masks.copy(), self._queue.copy(), self.count
        keys = [index.ids.copy() for index in self.keys]

        def put_back() -> None:
            self._chunks, self._masks, self._queue, self.count = chunks.copy(), masks.copy(), queue.copy(), count
            for restore in keys:
                restore()

        return put_back

    def check(self, rows: dict[int, RowT]) -> None:
        """Verify that no row is both hot and packed, that all are settled and under their keys, and the queue; for tests."""
        packed = {row.id: row for number in self._chunks for row in self._unpacked(number)}
        assert self._chunks.keys() == self._masks.keys(), "a chunk without a mask"
        assert len(packed) == self.count == sum(mask.bit_count() for mask in self._masks.values()), "the number of packed rows is wrong"
        assert not packed.keys() & self.hot.keys(), "a row is both hot and packed"
        assert all(map(self.entry, packed.values())), "a packed row isn't settled"
        for index in self.keys:
            assert sorted(index.ids) == sorted(packed), "keys of packed rows are missing or extra"
            assert all(row_id in index.ids.ids(index.entry(row)) for row_id, row in packed.items()), "a packed row isn't under its key"


def replaced(chunk: bytes, slot: int, packed: bytes) -> bytes:
    """Return a chunk with the bytes of one row replaced."""
    begin, end = SPAN.unpack_from(chunk, 4 * slot)
    if chunk[begin:end] == packed:  # as for a row that was only read
        return chunk
    positions = chunk[: POSITIONS.size]
    if growth := len(packed) - (end - begin):
        # All positions are changed by one addition, which takes a tenth of the time of a loop.
        positions = (int.from_bytes(positions, "little") + growth * AFTER[slot]).to_bytes(POSITIONS.size, "little")
    return b"".join((positions, chunk[POSITIONS.size : begin], packed, chunk[end:]))
