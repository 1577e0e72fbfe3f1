"""Packed rows of a snapshot: what decoding them doesn't notice, and their keys."""

from itertools import accumulate
from typing import Any

import pytest
from msgspec import msgpack

from state.store import Journal, Packed, Row, Table, Unique
from state.store.columns import CorruptData
from state.store.row_codec import POSITIONS, LoadedChunk, RowCodec
from state.store.serializers import TablePart


class Post(Row):
    title: str
    pairs: tuple[Any, ...] = ()
    number: int = 0


class Posts(Table[Post]):
    packed = Packed()
    by_number = Unique("number")


def loaded_chunk(*rows: bytes, shift: int = 0) -> LoadedChunk:
    """Return a chunk of rows. `shift` is added to the position of the second one."""
    begins = list(accumulate(map(len, rows), initial=POSITIONS.size))[:-1]
    begins[1:] = [begin + shift for begin in begins[1:]]
    return LoadedChunk(0, bytes(POSITIONS.size) + b"".join(rows), begins, list(range(len(rows))), None)


def test_a_packed_row_with_another_number_of_fields_is_refused() -> None:
    codec = RowCodec(Post, {})
    assert [row.title for row in codec.checked(loaded_chunk(msgpack.encode(("title", (), 0))))] == ["title"]
    for values in (("title", ()), ("title", (), 0, 1)):
        with pytest.raises(CorruptData):
            codec.checked(loaded_chunk(msgpack.encode(values)))


def test_a_packed_row_that_does_not_begin_at_its_position_is_refused() -> None:
    codec, rows = RowCodec(Post, {}), [msgpack.encode((title, (), 0)) for title in ("one", "three")]
    assert [row.title for row in codec.checked(loaded_chunk(*rows))] == ["one", "three"]
    with pytest.raises(CorruptData):
        codec.checked(loaded_chunk(*rows, shift=1))


def test_keys_that_have_the_same_hash_are_loaded() -> None:
    for numbers in ((-1, -2), (5, 5 + (1 << 61) - 1), (1, 1 + (1 << 32))):
        table = Posts(Journal())
        for number in (*numbers, 7):
            table.insert(Post(title="", number=number))
        table.journal.commit(table.journal.position())
        packing = table.packing
        assert packing is not None
        packing.pack(len(numbers) + 1)
        other = Posts(Journal())
        TablePart(other).read(iter(list(TablePart(table).dump())))()
        other.check()
        assert [other.by_number.find(number).id for number in (*numbers, 7)] == [0, 1, 2]
