"""Decodes the JSON value of a large request in chunks, between which other tasks run. It sets no limits.

The decoders of msgspec and of the standard library (which gives the reason for errors) decode a text in one call: 32 MB take a second.
So the text is first split into runs of whole members of one array or object. The scanner of the standard library finds the ends of
members, and msgspec decodes each run as a separate array or object. Values and errors, including their positions, are the same as those
of `reader.read_json`.
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

# Characters and members that are scanned and decoded in a chunk, which takes some milliseconds.
WINDOW_SIZE, MEMBERS_MAX = 1 << 17, 5000
CHUNK_SIZE = 1 << 20  # bytes or characters
# A number at the end of a window can continue after it, with `.`, `e` or `e+`.
NUMBER_REST_MAX = 4
# Characters that a decoder reads after the position where it fails.
BEHIND_SIZE = 64
# Characters that the scanner needs to refuse a wrong delimiter or value.
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
    """Convert the first step of a path in a run to one in the whole text, where `number` members precede the run in its array."""
    return step if step == "[...]" else f"[{int(step[1:-1]) + number}]"


class JsonSyntaxError(Exception):
    """A text is not valid JSON. `reason` is the decoder's message; `is_utf8` is false if the bytes are not UTF-8."""

    def __init__(self, reason: str, is_utf8: bool = True) -> None:
        super().__init__(reason)
        self.reason, self.is_utf8 = reason, is_utf8


class _Open(Struct, eq=False):
    """An array or object that is being read; `last` is the end of its last member, -1 before the first."""

    value: Any
    last: int = -1

    @property
    def brackets(self) -> str:
        """Its opening and closing bracket."""
        return "[]" if type(self.value) is list else "{}"


class _Failed(Struct):
    """A run of the text that can't be decoded, the prefix needed to decode it alone, and the position of its first member.

    `path` leads to the enclosing array or object, in the decoder's notation; `number` is the index in it, if it is an array.
    """

    begin: int
    end: int
    prefix: str
    path: str
    number: int
    is_utf8: bool


def first_value(body: bytes, start: int) -> Steps:
    """Decode the value that begins at `start` of a body, ignoring anything after it; yields after each chunk.

    Raises: JsonSyntaxError if it is not valid.
    """
    text = yield from _as_text(body, start)
    return (yield from _Reader(text).read())


def _as_text(body: bytes, start: int) -> Generator[None, None, str]:
    """Decode bytes as text. Each byte that isn't UTF-8 becomes a surrogate."""
    decoder, pieces = getincrementaldecoder("utf-8")("surrogateescape"), []
    for begin in range(start, len(body), CHUNK_SIZE):
        pieces.append(decoder.decode(body[begin : begin + CHUNK_SIZE]))
        yield
    pieces.append(decoder.decode(b"", final=True))
    return "".join(pieces)


def _bytes_of(text: str) -> bytes:
    """Encode a text of `_as_text`, or a part of it, as the original bytes."""
    return text.encode("utf-8", "surrogateescape")


def _after_blanks(text: str, place: int) -> int:
    """Return the next position without white space."""
    found = _blanks(text, place)
    assert found is not None, "the pattern matches the empty text"
    return found.end()


class _Reader:
    """Decodes one text, one run of members of the innermost open array or object at a time."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._open: list[_Open] = []
        self._root: Json = None
        # A decoding error counts only if the scanner accepts the whole value, since the scanner's errors come first.
        self._failed: _Failed | None = None
        # Begin and end of a scanned text or number that is too long to be decoded in the same chunk.
        self._long: tuple[int, int] | None = None

    def read(self) -> Steps:
        """Decode the value at the beginning of the text."""
        try:
            place = self._member(0)
            while self._open or self._long is not None:
                yield
                place = self._run(place) if self._long is None else (yield from self._read_long(*self._long))
        except ValueError as error:  # from the scanner: invalid JSON, or a number with too many digits
            raise JsonSyntaxError(str(error)) from None
        yield
        if self._failed is not None:
            raise self._refusal(self._failed, place)
        return self._root

    # -------------------------------------------------------------- one step

    def _run(self, begin: int) -> int:
        """Read the members of the innermost array or object that are complete in a window. Return the position of the next member.

        If the first member isn't complete, read or enter it alone.
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
        """Return the position of the value of an object's member.

        Raises: ValueError if the key or colon is malformed.
        """
        if text[at : at + 1] != '"':
            raise ValueError
        _, end = scanstring(text, at + 1)
        colon = _after_blanks(text, end)
        if text[colon : colon + 1] != ":":
            raise ValueError
        return _after_blanks(text, colon + 1)

    def _member(self, at: int) -> int:
        """Enter the member at a position if it is an array or object, else read it whole. Return the position of the next member."""
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
        """Decode a long member. Return the position of the next one. Encoding its bytes, which takes longer than decoding, is chunked."""
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
        """Enter the array or object at `start`, whose key, if any, is at `at`. Return the position of the next member."""
        value: Json = [] if self._text[start] == "[" else {}
        if not self._open:
            self._root = value
        elif type(self._open[-1].value) is list:
            self._open[-1].value.append(value)
        else:
            # Decode the member with the value 0, so that its key is decoded like all others.
            for key in self._decoded(at, start, "{", "0}") or ():
                self._open[-1].value[key] = value
        self._open.append(_Open(value))
        first = _after_blanks(self._text, start + 1)
        if self._text[first : first + 1] != self._open[-1].brackets[1]:
            return first
        self._open.pop()
        return self._after(first + 1)

    def _after(self, end: int) -> int:
        """Continue after a member that ends at `end`. Return the position of the next one, leaving arrays and objects that end there."""
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
        """Decode members of the open array or object, or the whole value; `packed` are its bytes, if already encoded."""
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
        """Decode a run of the text between two brackets. Return None after the first decoding error."""
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
        """Return the scanner's error for a wrong delimiter or member at a position, from a short text of the same form."""
        is_first = inner.last < 0
        before = inner.brackets[0] if is_first else '[""' if inner.brackets == "[]" else '{"":""'
        begin = at if is_first else inner.last
        try:
            _scanner.raw_decode(before + self._text[begin : at + REFUSED_SIZE])
        except JSONDecodeError as error:
            return JSONDecodeError(error.msg, self._text, begin + error.pos - len(before))
        raise AssertionError("the scanner must refuse this text")

    def _refusal(self, failed: _Failed, end: int) -> JsonSyntaxError:
        """Return the decoder's error for a run, with the position and path in the whole text. The value ends at `end`."""
        if not failed.is_utf8:
            return JsonSyntaxError("", is_utf8=False)
        text = failed.prefix + self._text[failed.begin : min(failed.end + BEHIND_SIZE, end)]
        try:
            _decode(text.encode("utf-8", "surrogateescape"))
        except msgspec.DecodeError as error:
            offset = len(self._text[: failed.begin].encode("utf-8", "surrogateescape")) - len(failed.prefix)
            reason = _place.sub(lambda found: f"(byte {int(found[1]) + offset})", str(error))
            return JsonSyntaxError(_path.sub(lambda found: f"`${failed.path}{_counted(found[1], failed.number)}", reason))
        raise AssertionError("decoding must fail again")
