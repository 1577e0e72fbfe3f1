"""Reads the bytes of a request as one JSON value, with the reference's limits. Nothing here knows the envelope.

A standard decoder reads the first value of a body; white space before it and anything after it are ignored. Source: rpc-api.md §1.3, §1.13.
"""

import json
import re
from collections.abc import Generator, Iterator
from itertools import accumulate
from typing import Any

import msgspec

from rpc.json.incremental import JsonSyntaxError, first_value
from state.protocol.errors import ChainError, EndOfFile, ParseError, require
from state.protocol.values.convert import json_int, to_text
from state.protocol.values.integers import INT64_MIN, UINT64_MAX

BODY_SIZE_MAX = 32_000_000
DEPTH_MAX = 99
# Commas and brackets, those in texts too. A full block of the smallest operations has a third of them; decoding so many takes
# a few tenths of a second, in which nobody else is answered.
MARKS_MAX = 6_000_000
# The same for whoever has no local rights, and so can push no block: what the largest transaction takes, or a batch of thousands of calls.
REMOTE_SIZE_MAX = 4_000_000
REMOTE_MARKS_MAX = 200_000

# How much of an array a refusal may show.
SHOWN_MEMBERS_MAX = 1000
SHOWN_SIZE_MAX = 4096

# How many bytes of a large body are looked at in a slice, and how many of its values.
CHUNK_SIZE = 1 << 18
WALKED_CHUNK = 20_000

NO_UTF8 = "The request is not valid UTF-8"
LONG_DIGITS = 19
_BLANK = b" \t\r\n"
# Every digit is made a zero, and zeros in a row are looked for: a pattern takes eight times as long to find digits in a row.
_DIGITS_AS_ZEROS = bytes(ord("0") if byte in b"0123456789" else 0 for byte in range(256))
_LONG_NUMBER = b"0" * LONG_DIGITS
_FIRST_VALUE = json.JSONDecoder()
_decode = msgspec.json.Decoder().decode
_too_deep = DEPTH_MAX.__lt__


def read_json(body: bytes, is_local: bool = True) -> Any:
    """Return the first JSON value of a body; raises a ChainError if there is none.

    Nobody else is answered meanwhile; large bodies are for `read_json_in_steps`.
    """
    if len(body) > REMOTE_MARKS_MAX:
        check_marks(body, size_limits(body, is_local))
    check_depth(body)
    try:
        value = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = _first_value(body)
    error = _unreadable_integer(value) if _may_hold_long_number(body) else None
    if error is not None:
        raise error
    return value


def read_json_in_steps(body: bytes, is_local: bool = True) -> Generator[None, None, Any]:
    """Return what `read_json` returns, or raise what it raises; yields after each slice of the work."""
    most = size_limits(body, is_local)
    if len(body) > most:
        marks = 0
        for piece in pieces(body):
            marks += count_marks(piece)
            yield
        require_marks(marks, most)
    for start, end in (b"{}", b"[]"):
        depth = 0
        for piece in pieces(body):
            depth = check_depth_from(depth, piece, start, end)
            yield
    begin = re.compile(rb"[ \t\r\n]*").match(body).end()  # type: ignore[union-attr]  # no blanks match as well
    if begin == len(body):
        raise EndOfFile("stringstream")
    try:
        value = yield from first_value(body, begin)
    except JsonSyntaxError as error:
        raise ParseError("${reason}", reason=error.reason) if error.is_utf8 else ParseError(NO_UTF8) from None
    for begin in range(0, len(body), CHUNK_SIZE):
        if _may_hold_long_number(body[begin : begin + CHUNK_SIZE + LONG_DIGITS - 1]):
            found = yield from _unreadable_in_slices(value)
            if found is not None:
                raise found
            break
        yield
    return value


def pieces(body: bytes) -> Iterator[bytes]:
    """Yield a body in pieces of a slice each."""
    return (body[begin : begin + CHUNK_SIZE] for begin in range(0, len(body), CHUNK_SIZE))


def size_limits(body: bytes, is_local: bool) -> int:
    """Return how many commas and brackets a body may have; refuse one of more bytes than its sender may send."""
    if is_local:
        return MARKS_MAX
    check_size(body)
    return REMOTE_MARKS_MAX


def check_size(body: bytes) -> None:
    """Refuse a body that only a program with local rights may send."""
    text = "A request may have at most ${most} bytes, unless it comes from a program on the machine of the node"
    require(len(body) <= REMOTE_SIZE_MAX, text, condition=f"size <= {REMOTE_SIZE_MAX}", most=REMOTE_SIZE_MAX)


def check_marks(body: bytes, most: int) -> None:
    """Refuse a body that may hold more values than one request can need, before it is decoded."""
    if len(body) > most:
        require_marks(count_marks(body), most)


def count_marks(body: bytes) -> int:
    """Return how many commas and brackets there are."""
    return sum(map(body.count, (b",", b"[", b"]", b"{", b"}")))


def require_marks(marks: int, most: int) -> None:
    """Refuse more marks than a request may have."""
    require(marks <= most, "The request holds too many values", condition=f"commas + brackets <= {most}")


def check_depth(body: bytes) -> None:
    """Refuse a body that is nested too deep; like the reference, count brackets everywhere, also inside of texts."""
    if body.count(b"{") > DEPTH_MAX:
        check_depth_from(0, body, *b"{}")
    if body.count(b"[") > DEPTH_MAX:
        check_depth_from(0, body, *b"[]")


def check_depth_from(depth: int, body: bytes, start: int, end: int) -> int:
    """Refuse a part of a body, before which so many brackets are open, that is nested too deep; returns how many are open after it."""
    opened = body.count(start)
    if depth + opened > DEPTH_MAX:
        depths = accumulate(_steps(body, start, end), initial=depth)
        require(not next(filter(_too_deep, depths), None), "object graph too deep", condition="open_object < 100 && open_array < 100")
    return depth + opened - body.count(end)


def _steps(body: bytes, start: int, end: int) -> memoryview:
    """1 for each opening bracket and -1 for each closing one, in their order."""
    others = bytes(byte for byte in range(256) if byte not in (start, end))
    steps = bytes.maketrans(bytes((start, end)), b"\x01\xff")
    return memoryview(body.translate(steps, others)).cast("b")


def _first_value(body: bytes) -> Any:
    """Return the first value of a body that isn't one JSON value as a whole."""
    body = body.lstrip(_BLANK)
    if not body:
        raise EndOfFile("stringstream")
    text = body.decode("utf-8", "surrogateescape")
    try:
        _, end = _FIRST_VALUE.raw_decode(text)
        return _decode(text[:end].encode("utf-8", "surrogateescape"))
    except (ValueError, msgspec.DecodeError) as error:
        raise _malformed(error) from None


def _malformed(error: Exception) -> ChainError:
    """Return the refusal of a text that can't be decoded."""
    if isinstance(error, UnicodeError):
        return ParseError(NO_UTF8)
    return ParseError("${reason}", reason=str(error))


def _may_hold_long_number(body: bytes) -> bool:
    """Whether so many digits stand in a row, in a text or not, that an integer of them may be too large."""
    return _LONG_NUMBER in body.translate(_DIGITS_AS_ZEROS)


def _unreadable_integer(value: Any) -> ParseError | None:
    """The refusal of the first integer that neither 64-bit type holds; like the reference's it says what the integer stands in."""
    steps = _unreadable_in_slices(value)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: ParseError | None = end.value
            return found


def _unreadable_in_slices(value: Any) -> Generator[None, None, ParseError | None]:
    """Return what `_unreadable_integer` does; yields after each slice."""
    # What is being walked through, from the outside in: each array or object, its members, and the place of the next member.
    path: list[tuple[Any, list[Any], int]] = [([value], [value], 0)]
    seen = 0
    while path:
        value, members, begin = path.pop()
        for at in range(begin, len(members)):
            member = members[at]
            seen += 1
            if seen % WALKED_CHUNK == 0:
                yield
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
    """Return the refusal of an integer that neither 64-bit type holds."""
    return ParseError("Couldn't parse uint64_t" if value > 0 else "Couldn't parse int64_t")


def _error_position(error: ParseError, value: Any, before: list[Any]) -> None:
    """Note that a refused value stands in an array after these members, or in an object."""
    if type(value) is list:
        error.frames.append(("Attempting to parse array ${array}", {"array": ReadSoFar(before)}))
    else:
        error.frames.append(("Error parsing object", {}))


class ReadSoFar(list[Any]):
    """The members of an array that have been read when one is refused; they print as the reference prints JSON.

    Where that would take more than a few thousand characters, nothing is shown; the reference prints all of it.
    """

    def __init__(self, members: list[Any]) -> None:
        if len(members) <= SHOWN_MEMBERS_MAX and not _is_longer(members, SHOWN_SIZE_MAX):
            super().__init__(map(_shown, members))
            if len(str(self)) > SHOWN_SIZE_MAX:
                self.clear()

    def __str__(self) -> str:
        return msgspec.json.encode(list(self)).decode()


def _is_longer(members: list[Any], size: int) -> bool:
    """Whether members print with more characters in any case; looks at no more of them than that takes."""
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
    """A JSON value with its numbers as the reference writes them: texts where they are large or real."""
    if type(value) is int:
        return json_int(value)
    if type(value) is float:
        return to_text(value)
    if type(value) is list:
        return [_shown(item) for item in value]
    if type(value) is dict:
        return {key: _shown(item) for key, item in value.items()}
    return value
