"""Decodes the bytes of a request as one JSON value, with the reference's limits.

Only the first value of a body counts. White space before it and anything after it are ignored. Source: rpc-api.md §1.3, §1.13.
"""

import re
from itertools import accumulate
from typing import Any

import msgspec

from state.protocol.errors import EndOfFile, ParseError, require
from state.protocol.values.convert import json_int, to_text
from state.protocol.values.integers import INT64_MIN, UINT64_MAX

BODY_SIZE_MAX = 32_000_000  # bytes
DEPTH_MAX = 99
# Commas and brackets, including those in texts. A full block of the smallest operations has a third as many. Decoding that many takes a
# few tenths of a second, in which no other request is answered.
MARKS_MAX = 6_000_000
# Limits without local rights, which pushing blocks needs: enough for the largest transaction, or a batch of thousands of calls.
REMOTE_SIZE_MAX = 4_000_000  # bytes
REMOTE_MARKS_MAX = 200_000

# Memory of an object, and of a member or array, in bytes.
OBJECT_SIZE, MEMBER_SIZE = 200, 80

# Limits on an array that a refusal shows.
SHOWN_MEMBERS_MAX = 1000
SHOWN_SIZE_MAX = 4096  # characters

NO_UTF8 = "The request is not valid UTF-8"
LONG_DIGITS = 19
_BLANK = b" \t\r\n"
# Digits are mapped to zeros, to search for a run of zeros. A regular expression takes eight times as long.
_DIGITS_AS_ZEROS = bytes(ord("0") if byte in b"0123456789" else 0 for byte in range(256))
_LONG_NUMBER = b"0" * LONG_DIGITS
# msgspec's error for bytes after a value; the number is one more than their position.
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)\Z")
_decode = msgspec.json.Decoder().decode
_skip = msgspec.json.Decoder(msgspec.Raw).decode
_too_deep = DEPTH_MAX.__lt__


def read_json(body: bytes, is_local: bool = True) -> Any:
    """Decode the first JSON value of a body.

    Raises: ChainError if there is no valid value.
    """
    if len(body) > REMOTE_MARKS_MAX:
        check_marks(body, size_limits(body, is_local))
    check_depth(body)
    if len(body) > REMOTE_MARKS_MAX:
        body = _without_rest(body)
    try:
        value = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        value = _first_value(body, error)
    refusal = _unreadable_integer(value) if _may_hold_long_number(body) else None
    if refusal is not None:
        raise refusal
    return value


def size_max(is_local: bool) -> int:
    """Return the size limit for the body of a request, in bytes."""
    return BODY_SIZE_MAX if is_local else REMOTE_SIZE_MAX


def values_size(body: bytes) -> int:
    """Estimate the memory of the decoded values of a body, in bytes. The worst bodies take little more.

    In a text with a character beyond the basic plane, every character takes four bytes.
    """
    width = 1 if body.isascii() and b"\\u" not in body else 4
    return width * len(body) + MEMBER_SIZE * (body.count(b",") + body.count(b"[")) + OBJECT_SIZE * body.count(b"{")


def size_limits(body: bytes, is_local: bool) -> int:
    """Return how many commas and brackets a body may have.

    Raises: Refused if it has more bytes than its sender may send.
    """
    if is_local:
        return MARKS_MAX
    check_size(body)
    return REMOTE_MARKS_MAX


def check_size(body: bytes) -> None:
    """Refuse a body that is too large for a client without local rights."""
    text = "A request may have at most ${most} bytes, unless it comes from a program on the machine of the node"
    require(len(body) <= REMOTE_SIZE_MAX, text, condition=f"size <= {REMOTE_SIZE_MAX}", most=REMOTE_SIZE_MAX)


def check_marks(body: bytes, most: int) -> None:
    """Refuse a body with more than `most` commas and brackets, before it is decoded."""
    if len(body) > most:
        require(count_marks(body) <= most, "The request holds too many values", condition=f"commas + brackets <= {most}")


def count_marks(body: bytes) -> int:
    """Return the number of commas and brackets."""
    return sum(map(body.count, (b",", b"[", b"]", b"{", b"}")))


def check_depth(body: bytes) -> None:
    """Refuse a body that is nested too deep. Like the reference, count all brackets, including those inside texts."""
    for start, end in (b"{}", b"[]"):
        if body.count(start) > DEPTH_MAX:
            depths = accumulate(_steps(body, start, end))
            require(not next(filter(_too_deep, depths), None), "object graph too deep", condition="open_object < 100 && open_array < 100")


def _steps(body: bytes, start: int, end: int) -> memoryview:
    """Return 1 for each opening bracket and -1 for each closing bracket, in order."""
    others = bytes(byte for byte in range(256) if byte not in (start, end))
    steps = bytes.maketrans(bytes((start, end)), b"\x01\xff")
    return memoryview(body.translate(steps, others)).cast("b")


def _without_rest(body: bytes) -> bytes:
    """Return a large body without the bytes after its first value, so that its values are decoded only once."""
    try:
        _skip(body)
    except msgspec.DecodeError as error:
        if found := _TRAILING.search(str(error)):
            return body[: int(found[1]) - 1]
    return body


def _first_value(body: bytes, error: Exception) -> Any:
    """Decode the first value of a body that can't be decoded as a whole because of `error`. Raises: ChainError if it is malformed."""
    found = _TRAILING.search(str(error))
    if found is not None:
        return _decode(body[: int(found[1]) - 1])
    if not body.strip(_BLANK):
        raise EndOfFile("stringstream")
    raise ParseError(NO_UTF8) if isinstance(error, UnicodeError) else ParseError("${reason}", reason=str(error))


def _may_hold_long_number(body: bytes) -> bool:
    """Whether a run of digits, in a text or not, is long enough for an integer that exceeds 64 bits."""
    return _LONG_NUMBER in body.translate(_DIGITS_AS_ZEROS)


def _unreadable_integer(value: Any) -> ParseError | None:
    """Return the refusal of the first integer that fits no 64-bit type, with the enclosing values as in the reference."""
    # The path of the walk, from the outside in: each array or object, its members, and the index of the next member.
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
    """Return the refusal of an integer that fits no 64-bit type."""
    return ParseError("Couldn't parse uint64_t" if value > 0 else "Couldn't parse int64_t")


def _error_position(error: ParseError, value: Any, before: list[Any]) -> None:
    """Add to a refusal that the value is in an array after these members, or in an object."""
    if type(value) is list:
        error.frames.append(("Attempting to parse array ${array}", {"array": ReadSoFar(before)}))
    else:
        error.frames.append(("Error parsing object", {}))


class ReadSoFar(list[Any]):
    """The members of an array before the refused one, printed as the reference prints JSON.

    Empty if the text would exceed SHOWN_SIZE_MAX, where the reference prints all of it.
    """

    def __init__(self, members: list[Any]) -> None:
        if len(members) <= SHOWN_MEMBERS_MAX and not _is_longer(members, SHOWN_SIZE_MAX):
            super().__init__(map(_shown, members))
            if len(str(self)) > SHOWN_SIZE_MAX:
                self.clear()

    def __str__(self) -> str:
        return msgspec.json.encode(list(self)).decode()


def _is_longer(members: list[Any], size: int) -> bool:
    """Whether members certainly print with more than `size` characters. Examines only as many members as that needs."""
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
    """Return a JSON value with numbers as the reference writes them: large and real numbers as texts."""
    if type(value) is int:
        return json_int(value)
    if type(value) is float:
        return to_text(value)
    if type(value) is list:
        return [_shown(item) for item in value]
    if type(value) is dict:
        return {key: _shown(item) for key, item in value.items()}
    return value
