"""Finds the valid blocks of a block log: by the folder's sync mark and checksums if there are any, else by the log alone. Read-only.

With a mark (`SyncMark`) and checksums, every bit up to the mark must match. Blocks after the mark were not synced. How many of them can be
missing depends on whether the machine can have lost power since.
"""

from array import array
from itertools import takewhile
from pathlib import Path
from zlib import crc32

from msgspec import Struct

from node.runtime.errors import FileError
from node.storage.disk import File
from node.storage.frames import SumsDigest, frame_sums, frames_from, is_one_append, walk_back, whole_frame
from node.storage.sync_marks import SyncMark
from state.protocol.errors import ChainError
from state.protocol.transaction import OFFSET, Wire, merkle_root


class Layout(Struct):
    """The valid blocks of a log: the offset of each, the CRC-32 of each frame, and the end of the last one in bytes.

    The first block follows block `base`, that of `ChainSpec.base`.
    """

    starts: "array[int]"
    sums: "array[int]"
    end: int
    base: int

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def last(self) -> int:
        """The number of the last block, or of the chain's base if there is none."""
        return self.base + len(self)

    @property
    def text(self) -> str:
        """The numbers of the blocks, for messages."""
        return f"blocks {self.base + 1} to {self.last}" if len(self) else "no block"

    def up_to(self, number: int) -> "Layout":
        """Return the layout of the blocks up to this one."""
        count = max(0, number - self.base)
        return self if count >= len(self) else Layout(self.starts[:count], self.sums[:count], self.starts[count], self.base)


class Damaged(FileError):
    """Error for a damaged block log. The blocks in `good` are intact."""

    def __init__(self, path: Path, reason: str, good: Layout) -> None:
        super().__init__(f"{path}: {reason}; {way_out(path.parent, good)}")
        self.reason, self.good = reason, good


def way_out(folder: Path, good: Layout) -> str:
    """Return advice on how to repair a damaged log with these intact blocks."""
    repair = f"`bin/coind blocks repair {folder} --accept-loss` goes on with {good.text} after copying the log"
    return f"put a good copy in its place, or look at it by `bin/coind blocks check {folder}`; {repair}"


def lay_out_known(log: File, wire: Wire, path: Path, mark: SyncMark, stored_sums: "array[int]", *, is_strict: bool) -> Layout:
    """Return the layout of a log whose folder has a sync mark. `stored_sums` are the checksums in its file.

    Blocks after the mark are valid up to the first checksum that differs. One interrupted append can leave bytes after the valid blocks.
    These bytes are cut off, since no client got a reply for the incomplete block. Only a power loss can leave more bytes, or fewer blocks
    than checksums. With `is_strict` there was no power loss, so both are damage. A complete block is valid even if only its checksum is
    missing.
    """
    size, base = log.size(), wire.spec.base.number
    count = max(0, mark.number - base)
    starts = walk_back(log, mark.end) if size >= mark.end else None
    sums = array("I") if starts is None else frame_sums(log, starts, mark.end)
    if starts is None or len(starts) != count or str(SumsDigest(sums)) != mark.sums:
        trusted = stored_sums if str(SumsDigest(stored_sums[:count])) == mark.sums else None
        raise damage(log, wire, path, trusted, mark)
    expected = stored_sums[count:]
    starts_after, found, end = after(log, wire, mark, expected)
    good = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(found, expected, strict=False)))
    end = end if good == len(starts_after) else starts_after[good]
    layout = Layout(starts + starts_after[:good], sums + found[:good], end, base)
    if is_strict and good < len(expected):
        what = f"ends after block {layout.last}" if end == size else f"damaged at byte {end}, after block {layout.last}"
        raise Damaged(path, f"{what}, and {count + len(expected)} blocks were written", layout)
    if is_strict and good == len(starts_after) - 1 and is_next(log, wire, layout, size):
        # The process was killed between writing the block and its checksum.
        return Layout(starts + starts_after, sums + found, size, base)
    if is_strict and not is_one_append(log, wire, end, size):
        what = f"damaged at byte {end}, after block {layout.last}: {size - end} bytes there were not written by this node"
        raise Damaged(path, what, layout)
    return layout


def is_next(log: File, wire: Wire, layout: Layout, size: int) -> bool:
    """Return whether the rest of a log is one complete block that continues the log and matches its Merkle root."""
    previous = block_id(log, wire, layout, layout.last) if len(layout) else wire.spec.base.block_id
    for block, start, length in frames_from(log, wire, layout.end, layout.last + 1):
        return block.previous == previous and start + length == size and block.transaction_merkle_root == merkle_root(block.transactions)
    return False


def after(log: File, wire: Wire, mark: SyncMark, expected: "array[int]") -> "tuple[array[int], array[int], int]":
    """Return the offsets of the blocks after a sync mark, their checksums, and the end of the last complete block.

    The blocks are first located backward from the end of the file, by the offset that is stored after each block. This result is accepted
    if the frames have the expected checksums, and at most one more frame follows them. Otherwise the last bytes of the file may belong to a
    torn frame and only look like an offset, so the blocks are read forward, one by one.
    """
    size = log.size()
    starts_after = walk_back(log, size, mark.end)
    if starts_after is not None and len(starts_after) <= len(expected) + 1:
        found = frame_sums(log, starts_after, size)
        if found[: len(expected)] == expected[: len(found)]:
            return starts_after, found, size
    starts_after, end = array("Q"), mark.end
    for _, start, length in frames_from(log, wire, mark.end, mark.number + 1):
        starts_after.append(start)
        end = start + length
    return starts_after, frame_sums(log, starts_after, end), end


def lay_out_unknown(log: File, wire: Wire, path: Path) -> Layout:
    """Return the layout of a log without a sync mark. Only its last frame can be torn.

    If the log is intact, this only follows the offsets, which is fast. The blocks are checked when they are applied.
    """
    size = log.size()
    starts = walk_back(log, size)
    if starts is not None and is_last(log, wire, starts, size):
        return Layout(starts, frame_sums(log, starts, size), size, wire.spec.base.number)
    found = good_part(log, wire, None)
    if not is_one_append(log, wire, found.end, size):
        raise Damaged(path, f"damaged at byte {found.end}, after block {found.last}", found)
    return found


def is_last(log: File, wire: Wire, starts: "array[int]", size: int) -> bool:
    """Return whether the last block is complete, ends at byte `size`, and has the number that follows from the number of blocks."""
    if not starts:
        return True
    data = log.read(size - starts[-1], starts[-1])
    found = whole_frame(wire, data, 0)
    last = wire.spec.base.number + len(starts)
    return not isinstance(found, ChainError) and found[0].number == last and found[1] + OFFSET.size == len(data)


def good_part(log: File, wire: Wire, stored_sums: "array[int] | None") -> Layout:
    """Return the layout of the intact blocks at the start of the log: they are complete, follow each other, and match their Merkle roots
    and `stored_sums`.

    It reads every block, which takes some ten seconds for a million.
    """
    base = wire.spec.base
    layout, previous = Layout(array("Q"), array("I"), 0, base.number), base.block_id
    for block, start, size in frames_from(log, wire, 0, base.number + 1):
        checksum = crc32(log.read(size, start))
        index = len(layout)
        if stored_sums is not None and index < len(stored_sums) and stored_sums[index] != checksum:
            break
        if block.previous != previous or block.transaction_merkle_root != merkle_root(block.transactions):
            break
        layout.starts.append(start)
        layout.sums.append(checksum)
        layout.end, previous = start + size, block.id
    return layout


def damage(log: File, wire: Wire, path: Path, stored_sums: "array[int] | None", mark: SyncMark) -> Damaged:
    """Return the error for a log that contradicts its sync mark, with the position of the first damage."""
    found = good_part(log, wire, stored_sums)
    end, size = found.end, log.size()
    known = f"the folder's mark names {mark.number - found.base} blocks, the last with the id {mark.id}"
    if found.last >= mark.number > found.base:
        # Each block is valid by itself. Either the log belongs to another chain or branch, or a bit differs that no later block confirms,
        # for example in the signature of the last block. The id reveals both.
        last = block_id(log, wire, found, mark.number).hex()
        return Damaged(path, f"holds another block {mark.number} ({last}): {known}", found.up_to(mark.number - 1))
    if stored_sums is not None and len(good_part(log, wire, None)) > len(found):
        return Damaged(path, f"block {found.last + 1}, at byte {end}, isn't the one that was written; {known}", found)
    if end == size:
        return Damaged(path, f"holds {len(found)} blocks, and {known}", found)
    return Damaged(path, f"damaged at byte {end}, after block {found.last}; {known}", found)


def block_id(log: File, wire: Wire, layout: Layout, number: int) -> bytes:
    """Return the id of a block."""
    index = number - layout.base - 1
    start = layout.starts[index]
    end = layout.starts[index + 1] if number < layout.last else layout.end
    return wire.unpack_block(log.read(end - start, start))[0].id
