"""Names, UTF-8, hex, times and versions as text: the reference's tables, and round trips."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from state.protocol.errors import ChainError, LexicalCast, Refused, Wrapped
from state.protocol.values import text as texts
from state.protocol.values.text import (
    bad_permlink_character,
    cut,
    decode,
    encode,
    fixed_hex,
    hex_bytes,
    is_utf8,
    is_valid_account_name,
    read_integer,
    size,
    time_from_text,
    time_text,
    version_from_text,
    version_text,
)
from tests.helpers.wire import vector

BYTES_AS_TEXT = st.binary(max_size=60).map(decode)
TIME_LIKE = st.lists(st.sampled_from([*"0123456789-:.T+/ ", "2016-08-08T", "20160808T", "12:24:17", "Aug", "é"]), max_size=12).map("".join)
NOT_ISO = "unable to convert ISO-formatted string to fc::time_point_sec"


def outcome(function: Callable[[str], Any], text: str) -> tuple[Any, str]:
    """Return the result of a function and "", or an empty result and the text of the refusal."""
    try:
        return function(text), ""
    except ChainError as error:
        return None, error.message()


# ------------------------------------------------------------------ bytes and names


@given(st.binary())
def test_any_bytes_round_trip(data: bytes) -> None:
    assert encode(decode(data)) == data
    assert size(decode(data)) == len(data)


@given(st.text(alphabet=st.characters()))
@example("\ud800")
@example("a\udcff\udbffé")
def test_any_text_has_bytes(text: str) -> None:
    assert size(text) == len(encode(text))


def test_lone_surrogates_become_three_bytes() -> None:
    assert encode("\ud800\udc41\udcff") == b"\xed\xa0\x80\xed\xb1\x81\xff"


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ("abc", 16, "abc"),
        ("abcdefghijklmnopq", 16, "abcdefghijklmnop"),
        ("ab\0cd", 16, "ab"),
        ("abc\0", 3, "abc"),
        ("\0abc", 16, ""),
        ("ééé", 4, "éé"),
        ("ééé", 5, "éé\udcc3"),
        ("é\0é", 16, "é"),
        ("x" * 40, 32, "x" * 32),
    ],
)
def test_bounded_texts_are_cut_by_bytes_and_end_at_nul(text: str, size: int, expected: str) -> None:
    assert cut(text, size) == expected


@given(st.binary(max_size=40), st.sampled_from([16, 32]))
def test_cutting_is_done_once(data: bytes, size: int) -> None:
    short = cut(decode(data), size)
    assert encode(short) == data[:size].split(b"\0")[0]
    assert cut(short, size) == short


@pytest.mark.parametrize(
    ("data", "valid"),
    [
        (b"", True),
        (b"plain", True),
        ("é日🙂\uffff\ufffe\U0010ffff\0".encode(), True),
        (b"\xff", False),
        (b"\xc0\x80", False),
        (b"\xe0\x80\xaf", False),
        (b"\xed\xa0\x80", False),
        (b"\xf4\x90\x80\x80", False),
        (b"\xc3", False),
    ],
)
def test_utf8(data: bytes, valid: bool) -> None:
    assert is_utf8(decode(data)) is valid


def test_account_names() -> None:
    rows = vector("name.table")["expect"]
    assert [(r["name"], is_valid_account_name(r["name"]), cut(r["name"], 16)) for r in rows] == [
        (r["name"], r["valid"], r["stored"]) for r in rows
    ]


@pytest.mark.parametrize("name", ["", "abc\n", "abc\0", "abcé", "äbc", "abc.", ".abc", "abc.defghijklmnopq", "a.bcd", "abc.de", "a b"])
def test_other_names_are_not_valid(name: str) -> None:
    assert not is_valid_account_name(name)


@pytest.mark.parametrize("name", ["abc.def.ghi", "a-b", "a--b", "abc.def-ghi.jk9", "a09"])
def test_more_valid_names(name: str) -> None:
    assert is_valid_account_name(name)


@pytest.mark.parametrize(("permlink", "bad"), [("", ""), ("a-0z", ""), ("a_b.", "_"), ("Ab", "A"), ("a\n", "\n"), ("aé", "\udcc3")])
def test_permlinks_of_new_comments(permlink: str, bad: str) -> None:
    assert bad_permlink_character(permlink) == bad


# ------------------------------------------------------------------ hex and integers


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", b""), ("800080", b"\x80\0\x80"), ("aBcD", b"\xab\xcd"), ("abc", b"\xab"), ("abz", b"\xab"), ("a", b""), ("ab\udcff", b"\xab")],
)
def test_hex_of_any_length(text: str, expected: bytes) -> None:
    assert hex_bytes(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", b"\0\0\0"),
        ("5", b"\0\0\0"),
        ("ab", b"\xab\0\0"),
        ("abc", b"\xab\0\0"),
        ("abz", b"\xab\0\0"),
        ("01020", b"\1\2\0"),
        ("010203", b"\1\2\3"),
        ("0102034", b"\1\2\3"),
        ("01020304", b"\1\2\3"),
    ],
)
def test_hex_of_fixed_length(text: str, expected: bytes) -> None:
    assert fixed_hex(text, 3) == expected


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("nohex", "n"),
        ("abz0", "z"),
        ("ab 0", " "),
        ("0x10", "x"),
        ("aébb", "\udcc3"),
        ("zé", "z"),
        ("00\n0", "\n"),
        ("00" * 20 + "zz", "z"),
    ],
)
def test_the_first_byte_that_is_not_hex_is_named(text: str, bad: str) -> None:
    for read in (hex_bytes, lambda text: fixed_hex(text, 20)):
        with pytest.raises(ChainError) as caught:
            read(text)
        assert caught.value.message() == f"unspecified:Invalid hex character '{bad}'"
        assert caught.value.CODE == 0


@given(BYTES_AS_TEXT)
def test_hex_of_garbage_fails_in_one_way(text: str) -> None:
    for read in (hex_bytes, lambda text: fixed_hex(text, 20)):
        value, refusal = outcome(read, text)
        assert value is not None or "Invalid hex character" in refusal


@given(st.binary(max_size=80))
def test_hex_round_trips(data: bytes) -> None:
    assert hex_bytes(data.hex()) == hex_bytes(data.hex().upper()) == fixed_hex(data.hex(), len(data)) == data


@pytest.mark.parametrize(
    ("text", "bits", "signed", "value"),
    [
        ("65535", 16, False, 65535),
        ("65536", 16, False, None),
        ("-1", 16, False, 65535),
        ("-65536", 16, False, None),
        ("-32768", 16, True, -32768),
        ("32768", 16, True, None),
        ("0" * 9000 + "7", 16, True, 7),
        ("9" * 9000, 64, False, None),
        ("0" * 9000 + "x", 64, False, None),
        ("+", 64, True, None),
        ("", 64, True, None),
        ("٣", 64, True, None),
        ("1\n", 64, True, None),
    ],
)
def test_integers_in_text(text: str, bits: int, signed: bool, value: int | None) -> None:
    assert read_integer(text, bits, signed) == value


# ------------------------------------------------------------------ time


def test_the_reference_s_table_of_times() -> None:
    for row in vector("date.table")["expect"]:
        if row["result"] is None:
            with pytest.raises(ChainError):
                time_from_text(row["text"])
        else:
            seconds = time_from_text(row["text"])
            assert (row["text"], seconds, time_text(seconds)) == (row["text"], row["result"]["seconds"], row["result"]["json"])


@given(st.integers(0, 0xFFFFFFFF))
@example(0)
@example(0x7FFFFFFF)
@example(0x80000000)
@example(0xFFFFFFFF)
def test_times_round_trip(seconds: int) -> None:
    text = time_text(seconds)
    assert len(text) == 19
    assert time_from_text(text) == seconds
    assert time_from_text(text.replace("-", "").replace(":", "")) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2016-08-08T12:24:17", 1470659057),
        ("2016-08-08T-12:24:17", 1470614400 - 44657),
        ("2016-08-08T-00:00:00.5", 1470614399),
        ("20160808T-122417", 1470614400 - 44657),
        ("20160808T12-5", 1470614400 - 43500),
        ("20160808T-12-5", 1470614400 + 43500),
        ("1969-12-31T23:59:59.5", 0),
        ("1969-12-31T23:59:58.5", 0xFFFFFFFF),
        ("2016/08-08T0", None),
        ("2016-08/08T0", 1470614400),
        ("2016-08-08T12-24-17", 1470659057),
        ("2016-08-08T12:24:17.1234567Z", 1470659057),
        ("2016-08-08T12:24:17.Z", None),
        ("20160808T122417Z", 1470659057),
        ("20160808T122417.5", 1470659057),
        ("20160808T122417.5Z", None),
        ("2016-august-08T00", 1470614400),
        ("2016-AUG-08T00", 1470614400),
        ("2016-Sept-08T00", None),
        ("2016-08-08T999999:00", None),
        ("2016-08-08T:", 1470614400),
        ("2016-08-08T+1:+2:+3", 1470618123),
        ("2016-08-08T1:65536", None),
        ("2016-08-08T99999999999", None),
        ("2016-08-08t00:00:00", None),
        ("1901-12-13T20:45:51", None),
        ("1399-01-01T00", None),
        ("2016-²-08T00", None),
    ],
)
def test_leniency_beyond_the_table(text: str, seconds: int | None) -> None:
    if seconds is not None:
        assert time_from_text(text) == seconds
    else:
        with pytest.raises(ChainError):
            time_from_text(text)


DAY, MONTH = "Day of month value is out of range 1..31", "Month number is out of range 1..12"
YEAR = "Year is out of valid range: 1400..9999"
PLACE = "basic_string::at: __n (which is 0) >= this->size() (which is 0)"


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("2106-02-07T06:28:15", Refused, f"Assert Exception:(pt - epoch).total_seconds() <= INT32_MAX: Datetime overflow{NOT_ISO}"),
        ("1901-12-13T20:45:51", Refused, f"Assert Exception:(pt - epoch).total_seconds() >= INT32_MIN: Datetime underflow{NOT_ISO}"),
        ("14000101T00", Refused, f"Assert Exception:(pt - epoch).total_seconds() >= INT32_MIN: Datetime underflow{NOT_ISO}"),
        ("1399-12-31T00", Wrapped, f"{YEAR}:{YEAR}: {NOT_ISO}"),
        ("10000-01-01T00", LexicalCast, None),
        ("0000-00-00T00:00:00", Wrapped, f"{DAY}:{DAY}: {NOT_ISO}"),
        ("0000-00-01T00:00:00", Wrapped, f"{MONTH}:{MONTH}: {NOT_ISO}"),
        ("2020-01-01", Wrapped, f"{PLACE}:{PLACE}: {NOT_ISO}"),
        ("1606780900", Wrapped, f"Month number is out of range 1..12:Month number is out of range 1..12: {NOT_ISO}"),
        ("0", Wrapped, f"Day of month value is out of range 1..31:Day of month value is out of range 1..31: {NOT_ISO}"),
        ("", Wrapped, f"Day of month value is out of range 1..31:Day of month value is out of range 1..31: {NOT_ISO}"),
        ("2016-02-30T00", Wrapped, f"Day of month is not valid for year:Day of month is not valid for year: {NOT_ISO}"),
        ("soon", LexicalCast, None),
        ("never", LexicalCast, None),
        ("tomorrow", LexicalCast, None),
        ("2020-12-01T00:03:36Z", LexicalCast, None),
    ],
)
def test_texts_of_refused_times(text: str, kind: type[ChainError], message: str | None) -> None:
    cast = "bad lexical cast: source type value could not be interpreted as target"
    for _ in range(2):
        with pytest.raises(kind) as caught:
            time_from_text(text)
        assert caught.value.message() == (message or f"{cast}:{cast}: {NOT_ISO}")


@given(TIME_LIKE | BYTES_AS_TEXT)
def test_garbage_is_a_time_or_a_refusal(text: str) -> None:
    seconds, refusal = outcome(time_from_text, text)
    assert refusal.endswith(NOT_ISO) if seconds is None else time_from_text(time_text(seconds)) == seconds


@given(BYTES_AS_TEXT | st.text(alphabet="0123456789._ \n"))
def test_garbage_is_a_version_or_a_refusal(text: str) -> None:
    number, refusal = outcome(version_from_text, text)
    assert refusal if number is None else version_from_text(version_text(number)) == number


def test_long_texts_are_not_cached() -> None:
    texts._kept_time.cache_clear()
    assert time_from_text("2016-08-08T12:24:17." + "9" * 100_000) == 1470659057
    assert texts._kept_time.cache_info().currsize == 0


# ------------------------------------------------------------------ versions


def test_the_reference_s_table_of_versions() -> None:
    for row in vector("version.table")["expect"]:
        if row["result"] is None:
            with pytest.raises(Refused):
                version_from_text(row["text"])
        else:
            assert version_text(version_from_text(row["text"])) == row["result"]


@given(st.integers(0, 0xFFFFFFFF))
def test_versions_round_trip(number: int) -> None:
    assert version_from_text(version_text(number)) == number
    assert version_from_text(version_text(number).replace(".", "_")) == number


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1.2_3", "proper dotted decimal"),
        ("", "proper dotted decimal"),
        ("256.0.0", "Major"),
        ("0.256.0", "Hardfork"),
        ("0.0.65536", "Revision"),
        ("9" * 9000 + ".0.0", "proper dotted decimal"),
        ("4294967296.1.1", "proper dotted decimal"),
        ("1.4294967296.1", "proper dotted decimal"),
        ("1.1.4294967296", "Revision"),
        ("-1.2.3", "Major"),
        ("1.-2.3", "Hardfork"),
        ("1.2.-3", "Revision"),
        ("0.23", "proper dotted decimal"),
        ("0.23.x", "Extra information"),
        ("0.0.0 ", "Extra information"),
    ],
)
def test_texts_of_refused_versions(text: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        version_from_text(text)


@pytest.mark.parametrize(("text", "version"), [("+0.23.1", "0.23.1"), ("-0.23.1", "0.23.1"), ("0.23.", "0.23.0"), ("0_23_ +", "0.23.0")])
def test_odd_texts_of_versions(text: str, version: str) -> None:
    assert version_text(version_from_text(text)) == version
