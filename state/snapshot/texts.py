"""Snapshot part of the texts of comments: their positions if the snapshot is used with the blocks, and else the texts themselves."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import msgpack

from state.protocol.errors import UnreadableBlock
from state.store.columns import CorruptData
from state.store.serializers import ROWS_PER_CHUNK, Install, RowChunk, TablePart, decoded, records_of
from state.tables.texts import (
    ABSENT,
    EDITED,
    EDITS_READ_MAX,
    NO_RECORDS,
    PACKED,
    POSITION_BYTES,
    RECORD,
    RECORD_BYTES,
    CommentContent,
    CommentContents,
    Records,
)

CHUNK_BYTES = 1 << 20
_HEAD = tuple[int, int, int, int]  # next id, rows, bytes of records, chunks of positions and texts
_LONGER = tuple[dict[int, bytes], dict[int, bytes]]


class TextsPart(TablePart):
    """Serializer of the table of texts: the rows without a record, as every table's, and then the records.

    Without `has_positions`, all rows are written with their texts.
    """

    def __init__(self, contents: CommentContents, *, has_positions: bool) -> None:
        super().__init__(contents, is_deferred=True)
        self._contents, self._has_positions = contents, has_positions

    @property
    def schema(self) -> str:
        """Implement `SnapshotPart.schema`."""
        return f"texts of comments, or their positions in blocks: {super().schema}"

    def pieces(self) -> Iterator[Iterator[bytes]]:
        """Implement `TablePart.pieces`."""
        yield self._dump()

    def _dump(self) -> Iterator[bytes]:
        contents = self._contents
        rows = contents.rows_without_record() if self._has_positions else contents
        records = contents.records() if self._has_positions else NO_RECORDS
        edited, packed = list(records.edited.items()), list(records.packed.items())
        longer = range(0, max(len(edited), len(packed)), ROWS_PER_CHUNK)
        yield msgpack.encode((contents.next_id, len(rows), len(records.data), len(longer)))
        for begin in range(0, len(records.data), CHUNK_BYTES):
            yield records.data[begin : begin + CHUNK_BYTES]
        for begin in longer:
            end = begin + ROWS_PER_CHUNK
            yield msgpack.encode((dict(edited[begin:end]), dict(packed[begin:end])))
        yield from self.dump_rows(rows)

    def read(self, chunks: Iterator[bytes]) -> Install:
        """Implement `SnapshotPart.read`."""
        contents = self._contents
        next_id, count, size, longer = decoded(_HEAD, next(chunks, b""))
        records = read_records(chunks, next_id, size, longer, contents.raw_attributes()["journal"].on_undone)
        rows = without_record(self._rows(chunks, next_id, count), records.data)
        return self._install(rows, chunks, count, lambda found, _: contents.restoring_records(found, next_id, records))

    def entries(self) -> Iterator[tuple[Any, dict[str, str]]]:
        """Implement `SnapshotPart.entries`. If the texts of a row can't be read, because the blocks aren't there, the entry has their
        position.
        """
        contents = self._contents
        yield "next id", {"value": str(contents.next_id)}
        yield from map(_entry, contents.rows_without_record())
        records = contents.records()
        for row_id, record in enumerate(RECORD.iter_unpack(records.data)):
            if comment_at(records.data, row_id) is None:
                continue
            try:
                yield _entry(contents.find(row_id))
            except UnreadableBlock:
                yield row_id, {"position": records.edited[row_id].hex() if row_id in records.edited else str(record)}


def _entry(row: CommentContent) -> tuple[int, dict[str, str]]:
    return row.id, {field: repr(getattr(row, field)) for field in row.__struct_fields__}


def has_records(chunks: Iterator[bytes]) -> bool:
    """Return whether the chunks of a part contain positions of texts. Raises CorruptData."""
    _, _, size, _ = decoded(_HEAD, next(chunks, b""))
    return bool(size)


def read_records(chunks: Iterator[bytes], next_id: int, size: int, longer: int, pause: Callable[[], None]) -> Records:
    """Decode records, with calls of `pause`. Raises CorruptData unless each has what its kind needs, and no two are of one comment."""
    if size % RECORD_BYTES or not 0 <= size <= next_id * RECORD_BYTES:
        raise CorruptData(f"{size} bytes of records")
    parts, left = [], size
    while left > 0:
        parts.append(next(chunks, b""))
        left -= len(parts[-1]) or size
    data = b"".join(parts)
    if len(data) != size:
        raise CorruptData("records of an invalid size")
    edited: dict[int, bytes] = {}
    packed: dict[int, bytes] = {}
    for _ in range(longer):
        more_edited, more_packed = decoded(_LONGER, next(chunks, b""))
        edited |= more_edited
        packed |= more_packed
    row_ids: dict[int, int] = {}
    count = edits = texts = 0
    for row_id, (comment, block, place, kind, _) in enumerate(records_of(data, RECORD, pause)):
        if kind == ABSENT:
            continue
        count += 1
        if kind == PACKED:
            is_sound, texts = row_id in packed, texts + 1
        elif kind == EDITED:
            is_sound, edits = row_id in edited, edits + 1
        else:
            is_sound = block > 0 and place > 0
        if comment != row_id:
            is_sound &= comment not in row_ids and comment_at(data, comment) != comment
            row_ids[comment] = row_id
        if not is_sound:
            raise CorruptData(f"an invalid record of row {row_id}")
    if (edits, texts) != (len(edited), len(packed)):
        raise CorruptData("records are missing or extra")
    if not all(map(are_positions, edited.values())):
        raise CorruptData("invalid positions")
    return Records(data, count, edited, packed, row_ids)


def without_record(chunks: Iterable[RowChunk], data: bytes) -> Iterator[RowChunk]:
    """Yield the chunks of rows. Raises CorruptData if a row has a record, too."""
    for rows, ids in chunks:
        if any(comment_at(data, row_id) is not None for row_id in ids):
            raise CorruptData("a row with its texts and a record")
        yield rows, ids


def comment_at(data: bytes, row_id: int) -> int | None:
    """Return the comment of a row's record, or None if there is none."""
    if row_id * RECORD_BYTES >= len(data):
        return None
    comment, _, _, kind, _ = RECORD.unpack_from(data, row_id * RECORD_BYTES)
    return None if kind == ABSENT else comment


def are_positions(data: bytes) -> bool:
    """Whether bytes are the positions of a text that was edited."""
    return 0 < len(data) <= POSITION_BYTES * (EDITS_READ_MAX + 1) and not len(data) % POSITION_BYTES
