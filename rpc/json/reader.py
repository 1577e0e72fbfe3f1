"""Decodes the bytes of a request as a JSON value, with the reference's limits.

Only the first value in a body is used. White space before it and any bytes after it are ignored. Source: rpc-api.md §1.3, §1.13.
"""

import re
from itertools import accumulate, chain
from math import isinf
from typing import Any

import msgspec

from state.protocol.errors import ChainError, EndOfFile, ParseError, require
from state.protocol.values.convert import json_int, to_text
from state.protocol.values.integers import INT64_MIN, UINT64_MAX

BODY_SIZE_MAX = 32_000_000  # bytes
DEPTH_MAX = 99
# Maximum number of commas and brackets, including those in strings. A full block of the smallest operations has a third of this number.
# Decoding the maximum takes a few tenths of a second, during which no other request is answered.
MARKS_MAX = 6_000_000
# Limits for callers without local rights, who can't push blocks. They allow the largest transaction, or a batch of thousands of calls.
REMOTE_SIZE_MAX = 4_000_000  # bytes
REMOTE_MARKS_MAX = 200_000

# Estimated memory of an object, and of each member of an object or element of an array, in bytes.
OBJECT_SIZE, MEMBER_SIZE = 200, 80

# Limits for an array that the message of a refusal contains.
SHOWN_MEMBERS_MAX = 1000
SHOWN_SIZE_MAX = 4096  # characters

NO_UTF8 = "The request is not valid UTF-8"
LONG_DIGITS = 19
_BLANK = b" \t\r\n"
# Translates all digits to zeros, and whatever can precede an integer to commas. A long integer can then be found as a comma and a run of
# zeros. A regular expression would take eight times as long.
_DIGITS_AS_ZEROS = bytes(ord("0") if byte in b"0123456789" else ord(",") if byte in b" \t\r\n[:,-" else 0 for byte in range(256))
_LONG_NUMBER = b"0" * LONG_DIGITS
# msgspec's error for bytes after the value. The number in it is the position of the first such byte, counted from 1.
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)\Z")
# For objects and arrays: the opening bracket; a table that translates it to 1, and the closing one to -1; and all other bytes.
_BRACKETS = [
    (bytes([start]), bytes.maketrans(bytes([start, end]), b"\x01\xff"), bytes({*range(256)} - {start, end}))
    for start, end in (b"{}", b"[]")
]


def _real(text: str) -> float:
    """Parse a real number with the same result as msgspec, which takes twenty times as long for very large and very small numbers.

    Raises ValueError with msgspec's message if the number is out of range.
    """
    value = float(text)
    if isinf(value):
        raise ValueError("Number out of range")
    return value


_decode = msgspec.json.Decoder(float_hook=_real).decode


def read_json(body: bytes, is_local: bool = True) -> Any:
    """Decode the first JSON value in a body. Raises ChainError if there is no valid value."""
    if len(body) > REMOTE_MARKS_MAX:
        check_marks(body, size_limits(body, is_local))
    may_be_deep = body.count(b"[") + body.count(b"{") > DEPTH_MAX
    if may_be_deep:
        check_depth(body)
    try:
        value = _first_value(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _refusal(body, error) from None
    except RecursionError:
        _require_depth(False)
    if may_be_deep:
        _require_depth(not _is_deep(value))
    refusal = _unreadable_integer(value) if _may_hold_long_number(body) else None
    if refusal is not None:
        raise refusal
    return value


def read_reply(body: bytes) -> Any:
    """Decode a reply of another node, with the limits of requests, except that brackets in strings don't count. Raises ChainError."""
    check_marks(body, MARKS_MAX)
    try:
        value = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _refusal(body, error) from None
    except RecursionError:
        _require_depth(False)
    _require_depth(not _is_deep(value))
    refusal = _unreadable_integer(value) if _may_hold_long_number(body) else None
    if refusal is not None:
        raise refusal
    return value


def size_max(is_local: bool) -> int:
    """Return the maximum size of a request body, in bytes."""
    return BODY_SIZE_MAX if is_local else REMOTE_SIZE_MAX


def values_size(body: bytes) -> int:
    """Estimate the memory of a body's decoded values, in bytes. Even the worst bodies need only a little more than the estimate.

    In a string with a character beyond the basic multilingual plane, every character takes four bytes.
    """
    width = 1 if body.isascii() and b"\\u" not in body else 4
    return width * len(body) + MEMBER_SIZE * (body.count(b",") + body.count(b"[")) + OBJECT_SIZE * body.count(b"{")


def size_limits(body: bytes, is_local: bool) -> int:
    """Return the maximum number of commas and brackets in a body. Raises Refused if the body is larger than its sender may send."""
    if is_local:
        return MARKS_MAX
    check_size(body)
    return REMOTE_MARKS_MAX


def check_size(body: bytes) -> None:
    """Refuse a body that is too large for a client without local rights."""
    text = "A request may have at most ${most} bytes, unless it comes from a program on the machine of the node"
    require(len(body) <= REMOTE_SIZE_MAX, text, condition=f"size <= {REMOTE_SIZE_MAX}", most=REMOTE_SIZE_MAX)


def check_marks(body: bytes, marks_max: int) -> None:
    """Refuse a body with more than `marks_max` commas and brackets. Call this before decoding the body."""
    if len(body) > marks_max:
        require(count_marks(body) <= marks_max, "The request holds too many values", condition=f"commas + brackets <= {marks_max}")


def count_marks(body: bytes) -> int:
    """Return the number of commas and brackets in a body."""
    return sum(map(body.count, (b",", b"[", b"]", b"{", b"}")))


def check_depth(body: bytes) -> None:
    """Refuse a body that is nested too deeply. As in the reference, brackets in strings count, too."""
    for start, steps, others in _BRACKETS:
        if body.count(start) > DEPTH_MAX:
            _require_depth(max(accumulate(memoryview(body.translate(steps, others)).cast("b"))) <= DEPTH_MAX)


def _require_depth(is_met: bool) -> None:
    """Refuse a body that is nested too deeply, unless `is_met` is true."""
    require(is_met, "object graph too deep", condition="open_object < 100 && open_array < 100")


def _is_deep(value: Any) -> bool:
    """Whether a value is nested too deeply for recursive functions. `check_depth` can miss this, because it counts brackets in strings."""
    level: list[Any] = [[value]]
    for _ in range(2 * DEPTH_MAX + 1):  # arrays and objects
        members = chain.from_iterable(value.values() if type(value) is dict else value for value in level)
        level = [member for member in members if type(member) is list or type(member) is dict]
        if not level:
            return False
    return True


def _first_value(body: bytes) -> Any:
    """Decode the first value of a body, and ignore the bytes after it."""
    try:
        return _decode(body)
    except msgspec.DecodeError as error:
        if found := _TRAILING.search(str(error)):
            return _decode(body[: int(found[1]) - 1])
        raise


def _refusal(body: bytes, error: Exception) -> ChainError:
    """Return the error for a body whose first value can't be decoded because of `error`."""
    if not body.strip(_BLANK):
        return EndOfFile("stringstream")
    return ParseError(NO_UTF8) if isinstance(error, UnicodeError) else ParseError("${reason}", reason=str(error))


def _may_hold_long_number(body: bytes) -> bool:
    """Whether a body can contain an integer of more than 64 bits. Digits in strings count, too, but not those after letters, so that the
    hexadecimal digits of signatures don't count.
    """
    digits = body.translate(_DIGITS_AS_ZEROS)
    return _LONG_NUMBER in digits and (b"," + _LONG_NUMBER in digits or digits.startswith(_LONG_NUMBER))


def _unreadable_integer(value: Any) -> ParseError | None:
    """Find the first integer that doesn't fit any 64-bit type. Return its error, or None if all integers fit.

    As in the reference, the error describes the values that enclose the integer.
    """
    # The path to the current value, outermost first. Each entry is an array or object, its elements, and the index of the next element.
    path: list[tuple[Any, list[Any], int]] = [([value], [value], 0)]
    while path:
        value, members, begin = path.pop()
        for at in range(begin, len(members)):
            member = members[at]
            kind = type(member)
            if kind is list or kind is dict:
                path += (value, members, at + 1), (member, member if kind is list else list(member.values()), 0)
                break
            if kind is int and not INT64_MIN <= member <= UINT64_MAX:
                error = _no_integer(member)
                for outer, others, following in [*path, (value, members, at + 1)][:0:-1]:
                    _error_position(error, outer, others[: following - 1])
                return error
    return None


def _no_integer(value: int) -> ParseError:
    """Return the error for an integer that doesn't fit any 64-bit type."""
    return ParseError("Couldn't parse uint64_t" if value > 0 else "Couldn't parse int64_t")


def _error_position(error: ParseError, value: Any, before: list[Any]) -> None:
    """Add a stack frame for the array or object `value` to the error of a refused value in it. `before` are the elements preceding it."""
    if type(value) is list:
        error.frames.append(("Attempting to parse array ${array}", {"array": ReadSoFar(before)}))
    else:
        error.frames.append(("Error parsing object", {}))


class ReadSoFar(list[Any]):
    """The elements of an array that precede the refused one, formatted as the reference prints JSON.

    If their text would exceed SHOWN_SIZE_MAX, the list is empty; the reference prints them in full.
    """

    def __init__(self, members: list[Any]) -> None:
        if len(members) <= SHOWN_MEMBERS_MAX and not _is_longer(members, SHOWN_SIZE_MAX):
            super().__init__(map(_shown, members))
            if len(str(self)) > SHOWN_SIZE_MAX:
                self.clear()

    def __str__(self) -> str:
        return msgspec.json.encode(list(self)).decode()


def _is_longer(members: list[Any], size: int) -> bool:
    """Whether the JSON text of these members is certainly longer than `size` characters. Stops counting as soon as this is known."""
    rest = [members]
    while rest and size >= 0:
        some = rest.pop()
        size -= len(some)
        if size < 0:
            break
        for member in some:
            if type(member) is str:
                size -= len(member)
            elif type(member) is list:
                rest.append(member)
            elif type(member) is dict:
                if len(member) > size:
                    return True
                rest.append([*member, *member.values()])
    return size < 0


def _shown(value: Any) -> Any:
    """Convert a JSON value to the reference's output form: large and real numbers become strings."""
    if type(value) is int:
        return json_int(value)
    if type(value) is float:
        return to_text(value)
    if type(value) is list:
        return [_shown(item) for item in value]
    if type(value) is dict:
        return {key: _shown(item) for key, item in value.items()}
    return value
