"""A stream of blocks: chunks of limited size, undone blocks, and the end of the stream."""

import json

import pytest

from rpc.push.stream import PIECE_BLOCKS_MAX, PIECE_SIZE, BlockStream
from state.store.lazy.incremental import NotReady


class Blocks:
    """A fake chain of `last` blocks, each of which has a line in the stream."""

    def __init__(self, last: int, size: int = 10) -> None:
        self.last, self.size = last, size
        self.missing: set[int] = set()

    def line(self, number: int) -> bytes | None:
        """Return the line of a block, padded to `size`, or None if the block is missing."""
        return None if number in self.missing else (b'{"block_num":%d}' % number).ljust(self.size) + b"\n"

    def stream(self, first: int) -> BlockStream:
        """Return a stream that starts at block `first`."""
        return BlockStream(first, lambda: self.last, self.line)


def read(stream: BlockStream) -> list[object]:
    """Return the next chunk of a stream as a list: the number of each block, and a pair of numbers for each range of undone blocks."""
    out: list[object] = []
    for line in stream.piece().splitlines():
        value = json.loads(line)
        out.append(value["block_num"] if "block_num" in value else (value["undone"]["first"], value["undone"]["last"]))
    return out


def test_pieces_are_bounded_by_blocks_and_by_size() -> None:
    stream = Blocks(100).stream(1)
    assert [len(read(stream)) for _ in range(8)] == [PIECE_BLOCKS_MAX] * 6 + [4, 0]
    assert len(read(Blocks(100, PIECE_SIZE // 3).stream(1))) == 3


def test_a_stream_starts_at_the_requested_block() -> None:
    blocks = Blocks(5)
    stream = blocks.stream(7)
    assert read(stream) == []
    blocks.last = 8
    assert (read(stream), read(stream)) == ([7, 8], [])
    blocks.last = 9
    assert read(stream) == [9]


def test_undone_blocks_are_announced_and_read_again() -> None:
    blocks = Blocks(10)
    stream = blocks.stream(4)
    stream.undo(2)  # nothing was read
    assert read(stream) == [4, 5, 6, 7, 8, 9, 10]
    stream.undo(11)
    assert read(stream) == []
    stream.undo(9)
    stream.undo(6)  # two moves before the reader is there again
    stream.undo(8)
    assert read(stream) == [(6, 10), 6, 7, 8, 9, 10]
    blocks.last = 2
    stream.undo(3)
    assert (read(stream), read(stream)) == ([(4, 10)], [])
    blocks.last = 5
    assert read(stream) == [4, 5]


def test_a_missing_block_ends_the_stream() -> None:
    blocks = Blocks(10)
    blocks.missing.add(3)
    stream = blocks.stream(1)
    assert (read(stream), read(stream)) == ([1, 2], [])
    stream.end("another reason")
    assert json.loads(stream.last_line()) == {"error": "the node doesn't have block 3"}


def test_a_line_built_in_chunks_starts_a_piece() -> None:
    made = {1: b"one\n", 2: b"two\n"}

    def line(number: int) -> bytes:
        if number not in made:
            raise NotReady(lambda: False)
        return made[number]

    stream = BlockStream(1, lambda: 3, line)
    assert stream.piece() == b"one\ntwo\n"
    with pytest.raises(NotReady):
        stream.piece()
    made[3] = b"three\n"
    assert stream.piece() == b"three\n"
    assert stream.piece() == b""
