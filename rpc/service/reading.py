"""Reads the bytes of a request as one JSON value, with the reference's limits. Nothing here knows the envelope.

A standard decoder reads the first value of a body; white space before it and anything after it are ignored. Source: rpc-api.md §1.3, §1.13.
"""

import json
import re
from itertools import accumulate
from typing import Any

import msgspec

from state.protocol.errors import ChainError, EndOfFile, ParseError, Refused, require
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

_BLANK = b" \t\r\n"
_LONG_NUMBER = re.compile(rb"\d{19}")
_FIRST_VALUE = json.JSONDecoder()
_decode = msgspec.json.Decoder().decode
_too_deep = DEPTH_MAX.__lt__


def read_json(body: bytes, is_local: bool = True) -> Any:
    """Return the first JSON value of a body; raises a ChainError if there is none.

    Nobody else is answered meanwhile: large bodies are for programs with local rights (`is_local`).
    """
    if is_local:
        check_marks(body, MARKS_MAX)
    else:
        check_size(body)
        check_marks(body, REMOTE_MARKS_MAX)
    check_depth(body)
    try:
        value = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = _first_value(body)
    error = _unreadable_integer(value) if _LONG_NUMBER.search(body) else None
    if error is not None:
        raise error
    return value


def check_size(body: bytes) -> None:
    """Refuse a body that only a program with local rights may send."""
    text = "A request may have at most ${most} bytes, unless it comes from a program on the machine of the node"
    require(len(body) <= REMOTE_SIZE_MAX, text, condition=f"size <= {REMOTE_SIZE_MAX}", most=REMOTE_SIZE_MAX)


def check_marks(body: bytes, most: int) -> None:
    """Refuse a body that may hold more values than one request can need, before it is decoded."""
    if len(body) > most:
        marks = sum(map(body.count, (b",", b"[", b"]", b"{", b"}")))
        require(marks <= most, "The request holds too many values", condition=f"commas + brackets <= {most}")


def check_depth(body: bytes) -> None:
    """Refuse a body that is nested too deep; like the reference, count brackets everywhere, also inside of texts."""
    for start, end in (b"{}", b"[]"):
        if body.count(start) > DEPTH_MAX and next(filter(_too_deep, accumulate(_steps(body, start, end))), None):
            raise Refused("object graph too deep", condition="open_object < 100 && open_array < 100")


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
        return ParseError("The request is not valid UTF-8")
    return ParseError("${reason}", reason=str(error))


def _unreadable_integer(value: Any) -> ParseError | None:
    """The refusal of the first integer that neither 64-bit type holds; like the reference's it says what the integer stands in."""
    members = value if type(value) is list else list(value.values()) if type(value) is dict else [value]
    for at, member in enumerate(members):
        kind = type(member)
        if kind is int:
            if INT64_MIN <= member <= UINT64_MAX:
                continue
            error = ParseError("Couldn't parse uint64_t" if member > 0 else "Couldn't parse int64_t")
        else:
            inner = _unreadable_integer(member) if kind is list or kind is dict else None
            if inner is None:
                continue
            error = inner
        if type(value) is list:
            error.frames.append(("Attempting to parse array ${array}", {"array": ReadSoFar(members[:at])}))
        elif type(value) is dict:
            error.frames.append(("Error parsing object", {}))
        return error
    return None


class ReadSoFar(list[Any]):
    """The members of an array that have been read when one is refused; they print as the reference prints JSON.

    Where that would take more than a few thousand characters, nothing is shown; the reference prints all of it.
    """

    def __init__(self, members: list[Any]) -> None:
        super().__init__(_shown(member) for member in members[:SHOWN_MEMBERS_MAX])
        if len(members) > SHOWN_MEMBERS_MAX or len(str(self)) > SHOWN_SIZE_MAX:
            self.clear()

    def __str__(self) -> str:
        return msgspec.json.encode(list(self)).decode()


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
