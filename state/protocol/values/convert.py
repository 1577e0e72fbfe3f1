"""The reference's conversions of JSON values to numbers, texts and bools, with its errors.

Inputs are the values of a standard JSON decoder. Numbers beyond the range of the target type wrap silently.
Source: wire-format.md §1.1, §1.14, §1.16, §1.18; rpc-api.md §1.9.
"""

import re
from collections.abc import Sequence
from typing import Any

from state.protocol.errors import BadCast, ParseError
from state.protocol.values.integers import INT64_MIN, UINT32_MAX, UINT64_MAX, WORD128
from state.protocol.values.text import read_integer

JSON_NUMBER_MAX = UINT32_MAX
CHOICE_MASK = UINT32_MAX
# 10^128, 8^128 and 16^128 are multiples of 2^128, so digits before the last 128 have no effect.
U128_DIGITS = 128
U128_TEXT = re.compile(r"(-?)(?:0x([0-9A-Fa-f]*)|0([0-7]*)|([0-9]*))")

# The reference's type names, for the messages of bad casts. A number without a sign is unsigned.
KINDS = {type(None): "null_type", float: "double_type", bool: "bool_type", str: "string_type", list: "array_type", dict: "object_type"}


def kind_of(value: Any) -> str:
    """Return the reference's name for the type of a JSON value."""
    if type(value) is int:
        return "uint64_type" if value >= 0 else "int64_type"
    return KINDS[type(value)]


def to_int(value: Any, bits: int, signed: bool) -> int:
    """Convert a JSON value to a machine integer. Large values wrap.

    Texts in the 64-bit range, bools, null (0) and reals (truncated) are accepted.
    """
    if type(value) is int and 0 <= value < 1 << bits - signed:
        return value
    if type(value) is str:
        number = _int_from_text(value, signed)
    elif isinstance(value, int):
        number = _machine_int(value)
    elif value is None:
        return 0
    elif type(value) is float:
        number = _int_from_real(value, signed)
    else:
        raise _bad_cast(value, "int64" if signed else "uint64")
    number %= 1 << bits
    return number - (1 << bits) if signed and number >> bits - 1 else number


def to_bool(value: Any) -> bool:
    """Convert a JSON value to a bool. The texts `"true"` and `"false"`, numbers (true unless 0) and null (false) are accepted."""
    if value is True or value is False:
        return value
    if type(value) is str:
        if value not in ("true", "false"):
            raise BadCast('Cannot convert string to bool (only "true" or "false" can be converted)')
        return value == "true"
    if value is None or isinstance(value, int | float):
        return bool(value)
    raise _bad_cast(value, "bool")


def to_text(value: Any) -> str:
    """Convert a scalar to text: reals with 17 decimals, null as the empty text."""
    if type(value) is str:
        return value
    if value is None:
        return ""
    if value is True or value is False:
        return "true" if value else "false"
    if type(value) is int:
        return str(_machine_int(value))
    if type(value) is float:
        return f"{value:.17f}"
    raise _bad_cast(value, "string")


def to_array(value: Any) -> list[Any]:
    """Return a JSON array. Raises BadCast for other values."""
    if type(value) is list:
        return value
    raise BadCast("Invalid cast from ${type} to Array", type=kind_of(value))


def to_object(value: Any) -> dict[str, Any]:
    """Return a JSON object. Raises BadCast for other values."""
    if type(value) is dict:
        return value
    raise BadCast("Invalid cast from type '${type}' to Object", type=kind_of(value))


def to_u128(value: Any) -> int:
    """Convert the text of a scalar to an unsigned 128-bit number: decimal, hex with `0x`, or octal with `0`.

    The number ends at the first other character.
    """
    match = U128_TEXT.match(to_text(value))
    assert match
    sign, hexadecimal, octal, decimal = match.groups()
    digits, base = (hexadecimal, 16) if hexadecimal is not None else (octal, 8) if octal is not None else (decimal, 10)
    number = int(digits[-U128_DIGITS:] or "0", base)
    return (-number if sign else number) % WORD128


def to_choice(value: Any, names: Sequence[str], title: str) -> int:
    """Return the index in `names` of an enumeration's member. A text is a name or a number; other values are converted by `to_int`.

    Only the lower 32 bits of a number are used, since the reference's enumerations have 32 bits. A refusal contains the full number.
    """
    if type(value) is str:
        name = _until_nul(value)
        if name in names:
            return names.index(name)
        number = read_integer(name, 64, signed=True)
        if number is None:
            raise BadCast("invalid name '${key}' in enum '${enum}'", key=name, enum=title)
    else:
        number = to_int(value, 64, signed=True)
    place = number & CHOICE_MASK
    if place >= len(names):
        raise BadCast("invalid index '${key}' in enum '${enum}'", key=number, enum=title)
    return place


def json_int(value: int) -> int | str:
    """Return an integer in the reference's JSON form: a text above 2^32-1, otherwise a number, even if negative."""
    return value if value <= JSON_NUMBER_MAX else str(value)


def _int_from_text(text: str, signed: bool) -> int:
    number = read_integer(_until_nul(text), 64, signed)
    if number is None:
        raise _unreadable(signed)
    return number


def _until_nul(text: str) -> str:
    """Return a text up to its first NUL, because the reference treats it as a C string."""
    return text.partition("\0")[0]


def _int_from_real(value: float, signed: bool) -> int:
    """Truncate toward 0. Values out of the 64-bit range are converted as on the reference's processor."""
    if INT64_MIN <= value < 1 << (63 if signed else 64):
        return int(value)
    return 0 if value > 0 and not signed else INT64_MIN


def _machine_int(value: int) -> int:
    """Require an integer of at most 64 bits and return it. The reference can't parse larger ones for any target type."""
    if not INT64_MIN <= value <= UINT64_MAX:
        raise _unreadable(signed=value < 0)
    return int(value)


def _unreadable(signed: bool) -> ParseError:
    return ParseError(f"Couldn't parse {'int64_t' if signed else 'uint64_t'}")


def _bad_cast(value: Any, target: str) -> BadCast:
    return BadCast("Invalid cast from ${type} to " + target, type=kind_of(value))
