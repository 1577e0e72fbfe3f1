"""Where transactions are in the chain, by their ids, in 32 bytes for each; and that as a part of a snapshot. It knows no plugin.

In a dictionary a transaction takes 160 bytes. Here its record is appended to one of 256 pieces, by the first byte of its id, and found in
it by searching for the id: that takes 20 µs with a million transactions, and 2 ms with a hundred million. More pieces take more writing.
Who makes transactions until their ids begin with one byte fills one piece: a search takes 5 ms for each million of these.
"""

from collections.abc import Iterator
from struct import Struct as Layout
from typing import Any

from msgspec import msgpack

from state.protocol.transaction import ID_BYTES
from state.store.columns import Unreadable
from state.store.parts import Install, decoded
from state.store.rows import Keeping

RECORD, PLACE = Layout(f"<{ID_BYTES}sQ"), Layout("<Q")
RECORD_BYTES = RECORD.size
PLACE_OF = PLACE.pack  # each transaction calls it
PIECES = 1 << 8  # for the first byte of an id
PIECES_PER_CHUNK = 16


class Places:
    """A number for each id of a transaction, in the order in which they came. An undo record takes back the last one."""

    def __init__(self) -> None:
        self.pieces = [bytearray() for _ in range(PIECES)]

    def __len__(self) -> int:
        return sum(map(len, self.pieces)) // RECORD_BYTES

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        """All ids with their numbers, by the first byte of the ids."""
        for piece in self.pieces:
            yield from RECORD.iter_unpack(piece)

    def get(self, trx_id: bytes) -> int | None:
        """Return the number of an id, None for an unknown one."""
        if len(trx_id) != ID_BYTES:
            return None
        piece = self._piece(trx_id)
        at = piece.find(trx_id)
        # Bytes of two records can look like an id.
        while at % RECORD_BYTES and at > 0:
            at = piece.find(trx_id, at + 1)
        found: int | None = None if at < 0 else PLACE.unpack_from(piece, at + ID_BYTES)[0]
        return found

    def add(self, trx_id: bytes, place: int) -> None:
        """Add an id that isn't there."""
        # `_piece` in line: each transaction comes here.
        self.pieces[trx_id[0]] += trx_id + PLACE_OF(place)

    def add_all(self, ids: list[bytes], place: int) -> None:
        """Add ids that aren't there, all with one number."""
        pieces, packed = self.pieces, PLACE_OF(place)
        for trx_id in ids:
            pieces[trx_id[0]] += trx_id + packed

    def drop_last(self, trx_id: bytes) -> None:
        """Take back the id that was added last."""
        piece = self._piece(trx_id)
        assert piece.endswith(trx_id, 0, len(piece) - PLACE.size), "only the newest id can be taken back"
        del piece[-RECORD_BYTES:]

    def drop_first(self, trx_id: bytes) -> None:
        """Drop the id that is there for the longest time."""
        piece = self._piece(trx_id)
        assert piece.startswith(trx_id), "only the oldest id can be dropped"
        del piece[:RECORD_BYTES]

    def put_first(self, trx_id: bytes, place: int) -> None:
        """Take back that an id was dropped."""
        self._piece(trx_id)[:0] = trx_id + PLACE_OF(place)

    def _piece(self, trx_id: bytes) -> bytearray:
        return self.pieces[trx_id[0]]


class PlacesPart:
    """The places of all transactions."""

    schema = "places of transactions by the first byte of their ids"

    def __init__(self, places: Places) -> None:
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
                raise Unreadable("places of transactions of another size than they should have")
            end = 0
            for size in sizes:
                pieces.append(data[end : end + size])
                end += size
        if len(pieces) != PIECES:
            raise Unreadable("places of transactions are missing, or too many")
        return lambda: self._put(pieces)

    def keeping(self) -> Keeping:
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
        """Let the pieces hold these bytes."""
        for piece, data in zip(self._places.pieces, pieces, strict=True):
            piece[:] = data
