"""Index from transaction id to position in the chain, about 32 bytes per transaction, with its snapshot part.

In a dict a transaction takes 160 bytes. Here its record is appended to one of 256 buckets, chosen by the first byte of its id. A linear
search finds it, which takes 20 µs with a million transactions and 2 ms with a hundred million. More buckets would make appending slower. A
client that generates transaction ids with the same first byte fills one bucket; a search then takes 5 ms per million of them.
"""

from collections.abc import Iterator
from struct import Struct as Layout
from typing import Any

from msgspec import msgpack

from state.protocol.transaction import ID_BYTES
from state.store.columns import CorruptData
from state.store.rows import Copying, replace_bytes
from state.store.serializers import Install, decoded

RECORD, POSITION_LAYOUT = Layout(f"<{ID_BYTES}sQ"), Layout("<Q")
RECORD_BYTES = RECORD.size
pack_position = POSITION_LAYOUT.pack  # bound once, since each transaction calls it
BUCKETS = 1 << 8  # for the first byte of an id
BUCKETS_PER_CHUNK = 16
MATCHES_MAX = 10_000  # occurrences of the first bytes of an id that a search reads, including those inside a record


class TransactionIndex:
    """The position (a number) of each transaction id, in order of arrival. Undoing a transaction removes the newest entry."""

    def __init__(self) -> None:
        self.buckets = [bytearray() for _ in range(BUCKETS)]

    def __len__(self) -> int:
        return sum(map(len, self.buckets)) // RECORD_BYTES

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        """Yield all ids with their positions, ordered by the first byte of the id."""
        for bucket in self.buckets:
            yield from RECORD.iter_unpack(bucket)

    def get(self, trx_id: bytes) -> int | None:
        """Return the position of an id, or None if the id is unknown."""
        if len(trx_id) != ID_BYTES:
            return None
        bucket = self._bucket(trx_id)
        at = bucket.find(trx_id)
        # A match can span two records.
        while at % RECORD_BYTES and at > 0:
            at = bucket.find(trx_id, at + 1)
        found: int | None = None if at < 0 else POSITION_LAYOUT.unpack_from(bucket, at + ID_BYTES)[0]
        return found

    def starting(self, prefix: bytes) -> Iterator[tuple[bytes, int]]:
        """Yield the ids that start with one or more bytes, oldest first, with their positions. A search stops after MATCHES_MAX matches."""
        bucket, at = self.buckets[prefix[0]], -1
        for _ in range(MATCHES_MAX):
            at = bucket.find(prefix, at + 1)
            if at < 0:
                return
            if at % RECORD_BYTES == 0:
                yield RECORD.unpack_from(bucket, at)

    def add(self, trx_id: bytes, position: int) -> None:
        """Add a new id with its position."""
        # `_bucket` is inlined, since each transaction calls this.
        self.buckets[trx_id[0]] += trx_id + pack_position(position)

    def add_all(self, ids: list[bytes], position: int) -> None:
        """Add new ids, all with the same position."""
        buckets, packed = self.buckets, pack_position(position)
        for trx_id in ids:
            buckets[trx_id[0]] += trx_id + packed

    def drop_last(self, trx_id: bytes) -> None:
        """Undo `add`: remove the newest id."""
        bucket = self._bucket(trx_id)
        assert bucket.endswith(trx_id, 0, len(bucket) - POSITION_LAYOUT.size), "only the newest id can be removed"
        del bucket[-RECORD_BYTES:]

    def drop_first(self, trx_id: bytes) -> None:
        """Drop the oldest id."""
        bucket = self._bucket(trx_id)
        assert bucket.startswith(trx_id), "only the oldest id can be dropped"
        del bucket[:RECORD_BYTES]

    def put_first(self, trx_id: bytes, position: int) -> None:
        """Undo `drop_first`: restore an id as the oldest."""
        self._bucket(trx_id)[:0] = trx_id + pack_position(position)

    def _bucket(self, trx_id: bytes) -> bytearray:
        return self.buckets[trx_id[0]]


class TransactionIndexPart:
    """Snapshot part that contains the positions of all transactions."""

    schema = "places of transactions by the first byte of their ids"

    def __init__(self, index: TransactionIndex) -> None:
        self._index = index

    def dump(self) -> Iterator[bytes]:
        """Implement `SnapshotPart.dump`."""
        buckets = self._index.buckets
        for begin in range(0, BUCKETS, BUCKETS_PER_CHUNK):
            some = buckets[begin : begin + BUCKETS_PER_CHUNK]
            yield msgpack.encode((list(map(len, some)), b"".join(some)))

    def read(self, chunks: Iterator[bytes]) -> Install:
        """Implement `SnapshotPart.read`."""
        buckets: list[bytes] = []
        for chunk in chunks:
            sizes, data = decoded(tuple[list[int], bytes], chunk)
            if sum(sizes) != len(data) or any(size < 0 or size % RECORD_BYTES for size in sizes):
                raise CorruptData("transaction positions of an invalid size")
            end = 0
            for size in sizes:
                buckets.append(data[end : end + size])
                end += size
        if len(buckets) != BUCKETS:
            raise CorruptData("too few or too many buckets of transaction positions")
        return lambda: self._put(buckets)

    def copying(self) -> Copying:
        """Implement `SnapshotPart.copying`."""
        copies = []
        for bucket in self._index.buckets:
            copies.append(bytes(bucket))
            yield
        return lambda: self._put(copies)

    def entries(self) -> Iterator[tuple[Any, dict[str, str]]]:
        """Implement `SnapshotPart.entries`."""
        return ((trx_id, {"value": str(position)}) for trx_id, position in self._index)

    def _put(self, buckets: list[bytes]) -> None:
        """Replace the contents of the buckets. The list of buckets remains the same object."""
        for bucket, data in zip(self._index.buckets, buckets, strict=True):
            replace_bytes(bucket, data)
