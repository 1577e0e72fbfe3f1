"""Serializes rows and values column by column, without loss.

A chunk of rows is written field by field: a column of names, a column of balances. Most columns of a chain contain only one distinct value
or a few, and these decode almost for free: building 100,000 accounts from columns takes a third of the time of decoding them one by one.
Values are MessagePack and are decoded by the declared type, so that mismatching bytes are refused. Integers beyond 64 bits and texts that
aren't valid UTF-8 are written as extension types.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import islice, repeat
from operator import attrgetter
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from msgspec import Raw, Struct, convert, msgpack

CONSTANT, PLAIN, CHOSEN, STRUCTS, WIDE = range(5)
TEXT, INTEGER = 1, 2  # extension types
CHOSEN_SHARE = 4  # Texts are written as distinct values and indices when at most one text in CHOSEN_SHARE is distinct.
SAMPLE = 64
# Maximum number of values in one column. A constant column states its length in a few bytes, so a short input could claim any length.
COUNT_MAX = 1 << 26

# Evaluating the annotations of all row classes takes as long as decoding 10,000 rows.
_hints = cache(get_type_hints)

Special = dict[str, Any]
"""Actual types of the fields that a class declares as Any, by field."""


class CorruptData(ValueError):
    """The bytes can't be decoded as the expected values."""


class Column:
    """Codec for a list of values of one type. The caller stores the number of values. Decoding raises CorruptData or a MsgspecError."""

    def __init__(self, kind: Any) -> None:
        self._many: Any = list[kind]
        self._decoder: msgpack.Decoder[list[Any]] = msgpack.Decoder(self._many)
        self._is_chosen = kind in (str, bytes)
        is_struct = isinstance(kind, type) and issubclass(kind, Struct) and bool(kind.__struct_fields__)
        self._structs = Structs(kind) if is_struct else None

    def pack(self, values: list[Any], *, is_plain: bool = False) -> bytes:
        """Encode the values. With `is_plain`, each value is written separately and takes at least one byte."""
        if is_plain:
            return _plain(values)
        if values and values[-1] == values[0] and values.count(values[0]) == len(values):
            return msgpack.encode([CONSTANT, Raw(_plain(values[:1]))])
        if values and self._structs is not None:
            return msgpack.encode([STRUCTS, Raw(self._structs.pack(values))])
        if self._is_chosen and (choices := _choices(values)):
            return msgpack.encode([CHOSEN, [Raw(_plain(list(choices))), [choices[value] for value in values]]])
        return _plain(values)

    def unpack(self, data: bytes | Raw, count: int) -> list[Any]:
        """Decode the values."""
        values, is_constant = self._unpack(data, count)
        return values * count if is_constant else values

    def iterate(self, data: bytes | Raw, count: int) -> Iterable[Any]:
        """Decode the values for one iteration. If all values are equal, the iteration is endless."""
        values, is_constant = self._unpack(data, count)
        return repeat(values[0]) if is_constant else values

    def _unpack(self, data: bytes | Raw, count: int) -> tuple[list[Any], bool]:
        """Return the values and False. For a column of equal values, return a list of that single value and True."""
        if not 0 <= count <= COUNT_MAX:
            raise CorruptData(f"a column of {count} values")
        kind, payload = _PAIR.decode(data)
        if kind == CONSTANT:
            return _counted(self._simple(*_PAIR.decode(payload)), 1), True
        if kind == STRUCTS and self._structs is not None:
            values = self._structs.unpack(payload, count)
        elif kind == CHOSEN:
            packed, places = _CHOSEN.decode(payload)
            choices = self._simple(*_PAIR.decode(packed))
            if places and not 0 <= min(places) <= max(places) < len(choices):
                raise CorruptData("a column refers to a choice that doesn't exist")
            values = [choices[place] for place in places]
        else:
            values = self._simple(kind, payload)
        return _counted(values, count), False

    def _simple(self, kind: int, payload: Raw) -> list[Any]:
        """Decode values that were written one by one."""
        if kind == PLAIN:
            return self._decoder.decode(payload)
        if kind == WIDE:
            values: list[Any] = convert(_WIDE.decode(payload), self._many)
            return values
        raise CorruptData(f"a column of unknown kind {kind}")


class Structs:
    """Codec for structs of one class: a column per field, except the fields in `without`."""

    def __init__(self, cls: type[Struct], special: Special | None = None, without: tuple[str, ...] = ()) -> None:
        hints = _hints(cls) | (special or {})
        self._make: Callable[..., Any] = cls
        self._fields = [field for field in cls.__struct_fields__ if field not in without]
        self._columns = [Column(hints[field]) for field in self._fields]

    def pack(self, values: Sequence[Any]) -> bytes:
        """Encode the structs."""
        columns = zip(self._columns, self._fields, strict=True)
        return msgpack.encode([Raw(column.pack(list(map(attrgetter(field), values)))) for column, field in columns])

    def unpack(self, data: bytes | Raw, count: int) -> list[Any]:
        """Decode the structs."""
        packed = msgpack.decode(data, type=list[Raw])
        if len(packed) != len(self._columns):
            raise CorruptData(f"{len(packed)} columns instead of {len(self._columns)}")
        columns = [column.iterate(part, count) for column, part in zip(self._columns, packed, strict=True)]
        return list(islice(map(self._make, *columns), count))


def schema(kind: Any, special: Special | None = None) -> str:
    """Describe a type as text. Types with equal descriptions can read each other's bytes."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        hints = _hints(kind) | (special or {})
        return f"{kind.__name__}({', '.join(f'{field}: {schema(hints[field])}' for field in kind.__struct_fields__)})"
    if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
        hints = _hints(kind)
        return f"{kind.__name__}({', '.join(f'{field}: {schema(hints[field])}' for field in kind._fields)})"
    arguments = get_args(kind)
    if not arguments:
        return getattr(kind, "__name__", repr(kind))
    origin = get_origin(kind)
    # Python 3.14 has one class for both notations of a union.
    name = "|" if origin in (Union, UnionType) else getattr(origin, "__name__", repr(origin))
    return f"{name}[{', '.join(schema(part) for part in arguments)}]"


def to_msgpack_ext(value: Any) -> Any:
    """Convert a value to a form that MessagePack can represent without loss."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return msgpack.Ext(TEXT, value.encode("utf-8", "surrogatepass"))
        return value
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else msgpack.Ext(INTEGER, str(value).encode())
    if isinstance(value, tuple | list):
        return [to_msgpack_ext(part) for part in value]
    if isinstance(value, Struct):
        return {field: to_msgpack_ext(getattr(value, field)) for field in value.__struct_fields__}
    return value


def from_msgpack_ext(code: int, data: memoryview) -> Any:
    """Decode the value of an extension type."""
    if code == TEXT:
        return bytes(data).decode("utf-8", "surrogatepass")
    if code == INTEGER:
        return int(bytes(data))
    raise CorruptData(f"unknown extension type {code}")


_WIDE: msgpack.Decoder[list[Any]] = msgpack.Decoder(list[Any], ext_hook=from_msgpack_ext)
_PAIR: msgpack.Decoder[tuple[int, Raw]] = msgpack.Decoder(tuple[int, Raw])
_CHOSEN: msgpack.Decoder[tuple[Raw, list[int]]] = msgpack.Decoder(tuple[Raw, list[int]])


def _plain(values: list[Any]) -> bytes:
    """Encode the values one by one."""
    try:
        return msgpack.encode([PLAIN, values])
    except (UnicodeEncodeError, OverflowError):
        return msgpack.encode([WIDE, [to_msgpack_ext(value) for value in values]])


def _choices(values: list[Any]) -> dict[Any, int]:
    """Number the distinct values. Return {} if there are too many of them for indices to save space."""
    sample = values[:SAMPLE]
    if len(set(sample)) * 2 > len(sample):
        return {}
    choices = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return choices if len(choices) * CHOSEN_SHARE <= len(values) else {}


def _counted(values: list[Any], count: int) -> list[Any]:
    if len(values) != count:
        raise CorruptData(f"a column has {len(values)} values instead of {count}")
    return values
