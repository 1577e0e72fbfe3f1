"""Reads the bytes of a large request as one JSON value, in slices between which others have their turn. It sets no limits.

The decoder of msgspec, and that of the standard library which says why a text can't be read, both read a text in one go: 32 MB take a
second. So the text is taken apart into pieces first, runs of whole members of one array or object. The scanner of the standard library
finds where members end, and each run is decoded as an array or object of its own. Values and refusals are those of the plain way
(`reading.read_json`), to the place that a refusal names.
"""

import json
import re
from codecs import getincrementaldecoder
from collections.abc import Generator
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]  # of C, where it can be had
from typing import Any

import msgspec
from msgspec import Struct

# So many characters, in so many members, are scanned, and then decoded, in a slice: some milliseconds.
WINDOW_SIZE, MEMBERS_MAX = 1 << 17, 5000
CHUNK_SIZE = 1 << 20
# A number at the end of a window may go on after it: with `.`, `e` or `e+`.
NUMBER_REST_MAX = 4
# How much a decoder looks at after the place where it fails.
BEHIND_SIZE = 64
# How much of the text a scanner has to see to refuse a delimiter, or what stands in place of a value.
REFUSED_SIZE = 16

Json = Any
Steps = Generator[None, None, Json]

_scanner = json.JSONDecoder()
_scan = _scanner.scan_once  # type: ignore[attr-defined]  # it has no other name
_decode = msgspec.json.Decoder().decode
_blanks = re.compile(r"[ \t\n\r]*").match
_path = re.compile(r"`\$(\[[^]]*\])")
_place = re.compile(r"\(byte (\d+)\)$")


def _counted(step: str, number: int) -> str:
    """Return the first step of a path within a stretch as one within the whole: `number` members of its array stand before the stretch."""
    return step if step == "[...]" else f"[{int(step[1:-1]) + number}]"


class JsonSyntaxError(Exception):
    """Why a text has no value, in the words of the decoder that refuses it; `is_utf8` is false when its bytes are no text at all."""

    def __init__(self, reason: str, is_utf8: bool = True) -> None:
        super().__init__(reason)
        self.reason, self.is_utf8 = reason, is_utf8


class _Open(Struct, eq=False):
    """An array or object that is being read; `last` is where its last member ends, -1 before the first one."""

    value: Any
    last: int = -1

    @property
    def brackets(self) -> str:
        """Its two brackets."""
        return "[]" if type(self.value) is list else "{}"


class _Failed(Struct):
    """A stretch of the text that can't be decoded, what stands before it when it is decoded alone, and where its first member lies.

    The path leads to what the member stands in, as the decoder writes paths; `number` is its own place there, if that is an array.
    """

    begin: int
    end: int
    prefix: str
    path: str
    number: int
    is_utf8: bool


def first_value(body: bytes, start: int) -> Steps:
    """Return the value that begins at a place of a body; what follows it isn't looked at. Raises Unreadable."""
    text = yield from _as_text(body, start)
    return (yield from _Reader(text).read())


def _as_text(body: bytes, start: int) -> Generator[None, None, str]:
    """Return bytes as text; those that aren't UTF-8 become surrogates, one each."""
    decoder, pieces = getincrementaldecoder("utf-8")("surrogateescape"), []
    for begin in range(start, len(body), CHUNK_SIZE):
        pieces.append(decoder.decode(body[begin : begin + CHUNK_SIZE]))
        yield
    pieces.append(decoder.decode(b"", final=True))
    return "".join(pieces)


def _bytes_of(text: str) -> bytes:
    """Return the bytes of what `_as_text` has made, or of a part of it."""
    return text.encode("utf-8", "surrogateescape")


def _after_blanks(text: str, place: int) -> int:
    """Return the next place that holds no white space."""
    found = _blanks(text, place)
    assert found is not None, "no blanks are blanks as well"
    return found.end()


class _Reader:
    """Reads one text: members of the innermost array or object that is open, one run of them at a time."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._open: list[_Open] = []
        self._root: Json = None
        # What can't be decoded counts only if the scanner takes all of the value: refusals of the scanner come first.
        self._failed: _Failed | None = None
        # Where a text or number begins and ends that has been scanned, but is too long to be decoded in the same slice.
        self._long: tuple[int, int] | None = None

    def read(self) -> Steps:
        """Return the value at the beginning."""
        try:
            place = self._member(0)
            while self._open or self._long is not None:
                yield
                place = self._run(place) if self._long is None else (yield from self._read_long(*self._long))
        except ValueError as error:  # of the scanner: what stands there is no JSON, or a number of too many digits
            raise JsonSyntaxError(str(error)) from None
        yield
        if self._failed is not None:
            raise self._refusal(self._failed, place)
        return self._root

    # -------------------------------------------------------------- one step

    def _run(self, begin: int) -> int:
        """Read members of the innermost array or object, those that are whole within a window; returns where the next one begins.

        When the first one isn't, that one is read, or entered.
        """
        text, inner, at, last = self._text, self._open[-1], begin, -1
        window = text[begin : begin + WINDOW_SIZE]
        limit = len(window) - (NUMBER_REST_MAX if begin + WINDOW_SIZE < len(text) else 0)
        is_object = inner.brackets == "{}"
        for _ in range(MEMBERS_MAX):
            if at - begin >= limit:
                break
            try:
                start = self._value_of(window, at - begin) if is_object else at - begin
                _, end = _scan(window, start)
            except (StopIteration, ValueError):
                break
            if end > limit:
                break
            last = begin + end
            comma = _after_blanks(text, last)
            if text[comma : comma + 1] != ",":
                self._take(begin, last)
                return self._after(last)
            at = _after_blanks(text, comma + 1)
        if last < 0:
            return self._member(at)
        self._take(begin, last)
        inner.last = last
        return at

    def _value_of(self, text: str, at: int) -> int:
        """Return where the value of the member of an object begins. Raises ValueError."""
        if text[at : at + 1] != '"':
            raise ValueError
        _, end = scanstring(text, at + 1)
        colon = _after_blanks(text, end)
        if text[colon : colon + 1] != ":":
            raise ValueError
        return _after_blanks(text, colon + 1)

    def _member(self, at: int) -> int:
        """Enter the member at a place if it is an array or object, or read it in one go; returns where the next member begins."""
        text, inner = self._text, self._open[-1] if self._open else None
        start = at
        if inner is not None and inner.brackets == "{}":
            if text[at : at + 1] != '"':
                raise self._wrong(inner, at)
            _, end = scanstring(text, at + 1)
            colon = _after_blanks(text, end)
            if text[colon : colon + 1] != ":":
                raise JSONDecodeError("Expecting ':' delimiter", text, colon)
            start = _after_blanks(text, colon + 1)
        if text[start : start + 1] in ("[", "{"):
            return self._enter(at, start)
        try:
            _, end = _scan(text, start)
        except StopIteration as stop:
            if inner is not None and start == at:
                raise self._wrong(inner, at) from None
            raise JSONDecodeError("Expecting value", text, stop.value) from None
        if end - at > CHUNK_SIZE:
            self._long = at, end
            return at
        self._take(at, end)
        return self._after(end)

    def _read_long(self, at: int, end: int) -> Generator[None, None, int]:
        """Decode a long member; returns where the next one begins. To make its bytes takes longer than to decode them."""
        self._long = None
        pieces = []
        for begin in range(at, end, CHUNK_SIZE):
            pieces.append(_bytes_of(self._text[begin : min(begin + CHUNK_SIZE, end)]))
            yield
        packed = b"".join(pieces)
        yield
        self._take(at, end, packed)
        return self._after(end)

    def _enter(self, at: int, start: int) -> int:
        """Begin with the array or object at `start`, whose key, if it has one, is at `at`; returns where the next member begins."""
        value: Json = [] if self._text[start] == "[" else {}
        if not self._open:
            self._root = value
        elif type(self._open[-1].value) is list:
            self._open[-1].value.append(value)
        else:
            # The member with another value, so that its key is read like all others.
            for key in self._decoded(at, start, "{", "0}") or ():
                self._open[-1].value[key] = value
        self._open.append(_Open(value))
        first = _after_blanks(self._text, start + 1)
        if self._text[first : first + 1] != self._open[-1].brackets[1]:
            return first
        self._open.pop()
        return self._after(first + 1)

    def _after(self, end: int) -> int:
        """Go on after a member that ends there: return where the next one begins, in what encloses it when it was the last one."""
        text = self._text
        while self._open:
            inner = self._open[-1]
            inner.last = end
            at = _after_blanks(text, end)
            if text[at : at + 1] == ",":
                return _after_blanks(text, at + 1)
            if text[at : at + 1] != inner.brackets[1]:
                raise self._wrong(inner, at)
            self._open.pop()
            end = at + 1
        return end

    # -------------------------------------------------------------- values and refusals

    def _take(self, begin: int, end: int, packed: bytes | None = None) -> None:
        """Decode members of what is open, or the whole value; `packed` are its bytes, if they have been made."""
        if not self._open:
            self._root = self._decoded(begin, end, "", "", packed)
            return
        inner = self._open[-1]
        found = self._decoded(begin, end, inner.brackets[0], inner.brackets[1], packed)
        if type(found) is list:
            inner.value.extend(found)
        elif found is not None:
            inner.value.update(found)

    def _decoded(self, begin: int, end: int, opening: str, closing: str, packed: bytes | None = None) -> Json:
        """Return the value of a stretch of the text between two brackets; None once something can't be decoded."""
        if self._failed is None:
            try:
                packed = _bytes_of(self._text[begin:end]) if packed is None else packed
                return _decode(b"".join((opening.encode(), packed, closing.encode())))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                *outer, number = [len(one.value) if type(one.value) is list else -1 for one in self._open] or [-1]
                path = "".join([f"[{count - 1}]" if count > 0 else "[...]" for count in outer])
                self._failed = _Failed(begin, end, opening, path, number, isinstance(error, msgspec.DecodeError))
        return None

    def _wrong(self, inner: _Open, at: int) -> JSONDecodeError:
        """Return the scanner's refusal of what stands at a place instead of a delimiter or member: of a short text of the same form."""
        is_first = inner.last < 0
        before = inner.brackets[0] if is_first else '[""' if inner.brackets == "[]" else '{"":""'
        begin = at if is_first else inner.last
        try:
            _scanner.raw_decode(before + self._text[begin : at + REFUSED_SIZE])
        except JSONDecodeError as error:
            return JSONDecodeError(error.msg, self._text, begin + error.pos - len(before))
        raise AssertionError("what the scanner takes is no error")

    def _refusal(self, failed: _Failed, end: int) -> JsonSyntaxError:
        """Return the decoder's refusal of a stretch of a value that ends at a place, with the place and the path that the whole has."""
        if not failed.is_utf8:
            return JsonSyntaxError("", is_utf8=False)
        text = failed.prefix + self._text[failed.begin : min(failed.end + BEHIND_SIZE, end)]
        try:
            _decode(text.encode("utf-8", "surrogateescape"))
        except msgspec.DecodeError as error:
            offset = len(self._text[: failed.begin].encode("utf-8", "surrogateescape")) - len(failed.prefix)
            reason = _place.sub(lambda found: f"(byte {int(found[1]) + offset})", str(error))
            return JsonSyntaxError(_path.sub(lambda found: f"`${failed.path}{_counted(found[1], failed.number)}", reason))
        raise AssertionError("what is decoded the second time is no error")
