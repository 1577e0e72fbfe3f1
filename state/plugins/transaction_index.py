"""Index from transaction id to position in the chain, about 32 bytes per transaction, with its snapshot part.

In a dict a transaction takes 160 bytes. Here its record is appended to one of 256 pieces, chosen by the first byte of its id, and found
by a linear search: 20 µs with a million transactions, 2 ms with a hundred million. More pieces would make appending slower. A client
that grinds transaction ids with one first byte fills one piece; a search then takes 5 ms per million of them.
"""

from collections.abc import Iterator
from struct import Struct as Layout
from typing import Any

from msgspec import msgpack

from state.protocol.transaction import ID_BYTES
from state.store.columns import CorruptData
from state.store.rows import Copying
from state.store.serializers import Install, decoded

RECORD, POSITION = Layout(f"<{ID_BYTES}sQ"), Layout("<Q")
RECORD_BYTES = RECORD.size
POSITION_OF = POSITION.pack  # bound once, since each transaction calls it
PIECES = 1 << 8  # for the first byte of an id
PIECES_PER_CHUNK = 16


class TransactionIndex:
    """Number of each transaction id, in order of arrival. Undo removes the newest entry."""

    def __init__(self) -> None:
        self.pieces = [bytearray() for _ in range(PIECES)]

    def __len__(self) -> int:
        return sum(map(len, self.pieces)) // RECORD_BYTES

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        """Yield all ids with their numbers, ordered by the first byte of the id."""
        for piece in self.pieces:
            yield from RECORD.iter_unpack(piece)

    def get(self, trx_id: bytes) -> int | None:
        """Return the number of an id, or None if it is unknown."""
        if len(trx_id) != ID_BYTES:
            return None
        piece = self._piece(trx_id)
        at = piece.find(trx_id)
        # A match can span two records.
        while at % RECORD_BYTES and at > 0:
            at = piece.find(trx_id, at + 1)
        found: int | None = None if at < 0 else POSITION.unpack_from(piece, at + ID_BYTES)[0]
        return found

    def add(self, trx_id: bytes, place: int) -> None:
        """Add a new id."""
        # `_piece` is inlined, since each transaction calls this.
        self.pieces[trx_id[0]] += trx_id + POSITION_OF(place)

    def add_all(self, ids: list[bytes], place: int) -> None:
        """Add new ids, all with the same number."""
        pieces, packed = self.pieces, POSITION_OF(place)
        for trx_id in ids:
            pieces[trx_id[0]] += trx_id + packed

    def drop_last(self, trx_id: bytes) -> None:
        """Undo `add`: remove the newest id."""
        piece = self._piece(trx_id)
        assert piece.endswith(trx_id, 0, len(piece) - POSITION.size), "only the newest id can be taken back"
        del piece[-RECORD_BYTES:]

    def drop_first(self, trx_id: bytes) -> None:
        """Drop the oldest id."""
        piece = self._piece(trx_id)
        assert piece.startswith(trx_id), "only the oldest id can be dropped"
        del piece[:RECORD_BYTES]

    def put_first(self, trx_id: bytes, place: int) -> None:
        """Undo `drop_first`: put an id back as the oldest."""
        self._piece(trx_id)[:0] = trx_id + POSITION_OF(place)

    def _piece(self, trx_id: bytes) -> bytearray:
        return self.pieces[trx_id[0]]


class TransactionIndexPart:
    """Snapshot part of the positions of all transactions."""

    schema = "places of transactions by the first byte of their ids"

    def __init__(self, places: TransactionIndex) -> None:
        self._places = places

    def dump(self) -> Iterator[bytes]:
        """See Part."""
        pieces = self._places.pieces
        for begin in range(0, PIECES, PIECES_PER_CHUNK):
            some = pieces[begin : begin + PIECES_PER_CHUNK]
            yield msgpack.encode((list(map(len, some)), b"".join(some)))

    def read(self, chunks: Iterator[bytes]) -> Install:
        """See Part."""
        pieces: list[bytes] = []
        for chunk in chunks:
            sizes, data = decoded(tuple[list[int], bytes], chunk)
            if sum(sizes) != len(data) or any(size < 0 or size % RECORD_BYTES for size in sizes):
                raise CorruptData("places of transactions of another size than they should have")
            end = 0
            for size in sizes:
                pieces.append(data[end : end + size])
                end += size
        if len(pieces) != PIECES:
            raise CorruptData("places of transactions are missing, or too many")
        return lambda: self._put(pieces)

    def copying(self) -> Copying:
        """See Part."""
        kept = []
        for piece in self._places.pieces:
            kept.append(bytes(piece))
            yield
        return lambda: self._put(kept)

    def entries(self) -> Iterator[tuple[Any, dict[str, str]]]:
        """See Part."""
        return ((trx_id, {"value": str(place)}) for trx_id, place in self._places)

    def _put(self, pieces: list[bytes]) -> None:
        """Replace the contents of the pieces in place."""
        for piece, data in zip(self._places.pieces, pieces, strict=True):
            piece[:] = data
