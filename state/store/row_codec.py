"""Encodes packed rows as MessagePack, and decodes the chunks of rows of a snapshot."""

from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from operator import attrgetter, sub
from struct import Struct as Layout
from types import GenericAlias, new_class
from typing import Any, Generic, TypeVar, get_type_hints

from msgspec import Raw, Struct, convert, defstruct, msgpack
from msgspec.structs import astuple

from state.store.columns import CorruptData
from state.store.rows import Row
from state.store.slots import SLOTS

RowT = TypeVar("RowT", bound=Row)

PACKED_SIZE_MAX = 4096  # bytes; a larger row stays hot, since its chunk would be copied with every change of the chunk
# A chunk of SLOTS rows begins with the position of each row in it and of the end. A missing row has no bytes.
POSITIONS, SPAN = Layout(f"<{SLOTS + 1}I"), Layout("<2I")
_RAWS = msgpack.Decoder(list[Raw])


class LoadedChunk(Struct, frozen=True, gc=False):
    """A chunk of a snapshot: where its rows begin, the ids of the packed ones. `is_live` is whether each row is packed, None if all are."""

    number: int
    data: bytes
    begins: list[int]
    ids: list[int]
    is_live: list[bool] | None

    @property
    def array(self) -> bytes:
        """All rows as an encoded array."""
        return _array_of(len(self.begins)) + self.data[POSITIONS.size :]

    def live(self, rows: list[Any]) -> list[Any]:
        """Return the packed ones of all rows."""
        return rows if self.is_live is None else list(compress(rows, self.is_live))


class RowCodec(Generic[RowT]):
    """Codec of rows: MessagePack arrays of the values of all fields but the id. `special` has the types of the fields declared as Any.

    `keys` are the fields that `unpack_keys` decodes.
    """

    def __init__(self, cls: type[RowT], special: dict[str, Any], keys: Iterable[str] = ()) -> None:
        fields = cls.__struct_fields__
        assert fields[-1] == "id", "the id is the last field"
        hints = get_type_hints(cls) | special
        kinds = [hints[field] for field in fields[:-1]]
        self._row = cls
        # Values that are structs are encoded without the names of their fields.
        until = max([fields.index(field) + 1 for field in keys], default=0)
        first: Any = defstruct(cls.__name__, [*zip(fields[:until], kinds, strict=False)], array_like=True, gc=False)
        self._keys: Callable[[bytes], list[Any]] = msgpack.Decoder(GenericAlias(list, first)).decode
        self._structs = [(place, kind) for place, kind in enumerate(kinds) if isinstance(kind, type) and issubclass(kind, Struct)]
        self._special = [(attrgetter(field), field, kind) for field, kind in special.items()]
        self._untyped = [place for place, kind in enumerate(kinds) if "Any" in str(kind)]
        for place, kind in self._structs:
            of_struct = get_type_hints(kind)
            kinds[place] = GenericAlias(tuple, tuple([of_struct[field] for field in kind.__struct_fields__]))
        # Decoding an object directly takes a third less time than making it from a tuple of its values. Its class is that of rows, but
        # read from an array. Rows themselves are encoded with the names of their fields, which the digest of the state contains.
        decoded: Any = GenericAlias(tuple, tuple(kinds)) if self._structs else new_class(cls.__name__, (cls,), {"array_like": True})
        self._one: Callable[[bytes], Any] = msgpack.Decoder(decoded).decode
        self._many: Callable[[bytes], list[Any]] = msgpack.Decoder(GenericAlias(list, decoded)).decode
        self._encode = msgpack.Encoder().encode
        self._head = self._encode((None,) * len(kinds))[: -len(kinds)]

    def pack(self, row: RowT) -> bytes | None:
        """Return the encoded row, or None if it can't be packed: its values can't be encoded or decoded simply, or are too large."""
        values: Any = astuple(row)[:-1]
        if self._structs:
            values = list(values)
            for place, _ in self._structs:
                values[place] = astuple(values[place])
        try:
            packed = self._encode(values)
        except (UnicodeEncodeError, OverflowError):
            return None
        return None if len(packed) > PACKED_SIZE_MAX or (self._untyped and any(values[place] for place in self._untyped)) else packed

    def unpack(self, packed: bytes, row_id: int) -> RowT:
        """Decode a row. Raises a MsgspecError."""
        found = self._one(packed)
        if self._structs:
            return self._made(found, row_id)
        row: RowT = found
        row.id, row.__class__ = row_id, self._row
        for read, field, kind in self._special:
            if value := read(row):
                setattr(row, field, convert(value, kind))
        return row

    def unpack_all(self, packed: bytes, ids: Sequence[int]) -> list[RowT]:
        """Decode consecutive rows. Raises a MsgspecError."""
        return self._with_ids(self._many(_array_of(len(ids)) + packed), ids)

    def _with_ids(self, found: list[Any], ids: Sequence[int]) -> list[RowT]:
        if self._structs:
            return list(map(self._made, found, ids))
        cls = self._row
        for row, row_id in zip(found, ids, strict=True):
            row.id, row.__class__ = row_id, cls
        for read, field, kind in self._special:
            for row, value in zip(found, map(read, found), strict=True):
                if value:
                    setattr(row, field, convert(value, kind))
        return found

    def checked(self, loaded: LoadedChunk) -> list[RowT]:
        """Decode the packed rows of a chunk, and check that each begins at its position and has all fields, which decoding doesn't check.
        Raises CorruptData or a MsgspecError.
        """
        chunk, begins, size = loaded.data, loaded.begins, len(self._head)
        sizes = map(sub, [*begins[1:], len(chunk)], begins)
        if list(map(len, _RAWS.decode(loaded.array))) != list(sizes):
            raise CorruptData("a row doesn't begin at its position")
        if {chunk[begin : begin + size] for begin in begins} != {self._head}:
            raise CorruptData("a row has another number of fields")
        # Also decode the rows that were unpacked since: all rows of a chunk are decoded together.
        return self._with_ids(loaded.live(self._many(loaded.array)), loaded.ids)

    def unpack_keys(self, loaded: LoadedChunk) -> list[Any]:
        """Return objects with the first fields of the packed rows of a chunk, including all fields of keys. Raises a MsgspecError."""
        return loaded.live(self._keys(loaded.array))

    def _made(self, values: tuple[Any, ...], row_id: int) -> RowT:
        fields = list(values)
        for place, kind in self._structs:
            fields[place] = kind(*fields[place])
        return self._row(*fields, id=row_id)


def _array_of(size: int) -> bytes:
    """Return the first bytes of an encoded array of this size."""
    return b"\xdc" + size.to_bytes(2, "big")
