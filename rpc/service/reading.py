"""Reads the bytes of a request as one JSON value, with the reference's limits. Nothing here knows the envelope.

A standard decoder reads the first value of a body; white space before it and anything after it are ignored. Source: rpc-api.md §1.3, §1.13.
"""

import json
import re
from itertools import accumulate
from typing import Any

import msgspec

from state.protocol.errors import ChainError, EndOfFile, ParseError, Refused
from state.protocol.values.integers import INT64_MIN, UINT64_MAX

BODY_SIZE_MAX = 32_000_000
DEPTH_MAX = 99
# Commas and brackets, those in texts too. A full block of the smallest operations has a third of them; decoding so many takes
# a few tenths of a second, in which nobody else is answered.
MARKS_MAX = 6_000_000

_BLANK = b" \t\r\n"
_LONG_NUMBER = re.compile(rb"\d{19}")
_INT_MIN, _INT_MAX = INT64_MIN, UINT64_MAX
_FIRST_VALUE = json.JSONDecoder()
_decode = msgspec.json.Decoder().decode
_too_deep = DEPTH_MAX.__lt__


def read_json(body: bytes) -> Any:
    """Return the first JSON value of a body; raises a ChainError if there is none."""
    check_marks(body)
    check_depth(body)
    try:
        value = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = _first_value(body)
    if _LONG_NUMBER.search(body):
        _check_integers(value)
    return value


def check_marks(body: bytes) -> None:
    """Refuse a body that may hold more values than one request can need, before it is decoded."""
    if len(body) > MARKS_MAX:
        marks = sum(map(body.count, (b",", b"[", b"]", b"{", b"}")))
        if marks > MARKS_MAX:
            raise Refused("The request holds too many values", condition=f"commas + brackets <= {MARKS_MAX}")


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


def _check_integers(value: Any) -> None:
    """Refuse integers that neither 64-bit type holds."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if type(item) is int:
            if not _INT_MIN <= item <= _INT_MAX:
                raise ParseError("Couldn't parse uint64_t" if item > 0 else "Couldn't parse int64_t")
        elif type(item) is list:
            waiting += item
        elif type(item) is dict:
            waiting += item.values()
