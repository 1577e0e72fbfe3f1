"""The reference's lenient JSON parser for texts in operations: their values, whether they are valid JSON, and the errors.

It takes linear time and has no recursion. A standard decoder is used wherever its result is provably the same.
Source: wire-format.md §1.15, §1.17; operations.md §2.3.
"""

import json
import re
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import msgspec

from state.protocol.errors import ChainError, EndOfFile, ParseError, Refused, require
from state.protocol.values.convert import json_int, to_text
from state.protocol.values.text import decode, encode, first_byte, read_integer

OPEN_BRACKETS_MAX = 99
# Values and containers count toward a maximum depth of 200; a value in n containers is at depth 2n + 1.
CONTAINERS_MAX = 100
# Longer numbers can be out of a double's range and are left to the lenient reader.
PLAIN_NUMBER_CHARACTERS_MAX = 300
INT_CHARACTERS_MAX = 18

SPACE = re.compile(rb"[ \t\r\n]*")
SEPARATORS = re.compile(rb"[ \t\r\n,]*")
STRING = re.compile(rb'"((?:[^"\\\x04]++|\\.)*+)', re.DOTALL)
NUMBER = re.compile(rb"-?[0-9]*(?:\.[0-9]*)?")
LETTERS = re.compile(rb"[nultrefas]+")
TOKEN = re.compile(rb"((?:[A-Za-z0-9_.:/-]++|\\.)*+)(?:[\t \0\n]|\\\Z)?", re.DOTALL)
ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
# Escapes that a standard decoder reads differently.
OTHER_ESCAPE = re.compile(r"\\[bfu]")
NOT_OBJECT_BRACKETS = bytes(set(range(256)) - set(b"{}"))
NOT_ARRAY_BRACKETS = bytes(set(range(256)) - set(b"[]"))

AFTER_LONGER_NUMBERS = frozenset(bytes([byte]) for byte in b".0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
ESCAPED = {b"t": b"\t", b"n": b"\n", b"r": b"\r"}
WORDS = {b"null": None, b"true": True, b"false": False}
BLANKS = " \t\r\n"
SPACE_CHARACTERS = tuple(BLANKS)

# The source positions in the long form of the reference's errors.
PEEK, PEEK_PLACE = "stringstream", "sstream.cpp:109 peek"
END, END_PLACE = "unexpected end of file", "json.cpp:439 variant_from_stream"
ESCAPE_PLACE = "json.cpp:63 parseEscape"
STRING_PLACE = "json.cpp:122 stringFromStream"
ARRAY_PLACE = "json.cpp:252 arrayFromStream"

# ------------------------------------------------------------------ public functions


def read(text: str | bytes, *, count_brackets: bool = True) -> Any:
    """Parse the value at the start of a text. The rest of the text is ignored. Of several equal keys, the first is used.

    Raises the ChainErrors of the lenient reader. With `count_brackets`, a text with 100 open brackets of one type is refused before it is
    parsed.
    """
    if isinstance(text, bytes):
        text = decode(text)
    brackets = text.count("[") + text.count("{")
    if brackets <= OPEN_BRACKETS_MAX and not OTHER_ESCAPE.search(text):
        # The decoder's own `decode` skips white space with regular expressions, which takes longer than parsing a short value.
        stripped = text.strip(BLANKS)
        try:
            value, end = SCAN(stripped, 0)
            if end == len(stripped):
                return value
        except (ValueError, StopIteration):
            pass  # The lenient reader decides.
    data = encode(text)
    if count_brackets and brackets > OPEN_BRACKETS_MAX:
        _require_few_open(data)
    return _Reader(data).value()


def is_whole(text: str) -> bool:
    """Return whether a text consists of exactly one value. The result is False for an empty text, and for a text that continues after the
    value.

    Raises the reader's ChainError for an error within the value.
    """
    if not text:
        return False
    if text[-1] not in SPACE_CHARACTERS and text.count("[") + text.count("{") <= OPEN_BRACKETS_MAX:
        try:
            CHECKER_OF_INTS.encode(CHECKER.decode(text))
            return True
        except (ValueError, OverflowError):
            pass  # The lenient reader decides.
    reader = _Reader(encode(text))
    reader.value()
    return reader.at == len(reader.data)


def require_valid(text: str, message: str, *, condition: str) -> None:
    """Refuse invalid JSON.

    The text of the refusal is `message` if `text` is empty or continues after its value. For other errors it is the reader's.
    """
    require(is_whole(text), message, condition=condition)


# ------------------------------------------------------------------ standard decoders, for texts on which they agree


def _real_or_token(number: str) -> Any:
    """Convert a number with a point or an exponent. The reference returns a number with an exponent as text, and stops reading at a `+`."""
    if "+" in number or len(number) > PLAIN_NUMBER_CHARACTERS_MAX:
        raise ValueError(number)
    return number if "e" in number or "E" in number else DOUBLE.decode(number)


def _same_real(number: str) -> None:
    """Raise ValueError for a number that the reference's reader might refuse."""
    if "+" in number or len(number) > PLAIN_NUMBER_CHARACTERS_MAX:
        raise ValueError(number)


def _short_int(number: str) -> int:
    if len(number) > INT_CHARACTERS_MAX:
        raise ValueError(number)
    return int(number)


def _first_of_equal_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        for key, value in reversed(pairs):
            found[key] = value
    return found


def _no_constant(name: str) -> None:
    raise ValueError(name)


DOUBLE = msgspec.json.Decoder(float)
READER = json.JSONDecoder(
    parse_float=_real_or_token, parse_int=_short_int, parse_constant=_no_constant, object_pairs_hook=_first_of_equal_keys
)
# The decoder's function that parses one value, which the type stubs lack.
SCAN: Callable[[str, int], tuple[Any, int]] = READER.scan_once  # type: ignore[attr-defined]
CHECKER = msgspec.json.Decoder(float_hook=_same_real)
# Decoding accepts integers of any size. Encoding as MessagePack accepts only 64 bits, like the reader, and is the fastest way to check
# this.
CHECKER_OF_INTS = msgspec.msgpack.Encoder()


def _require_few_open(data: bytes) -> None:
    """Refuse too many open brackets like the reference, which counts from the left and includes brackets in strings."""
    objects = max(accumulate(1 if byte == 0x7B else -1 for byte in data.translate(None, NOT_OBJECT_BRACKETS)), default=0)
    arrays = max(accumulate(1 if byte == 0x5B else -1 for byte in data.translate(None, NOT_ARRAY_BRACKETS)), default=0)
    require(max(objects, arrays) <= OPEN_BRACKETS_MAX, "object graph too deep", condition="open_object < 100 && open_array < 100")


# ------------------------------------------------------------------ the lenient reader


class _Reader:
    """Reader that makes a single pass over a text.

    `open` contains the containers around the current position, each with its pending key.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.open: list[tuple[Any, str]] = []
        self.trail: list[str] = []

    def value(self) -> Any:
        """Parse the next value. Text after the value isn't read."""
        try:
            return self._value()
        except ChainError as error:
            raise self._with_containers(error) from None

    def _value(self) -> Any:
        first = self._peek(SPACE)
        while True:
            if len(self.open) >= CONTAINERS_MAX:
                raise Refused("object graph too deep", condition="depth <= 200")
            value: Any
            if first == b"{" or first == b"[":
                self.at += 1
                self.open.append(({} if first == b"{" else [], ""))
            else:
                value = self._scalar(first)
                if not self.open:
                    return value
                self._put(value)
            while not (first := self._next()):
                value, _ = self.open.pop()
                if not self.open:
                    return value
                self._put(value)

    def _put(self, value: Any) -> None:
        container, key = self.open[-1]
        if type(container) is list:
            container.append(value)
        else:
            container.setdefault(key, value)

    def _next(self) -> bytes:
        """Advance to the next value of the innermost container, skipping its key. Return the value's first byte, or b"" after the last
        value.
        """
        container, _ = self.open[-1]
        first = self._peek(SEPARATORS)
        if first == (b"]" if type(container) is list else b"}"):
            self.at += 1
            return b""
        if type(container) is list:
            return first
        key = self._string(first)
        if self._peek(SPACE) != b":":
            raise ParseError("Expected ':' after key \"${key}\"", key=key)
        self.at += 1
        self.open[-1] = (container, key)
        return self._peek(SPACE)

    def _peek(self, skip_flags: re.Pattern[bytes]) -> bytes:
        """Skip any text that matches the pattern `skip_flags`, and return the next byte."""
        match = skip_flags.match(self.data, self.at)
        assert match
        self.at = match.end()
        if self.at == len(self.data):
            raise self._end_of_file(PEEK, PEEK_PLACE)
        return self.data[self.at : self.at + 1]

    def _scalar(self, first: bytes) -> Any:
        if first == b'"':
            return self._string(first)
        if first in b"-.0123456789":
            return self._number()
        if first in b"ntf":
            return self._word()
        if first in b"\x00\x04\xff":
            raise self._end_of_file(END, END_PLACE)
        code = first[0] if first[0] < 128 else first[0] - 256
        raise ParseError("Unexpected char '${c}' in \"${s}\"", c=code, s=self._token())

    def _string(self, first: bytes) -> str:
        match = STRING.match(self.data, self.at)
        if match is None:
            error: ChainError = ParseError("Expected '\"' but read '${char}'", char=first_byte(decode(first)))
            raise self._more(error, "while parsing token '${token}'", STRING_PLACE, token="")
        token = _unescaped(match[1])
        self.at = match.end()
        end = self.data[self.at : self.at + 1]
        if end == b'"':
            self.at += 1
            return token
        if end == b"\x04":
            error = ParseError("EOF before closing '\"' in string '${token}'", token=token)
        else:
            error = self._end_of_file(PEEK, PEEK_PLACE)
            if end:
                error = self._more(error, "Stream ended with '\\'", ESCAPE_PLACE)
        raise self._more(error, "while parsing token '${token}'", STRING_PLACE, token=token)

    def _token(self) -> str:
        """Return the rest of an unquoted text. If a space, TAB, LF or NUL follows the text, skip it."""
        match = TOKEN.match(self.data, self.at)
        assert match
        self.at = match.end()
        return _unescaped(match[1])

    def _word(self) -> Any:
        match = LETTERS.match(self.data, self.at)
        assert match
        self.at = match.end()
        if match[0] in WORDS:
            return WORDS[match[0]]
        return decode(match[0]) + self._token()

    def _number(self) -> Any:
        match = NUMBER.match(self.data, self.at)
        assert match
        self.at = match.end()
        following = self.data[self.at : self.at + 1]
        if following not in AFTER_LONGER_NUMBERS and match[0].isdigit() and len(match[0]) <= INT_CHARACTERS_MAX:
            return int(match[0])
        text = decode(match[0])
        if following == b".":
            raise ParseError("Can't parse a number with two decimal places")
        if following in AFTER_LONGER_NUMBERS:
            return text + self._token()
        if text in (".", "-."):
            raise ParseError('Can\'t parse token "${token}" as a JSON numeric constant', token=text)
        return _double(text) if "." in text else _integer(text)

    # -------------------------------------------------------------- errors, and the context that each level adds

    def _end_of_file(self, text: str, place: str) -> ChainError:
        self.trail = [f"{text}\n    {{}}\n    {place}"]
        return EndOfFile(text)

    def _more(self, error: ChainError, text: str, place: str, **values: Any) -> ChainError:
        """Append the line for one nesting level to an error's text and to its long form. Return the error."""
        for key, value in values.items():
            text = text.replace("${" + key + "}", value if type(value) is str else _printed(value))
        error.context += text
        if type(error) is EndOfFile:
            self.trail.append(f"{text}\n    {_printed(values)}\n    {place}")
        return error

    def _with_containers(self, error: ChainError) -> ChainError:
        """Append one line for each open container to an error."""
        for container, _ in reversed(self.open):
            if type(container) is list:
                error = self._more(error, "Attempting to parse array ${array}", ARRAY_PLACE, array=container)
            elif type(error) is EndOfFile:
                long = f"{error.CODE} {error.NAME}: {error.what}\n" + "\n".join(self.trail)
                error = ParseError("Unexpected EOF: ${e}", e=long)
            else:
                error.context += "Error parsing object"
        return error


def _unescaped(raw: bytes) -> str:
    if b"\\" in raw:
        raw = ESCAPE.sub(lambda match: ESCAPED.get(match[1], match[1]), raw)
    return decode(raw)


def _integer(text: str) -> int:
    signed = text[0] == "-"
    value = read_integer(text, 64, signed)
    if value is None:
        raise ParseError(f"Couldn't parse {'int64_t' if signed else 'uint64_t'}")
    return value


def _double(text: str) -> Any:
    """Parse a real number. The JSON decoder requires digits before and after the point, so missing ones are added first."""
    whole, _, fraction = text.removeprefix("-").partition(".")
    sign = "-" if text[0] == "-" else ""
    try:
        return DOUBLE.decode(f"{sign}{whole.lstrip('0') or '0'}.{fraction or '0'}")
    except ValueError:
        raise ParseError("Couldn't parse double") from None


def _printed(value: Any) -> str:
    """Format a value as the reference writes it in JSON (wire-format.md §1.14)."""
    return json.dumps(_printable(value), ensure_ascii=False, separators=(",", ":"))


def _printable(value: Any) -> Any:
    if type(value) is list:
        return [_printable(item) for item in value]
    if type(value) is dict:
        return {key: _printable(item) for key, item in value.items()}
    if type(value) is int:
        return json_int(value)
    return to_text(value) if type(value) is float else value
