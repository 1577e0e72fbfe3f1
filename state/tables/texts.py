"""`CommentContents`, the table of the texts of comments. Texts of irreversible blocks are not in memory, but read from their block.

A row of a reversible block is an object, as in every table. Once its block is irreversible, the table keeps a record of 18 bytes instead:
the position of the operation that wrote the texts. Reading such a row makes an object that the table doesn't keep. Writing to it
makes it an object of the table again, until the block of the write is irreversible too.

Texts that are in no block, for example those of a fork file, are packed instead. So are those that would take too long to read: bodies
after expensive patches or after many edits.
"""

import zlib
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from struct import Struct as Layout
from sys import getsizeof
from typing import Any

from msgspec import MsgspecError, Struct, msgpack

from state.protocol.errors import UnknownKey
from state.protocol.values import text
from state.store import Journal, Row, Table, Unique
from state.store.columns import CorruptData
from state.store.rows import Copying, replace_bytes

# Comment, then the position of an operation: block, bytes from the start of its transaction to the end of the block, operation in the
# transaction, first bytes of the transaction's id.
RECORD, POSITION, HEAD, KIND = Layout("<IIIHI"), Layout("<IIHI"), Layout("<I"), Layout("<H")
RECORD_BYTES, POSITION_BYTES = RECORD.size, POSITION.size
KIND_AT = 12  # in a record
# Values instead of the number of an operation: no record, several positions in `edited`, and texts in `packed`.
ABSENT, EDITED, PACKED = 0xFFFF, 0xFFFE, 0xFFFD
OPERATION_MAX = PACKED - 1
NO_RECORD = RECORD.pack(0, 0, 0, ABSENT, 0)
COMMENT_MAX = 0xFFFFFFFF
IDS_SKIPPED_MAX = 1 << 20  # ids without a row between two rows with records
EDITS_READ_MAX = 8  # operations that are read for one row
RECENT_BYTES_MAX = 8 << 20
PACKED_PER_BLOCK = 5  # rows, each of which takes some 20 µs
PACKING_LEVEL = 1  # of zlib: 6 takes twice the time for a tenth less
TEXTS_PER_BYTE_MAX = 1100  # zlib compresses to a thousandth at most
ROW_BYTES = 200  # of an object without its texts

Texts = tuple[str, str, str]  # title, body, metadata
ReadTexts = Callable[[int, bytes], Texts]
"""Returns the texts of a comment, given its id, after the operations at some positions. Raises UnreadableBlock."""
Write = tuple[int, "CommentContent", str | None, Texts | None]
"""The journal position after a write, and its row. For a modification also the body before it, and the texts after it."""


class CommentContent(Row):
    """The texts of a comment. The row remains when the comment is deleted."""

    comment: int = 0
    title: str = ""
    body: str = ""
    json_metadata: str = ""


def no_texts(comment: int, positions: bytes) -> Texts:
    """Placeholder for `CommentContents.read_texts`, used until a chain sets the attribute."""
    raise AssertionError("the state belongs to no chain with blocks")


class RecentRows:
    """Rows that were read from blocks, up to RECENT_BYTES_MAX bytes. The oldest ones are dropped first."""

    def __init__(self) -> None:
        self._bytes_used = 0
        self._rows: OrderedDict[int, CommentContent] = OrderedDict()
        self.get = self._rows.get

    def add(self, row: CommentContent) -> None:
        """Add a row, and drop the oldest ones if there are too many."""
        rows = self._rows
        if row.id in rows:
            return
        rows[row.id] = row
        self._bytes_used += _bytes_of(row)
        while self._bytes_used > RECENT_BYTES_MAX:
            self._bytes_used -= _bytes_of(rows.popitem(last=False)[1])

    def drop(self, row_id: int) -> None:
        """Drop a row, if it is there."""
        row = self._rows.pop(row_id, None)
        if row is not None:
            self._bytes_used -= _bytes_of(row)

    def clear(self) -> None:
        """Drop all rows."""
        self._rows.clear()
        self._bytes_used = 0


def _bytes_of(row: CommentContent) -> int:
    return getsizeof(row.title) + getsizeof(row.body) + getsizeof(row.json_metadata) + ROW_BYTES


class CommentContents(Table[CommentContent]):
    """The texts of all comments.

    The rows that `get`, `find`, the index and iterations return are for reading at once, unless they are written to.
    """

    by_comment = Unique("comment")

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal)
        self.read_texts: ReadTexts = no_texts
        # Returns a function like `read_texts` for reading many rows in their order.
        self.new_reader: Callable[[], ReadTexts] = lambda: self.read_texts
        # The writes of reversible blocks and pending transactions, oldest first.
        self.writes: deque[Write] = deque()
        self._records = bytearray()
        self._count = 0  # of records
        self._edited: dict[int, bytes] = {}
        self._packed: dict[int, bytes] = {}
        self._row_ids: dict[int, int] = {}  # of comments whose id differs from that of their row
        self._unpacked: set[int] = set()  # rows with a record that are objects
        self._unneeded: set[int] = set()  # some of them
        self._edits: dict[int, int] = {}  # the number of modifications in `writes`, by row
        self._without_block: deque[int] = deque()  # rows to be packed
        self._recent = RecentRows()
        self._objects = self._rows.get
        self._object_of = self.by_comment.by_key.get
        self.get = self._get
        self.by_comment.get, self.by_comment.find = self._get_of_comment, self._find_of_comment

    # -------------------------------------------------------------- reading

    def __len__(self) -> int:
        return len(self._rows) + self._count - len(self._unpacked)

    def __iter__(self) -> Iterator[CommentContent]:
        """Yield all rows, ordered by id. Rows can leave memory during the iteration."""
        return self.rows_between(0, self.next_id)

    scan = __iter__

    def _get(self, row_id: int) -> CommentContent | None:
        """Return the row with an id, or None."""
        return self._objects(row_id) or (self._recent_or_read(row_id) if self.has_record(row_id) else None)

    peek = _get

    def find(self, row_id: int) -> CommentContent:
        """Return the row with this id. Raises UnknownKey."""
        row = self._get(row_id)
        if row is None:
            raise UnknownKey
        return row

    def rows_between(self, begin: int, end: int) -> Iterator[CommentContent]:
        """Yield the rows with ids from `begin` to below `end`, in ascending order."""
        read, version = self.new_reader(), self._version
        recorded = len(self._records) // RECORD_BYTES
        beyond = sorted(row_id for row_id in self._rows if row_id >= recorded)
        for row_id in chain(range(begin, min(end, recorded)), beyond):
            if not begin <= row_id < end:
                continue
            row = self._objects(row_id)
            if row is None and self.has_record(row_id):
                row = self._read(row_id, read)
            if row is not None:
                yield row
                self._require_unchanged(version)

    def has_record(self, row_id: int) -> bool:
        """Whether there is a record of a row."""
        at = row_id * RECORD_BYTES
        return 0 <= at < len(self._records) and KIND.unpack_from(self._records, at + KIND_AT)[0] != ABSENT

    def _get_of_comment(self, comment: int, /) -> CommentContent | None:
        """Return the row of a comment, or None."""
        row = self._object_of(comment)
        if row is not None:
            return row
        row_id = self._row_ids.get(comment, comment)
        row = self._recent.get(row_id)
        if row is not None:
            return row if row.comment == comment else None
        if not self.has_record(row_id) or HEAD.unpack_from(self._records, row_id * RECORD_BYTES)[0] != comment:
            return None
        return self._recent_or_read(row_id)

    def _find_of_comment(self, comment: int, /) -> CommentContent:
        """Return the row of a comment. Raises UnknownKey."""
        row = self._get_of_comment(comment)
        if row is None:
            raise UnknownKey(fields=("comment",), key=(comment,))
        return row

    def _recent_or_read(self, row_id: int) -> CommentContent:
        row = self._recent.get(row_id)
        if row is None:
            row = self._read(row_id, self.read_texts)
            self._recent.add(row)
        return row

    def _read(self, row_id: int, read: ReadTexts) -> CommentContent:
        at = row_id * RECORD_BYTES
        comment, _, _, kind, _ = RECORD.unpack_from(self._records, at)
        if kind == PACKED:
            title, body, metadata = unpack_texts(self._packed[row_id])
        else:
            positions = self._edited[row_id] if kind == EDITED else bytes(self._records[at + HEAD.size : at + RECORD_BYTES])
            title, body, metadata = read(comment, positions)
        return CommentContent(id=row_id, comment=comment, title=title, body=body, json_metadata=metadata)

    # -------------------------------------------------------------- writing

    def insert(self, row: CommentContent) -> CommentContent:
        """Insert a new row, set its id and return it. Raises NotUnique."""
        super().insert(row)
        self.writes.append((self.journal.position(), row, None, None))
        return row

    def modify(self, row: CommentContent, /, **changes: Any) -> None:
        """Set fields of a row."""
        self._unpack(row)
        before = row.body
        super().modify(row, **changes)
        self._edits[row.id] = self._edits.get(row.id, 0) + 1
        self.writes.append((self.journal.position(), row, before, (row.title, row.body, row.json_metadata)))

    def remove(self, row: CommentContent) -> None:
        """Remove a row. The row keeps its values and its id, which isn't reused."""
        self._unpack(row)
        super().remove(row)
        self._forget(row.id)

    def _uninsert(self, row: CommentContent, _: None) -> None:
        self.writes.pop()
        super()._uninsert(row, None)

    def _unmodify(self, row: CommentContent, old: dict[str, Any]) -> None:
        self.writes.pop()
        self._count_edit(row.id)
        super()._unmodify(row, old)

    def _unpack(self, row: CommentContent) -> None:
        """Make a row that was read from its record an object of the table, unless it is one."""
        row_id = row.id
        if row_id in self._rows or not self.has_record(row_id):
            return
        self._recent.drop(row_id)
        self._in_order = False
        self._rows[row_id] = self.by_comment.by_key[row.comment] = row
        self._unpacked.add(row_id)
        self._unneeded.add(row_id)

    def _count_edit(self, row_id: int) -> None:
        """Count one modification less in `writes`."""
        left = self._edits[row_id] - 1
        if left:
            self._edits[row_id] = left
        else:
            del self._edits[row_id]
            self._unneeded.add(row_id)

    # -------------------------------------------------------------- records

    def take_writes(self, end: int) -> Iterator[Write]:
        """Yield and drop the writes up to a journal position."""
        writes = self.writes
        while writes and writes[0][0] <= end:
            write = writes.popleft()
            if write[3] is not None:
                self._count_edit(write[1].id)
            yield write

    def is_object(self, row: CommentContent) -> bool:
        """Whether a row is an object of the table: not removed, and in memory."""
        return self._objects(row.id) is row

    def is_edited_later(self, row: CommentContent) -> bool:
        """Whether `writes` has a modification of a row."""
        return row.id in self._edits

    def set_position(self, row: CommentContent, position: bytes) -> None:
        """Record that the texts of a row are those of the operation at a position."""
        row_id, records = row.id, self._records
        if len(records) == row_id * RECORD_BYTES and row.comment == row_id and row_id not in self._edits:  # the usual case, shortened
            records += HEAD.pack(row_id)
            records += position
            self._count += 1
            del self._rows[row_id], self.by_comment.by_key[row_id]
            return
        if self._set(row, position):
            self._edited.pop(row.id, None)
            self._packed.pop(row.id, None)

    def add_position(self, row: CommentContent, position: bytes) -> bool:
        """Record that the texts of a row are those after the operation at a position. Return whether that is possible: not if the texts
        before it are packed, or if too many operations would be read for them.
        """
        row_id, at = row.id, row.id * RECORD_BYTES
        if not self.has_record(row_id):
            return False
        kind = KIND.unpack_from(self._records, at + KIND_AT)[0]
        before = self._edited.get(row_id, b"") if kind >= PACKED else bytes(self._records[at + HEAD.size : at + RECORD_BYTES])
        if not before or len(before) >= EDITS_READ_MAX * POSITION_BYTES:
            return False
        self._edited[row_id] = before + position
        return self._set(row, POSITION.pack(0, 0, EDITED, 0))

    def pack(self, row: CommentContent, texts: Texts) -> None:
        """Keep the texts of a row packed."""
        if self._set(row, POSITION.pack(0, 0, PACKED, 0)):
            self._edited.pop(row.id, None)
            self._packed[row.id] = pack_texts(texts)

    def pack_later(self, row: CommentContent) -> None:
        """Pack a row whose texts are in no block, when `release_rows` is called."""
        self._without_block.append(row.id)

    def release_rows(self) -> None:
        """Release the objects of rows with a record, and pack some rows whose texts are in no block. Call it when no transaction is
        pending.
        """
        for _ in range(min(PACKED_PER_BLOCK, len(self._without_block))):
            row = self._objects(self._without_block.popleft())
            if row is not None and row.id not in self._unpacked and row.id not in self._edits:
                self.pack(row, (row.title, row.body, row.json_metadata))
        for row_id in self._unneeded:
            if row_id in self._unpacked and row_id not in self._edits:
                self._release(row_id)
        self._unneeded.clear()

    def _set(self, row: CommentContent, position: bytes) -> bool:
        """Set the record of a row. Return False if that is impossible. The row then stays an object."""
        row_id, comment, records = row.id, row.comment, self._records
        at = row_id * RECORD_BYTES
        if at >= len(records):
            skipped = row_id - len(records) // RECORD_BYTES
            if skipped > IDS_SKIPPED_MAX or comment > COMMENT_MAX:
                return False
            records += NO_RECORD * (skipped + 1)
        if row_id not in self._unpacked:
            self._unpacked.add(row_id)
            self._unneeded.add(row_id)
            self._count += 1
            if comment != row_id:
                self._row_ids[comment] = row_id
        records[at : at + RECORD_BYTES] = HEAD.pack(comment) + position
        return True

    def _release(self, row_id: int) -> None:
        row = self._rows.pop(row_id)
        del self.by_comment.by_key[row.comment]
        self._unpacked.remove(row_id)

    def _forget(self, row_id: int) -> None:
        """Remove the record of a row, if it has one."""
        if self.has_record(row_id):
            at = row_id * RECORD_BYTES
            self._row_ids.pop(HEAD.unpack_from(self._records, at)[0], None)
            self._records[at : at + RECORD_BYTES] = NO_RECORD
            self._count -= 1
            self._unpacked.discard(row_id)
            self._edited.pop(row_id, None)
            self._packed.pop(row_id, None)

    # -------------------------------------------------------------- copies, snapshots

    def restoring(
        self, chunks: Iterable[tuple[list[CommentContent], list[int]]], next_id: int, orders: Iterable[list[int]] = ()
    ) -> Iterator[None]:
        """Replace all rows, as every table does. Their texts are in no block."""
        yield from self.restoring_records(chunks, next_id, NO_RECORDS)

    def restoring_records(
        self, chunks: Iterable[tuple[list[CommentContent], list[int]]], next_id: int, records: "Records"
    ) -> Iterator[None]:
        """Replace all rows by those with records, and rows whose texts are in no block."""
        own = self.raw_attributes()
        yield from super().restoring(chunks, next_id)
        for each in (own["writes"], own["_unpacked"], own["_unneeded"], own["_edits"], own["_without_block"], own["_recent"]):
            each.clear()
        own["_without_block"].extend(own["_rows"])
        self._replace(own, records)

    def records(self) -> "Records":
        """Return a copy of the records."""
        return Records(bytes(self._records), self._count, self._edited.copy(), self._packed.copy(), self._row_ids.copy())

    def rows_without_record(self) -> list[CommentContent]:
        """Return the rows without a record, ordered by id."""
        return [self._rows[row_id] for row_id in sorted(self._rows) if row_id not in self._unpacked]

    @staticmethod
    def _replace(own: dict[str, Any], records: "Records") -> None:
        replace_bytes(own["_records"], records.data)
        own["_count"] = records.count
        for name in ("edited", "packed", "row_ids"):
            kept = own[f"_{name}"]
            kept.clear()
            kept.update(getattr(records, name))

    def copying(self) -> Copying:
        """Copy all rows, as every table does."""
        restore = yield from super().copying()
        records, writes, edits = self.records(), list(self.writes), self._edits.copy()
        unpacked, unneeded, without = self._unpacked.copy(), self._unneeded.copy(), list(self._without_block)

        def put_back() -> None:
            restore()
            self._replace(vars(self), records)
            for kept in (self.writes, self._without_block, self._edits, self._unpacked, self._unneeded, self._recent):
                kept.clear()
            self.writes.extend(writes)
            self._without_block.extend(without)
            self._edits.update(edits)
            self._unpacked.update(unpacked)
            self._unneeded.update(unneeded)

        return put_back

    def check(self) -> None:
        """Verify ids, the index and the records against the rows; for tests."""
        super().check()
        recorded = {row_id for row_id in range(len(self._records) // RECORD_BYTES) if self.has_record(row_id)}
        assert len(recorded) == self._count, "a wrong number of records"
        assert self._unpacked == recorded & self._rows.keys(), "objects with a record"
        assert self._edits.keys() <= self._rows.keys(), "an edited row isn't an object"
        assert Counter(write[1].id for write in self.writes if write[3] is not None) == self._edits, "a wrong number of modifications"
        for row in self:
            assert self.by_comment.get(row.comment) is not None, f"row {row.id} isn't found by its comment"


class Records(Struct, frozen=True):
    """The records of a table of texts. `edited` contains positions, and `packed` texts, by row."""

    data: bytes
    count: int
    edited: dict[int, bytes]
    packed: dict[int, bytes]
    row_ids: dict[int, int]


NO_RECORDS = Records(b"", 0, {}, {}, {})


def pack_texts(texts: Texts) -> bytes:
    """Compress texts."""
    return zlib.compress(msgpack.encode([text.encode(each) for each in texts]), PACKING_LEVEL)


def unpack_texts(data: bytes) -> Texts:
    """Decompress texts. Raises CorruptData."""
    try:
        title, body, metadata = _TEXTS.decode(zlib.decompressobj().decompress(data, TEXTS_PER_BYTE_MAX * len(data)))
    except (MsgspecError, zlib.error) as error:
        raise CorruptData(str(error)) from None
    return text.decode(title), text.decode(body), text.decode(metadata)


_TEXTS = msgpack.Decoder(tuple[bytes, bytes, bytes])
