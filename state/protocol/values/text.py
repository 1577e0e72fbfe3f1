"""Texts on the wire: bounded texts, account names, UTF-8, hex, numbers, times and versions.

A text is a `str` decoded from bytes with surrogate escapes, so that bytes that aren't valid UTF-8 are preserved. The size of a text is the
number of its bytes. Source: wire-format.md §1.1, §1.5, §1.6, §1.12, §1.18.
"""

import binascii
import re
from datetime import date
from functools import lru_cache

from state.protocol.constants import DAY_SECONDS
from state.protocol.errors import BadDay, BadMonth, BadYear, ChainError, LexicalCast, NoSuchPlace, Refused, require
from state.protocol.values.integers import UINT32_MAX, WORD32

ACCOUNT_NAME_BYTES_MIN = 3
ACCOUNT_NAME_BYTES_MAX = 16
ACCOUNT_NAMES_KEPT_MAX = 65_536
TIMES_KEPT_MAX = 65_536
TIME_KEPT_BYTES_MAX = 32

SECOND_MICROSECONDS = 1_000_000
# Microseconds per unit of the last digit, by the number of fraction digits.
FRACTION_UNITS = (1_000_000, 100_000, 10_000, 1_000, 100, 10, 1)
FRACTION_DIGITS = len(FRACTION_UNITS) - 1
EPOCH_DAY = date(1970, 1, 1).toordinal()
YEAR_MIN, YEAR_MAX = 1400, 9999
MONTHS = ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"]
MONTH_NUMBERS = {form: i for i, name in enumerate(MONTHS, 1) for form in (name, name[:3])}
MONTH_UNKNOWN = 13
DIGITS = "0123456789"

LABEL = "[a-z][a-z0-9-]+[a-z0-9]"
ACCOUNT_NAME = re.compile(rf"{LABEL}(?:\.{LABEL})*")
NOT_IN_PERMLINKS = re.compile(r"[^a-z0-9-]")
NOT_HEX = re.compile(r"[^0-9A-Fa-f]")
INTEGER = re.compile(r"([+-]?)(?=[0-9])0*+([0-9]{0,20})")
VERSION = re.compile(r"[ \t-\r]*([+-]?[0-9]+)[ \t-\r]*([._])[ \t-\r]*([+-]?[0-9]+)[ \t-\r]*\2[ \t-\r]*([+-]?[0-9]*)")
VERSION_PART_TOO_LARGE = WORD32

# ------------------------------------------------------------------ bytes


def decode(data: bytes) -> str:
    """Decode bytes to a text. Invalid UTF-8 is preserved, so that `encode` returns the same bytes."""
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """Encode a text. A surrogate that doesn't represent an invalid byte, such as one sent by a client, is encoded as three bytes."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return b"".join(c.encode("utf-8", "surrogateescape" if "\udc80" <= c <= "\udcff" else "surrogatepass") for c in text)


def size(text: str) -> int:
    """Return the number of bytes of a text."""
    return len(text) if text.isascii() else len(encode(text))


def cut(text: str, size: int) -> str:
    """Return the first `size` bytes of a text, or fewer up to the first NUL.

    The reference compares the bytes after a NUL but neither packs nor writes them. Here they are dropped.
    """
    text = text[:size] if text.isascii() else decode(encode(text)[:size])
    return text.partition("\0")[0] if "\0" in text else text


def is_utf8(text: str) -> bool:
    """Whether the bytes of a text are well-formed UTF-8, without overlong forms and surrogates. Noncharacters are accepted."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_valid_account_name(name: str) -> bool:
    """Whether an account can have this name: 3 to 16 bytes, labels of at least 3 characters separated by dots."""
    return ACCOUNT_NAME_BYTES_MIN <= len(name) <= ACCOUNT_NAME_BYTES_MAX and _has_labels(name)


@lru_cache(maxsize=ACCOUNT_NAMES_KEPT_MAX)
def _has_labels(name: str) -> bool:
    return ACCOUNT_NAME.fullmatch(name) is not None


def bad_permlink_character(permlink: str) -> str:
    """Return the first byte, as text, that the permlink of a new comment must not contain (any but `a-z 0-9 -`), or "" if there is none."""
    found = NOT_IN_PERMLINKS.search(permlink)
    return first_byte(found[0]) if found else ""


def first_byte(text: str) -> str:
    """Return the first byte of a text, as a text. The reference's messages contain single bytes."""
    return decode(encode(text[:1])[:1])


# ------------------------------------------------------------------ hex and integers


def hex_bytes(text: str) -> bytes:
    """Decode hex digits in either case. An odd last digit is dropped; other characters raise ChainError."""
    try:
        return binascii.a2b_hex(text if text.isascii() and len(text) % 2 == 0 else text[: size(text) & ~1])
    except (binascii.Error, ValueError):
        raise bad_hex(text) from None


def fixed_hex(text: str, size: int) -> bytes:
    """Decode hex digits to exactly `size` bytes. Shorter values are zero-filled on the right, longer ones truncated.

    As in the reference, all digits are decoded first, so an odd last digit is dropped.
    """
    return hex_bytes(text)[:size].ljust(size, b"\0")


def bad_hex(text: str) -> ChainError:
    """Return the error for a text with a character that isn't a hex digit."""
    found = NOT_HEX.search(text)
    assert found, text
    return ChainError("Invalid hex character '${c}'", c=first_byte(found[0]))


def read_integer(text: str, bits: int, signed: bool) -> int | None:
    """Parse a machine integer: an optional sign and digits. Return None if the text is invalid or out of range.

    A negative number wraps in an unsigned type.
    """
    match = INTEGER.fullmatch(text)
    if match is None:
        return None
    magnitude = int(match[2] or "0")
    value = -magnitude if match[1] == "-" else magnitude
    if signed:
        return value if -(1 << bits - 1) <= value < 1 << bits - 1 else None
    return value % (1 << bits) if magnitude < 1 << bits else None


# ------------------------------------------------------------------ time


@lru_cache(maxsize=TIMES_KEPT_MAX)
def time_text(seconds: int) -> str:
    """Format unsigned 32-bit seconds as `YYYY-MM-DDTHH:MM:SS`. As in the reference, 2^31 and above are dates before 1970."""
    assert 0 <= seconds < WORD32, seconds
    day, second = divmod(seconds - ((seconds & 1 << 31) << 1), DAY_SECONDS)
    return f"{date.fromordinal(EPOCH_DAY + day).isoformat()}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"


def time_from_text(text: str) -> int:
    """Parse a date and time to unsigned 32-bit seconds, as leniently as wire-format.md §1.5 describes. Dates before 1970 wrap."""
    return _kept_time(text) if len(text) <= TIME_KEPT_BYTES_MAX else _time_from_text(text)


def _time_from_text(text: str) -> int:
    try:
        return _seconds(text if text.isascii() else encode(text).decode("latin-1"))
    except ChainError as error:
        error.context += "unable to convert ISO-formatted string to fc::time_point_sec"
        raise


_kept_time = lru_cache(maxsize=TIMES_KEPT_MAX)(_time_from_text)


def _seconds(text: str) -> int:
    """Parse a time to whole seconds, rounded toward 1970. If its fifth byte is `-`, it has delimiters, otherwise it is compact."""
    day_text, _, clock_text = text.partition("T")
    if text[4:5] == "-":
        day = _delimited_day(day_text)
        clock = _delimited_clock(clock_text)
    else:
        day = _compact_day(day_text)
        clock = _compact_clock(clock_text)
    total = day * DAY_SECONDS * SECOND_MICROSECONDS + clock
    seconds = abs(total) // SECOND_MICROSECONDS * (1 if total > 0 else -1)
    require(seconds < 1 << 31, "Datetime overflow", condition="(pt - epoch).total_seconds() <= INT32_MAX")
    require(seconds >= -(1 << 31), "Datetime underflow", condition="(pt - epoch).total_seconds() >= INT32_MIN")
    return seconds & UINT32_MAX


def _delimited_day(text: str) -> int:
    year, month, day = [*_words(text, "[-,. /]+"), "", "", ""][:3]
    return _day_number(
        _lexical(year, 16) if year else 0,
        0 if not month else _lexical(month, 16) if month[0] in DIGITS else MONTH_NUMBERS.get(month.lower(), MONTH_UNKNOWN),
        _lexical(day, 16) if day else 0,
    )


def _compact_day(text: str) -> int:
    """Parse a date in the form YYYYMMDD. A missing or incomplete year, month or day counts as 0."""
    parts = [text[i:j] if j <= len(text) else "" for i, j in ((0, 4), (4, 6), (6, 8))]
    year, month, day = (_lexical(part, 16) if part else 0 for part in parts)
    return _day_number(year, month, day)


def _day_number(year: int, month: int, day: int) -> int:
    """Return the number of days since 1970. Year, month and day are checked in the reference's order."""
    if not 1 <= day <= 31:
        raise BadDay("Day of month value is out of range 1..31")
    if not 1 <= month <= 12:
        raise BadMonth("Month number is out of range 1..12")
    if not YEAR_MIN <= year <= YEAR_MAX:
        raise BadYear(f"Year is out of valid range: {YEAR_MIN}..{YEAR_MAX}")
    try:
        return date(year, month, day).toordinal() - EPOCH_DAY
    except ValueError:
        raise BadDay("Day of month is not valid for year") from None


def _delimited_clock(text: str) -> int:
    """Parse a time of day to microseconds. A leading `-` makes it negative. Any other `-` separates two numbers."""
    _require_clock(text)
    hour, minute, second, fraction = [*_words(text, "[-:,.]+"), "", "", "", ""][:4]
    clock = _microseconds(
        _lexical(hour, 32, signed=True) if hour else 0,
        _lexical(minute, 16) if minute else 0,
        _lexical(second, 16) if second else 0,
        _fraction(fraction) if fraction else 0,
    )
    return -clock if text[0] == "-" else clock


def _compact_clock(text: str) -> int:
    """Parse a time of day in the form HHMMSS with an optional separator and fraction.

    Return microseconds, negated if a part is negative.
    """
    _require_clock(text)
    digits = text.removeprefix("-")
    hour, minute, second = (_lexical(digits[i : i + 2], bits, signed=True) if digits[i:] else 0 for i, bits in ((0, 32), (2, 16), (4, 16)))
    fraction = _fraction(digits[7 : 7 + FRACTION_DIGITS]) if digits[7:] else 0
    clock = _microseconds(abs(hour), abs(minute), abs(second), abs(fraction))
    return -clock if (len(digits) < len(text)) != (min(hour, minute, second, fraction) < 0) else clock


def _require_clock(text: str) -> None:
    if not text:
        raise NoSuchPlace("basic_string::at: __n (which is 0) >= this->size() (which is 0)")


def _microseconds(hour: int, minute: int, second: int, fraction: int) -> int:
    return (hour * 3600 + minute * 60 + second) * SECOND_MICROSECONDS + fraction


def _fraction(text: str) -> int:
    """Convert the digits after the point to microseconds. Digits after the sixth are ignored."""
    digits = text[:FRACTION_DIGITS]
    return _lexical(digits, 64, signed=True) * FRACTION_UNITS[len(digits)]


def _words(text: str, separators: str) -> list[str]:
    return [word for word in re.split(separators, text) if word]


def _lexical(text: str, bits: int, signed: bool = False) -> int:
    value = read_integer(text, bits, signed)
    if value is None:
        raise LexicalCast
    return value


# ------------------------------------------------------------------ versions


def version_text(number: int) -> str:
    """Format a packed version as `major.hardfork.release`."""
    return f"{number >> 24 & 0xFF}.{number >> 16 & 0xFF}.{number & 0xFFFF}"


def version_from_text(text: str) -> int:
    """Parse `M.H.R` or `M_H_R` to a packed version. Numbers are parsed as a C++ stream reads them.

    White space before a part or a separator is skipped, negative numbers wrap, and parsing ends at a number that is too large. The last
    part can be missing.
    """
    match = VERSION.match(text)
    parts = [_version_part(match[i]) for i in (1, 3, 4)] if match else []
    if match is None or VERSION_PART_TOO_LARGE in parts[:2]:
        raise Refused(
            "Variant does not contain proper dotted decimal format", condition="( dot_a == '.' || dot_a == '_' ) && dot_a == dot_b"
        )
    major, hardfork, release = parts
    require(major <= 0xFF, "Major version is out of range", condition="major <= 0xFF")
    require(hardfork <= 0xFF, "Hardfork version is out of range", condition="hardfork <= 0xFF")
    require(release <= 0xFFFF, "Revision version is out of range", condition="revision <= 0xFFFF")
    require(match.end() == len(text), "Extra information at end of version string", condition="s.eof()")
    return major << 24 | hardfork << 16 | release


def _version_part(digits: str) -> int:
    if digits in ("", "+", "-"):
        return 0
    number = read_integer(digits, 32, signed=False)
    return VERSION_PART_TOO_LARGE if number is None else number
