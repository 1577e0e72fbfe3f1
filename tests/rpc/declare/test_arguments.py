"""Decoding of request bodies, conversion of arguments, and their refusals."""

import enum
from typing import Annotated, Any

import pytest
from msgspec import Struct

from rpc.declare.arguments import (
    APPBASE,
    ARRAY_SIZE_MAX,
    CONVERTERS,
    LEGACY,
    AccountName,
    Bool,
    EnumTitle,
    ExactLength,
    Form,
    Hash160,
    PublicKey,
    Text,
    Timestamp,
    UInt32,
    UInt64,
    argument,
    register_converter,
)
from rpc.json.reader import MARKS_MAX, read_json
from state.protocol.errors import ChainError, EndOfFile, ParseError, Refused
from state.protocol.transaction import SignedTransaction, Wire
from tests.helpers.fakes import fake_wire
from tests.helpers.golden import fails

WIRE = fake_wire()


# ------------------------------------------------------------------ reading


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b' \r\n\t{"a": 1}', {"a": 1}),
        (b'{"a": 1} and more', {"a": 1}),
        (b'{"a": 1}\xff\xfe', {"a": 1}),
        (b"[1][2]", [1]),
        (b'"text" ', "text"),
        ('"ü\\u00fc\\ud83d\\ude00"'.encode(), "üü😀"),
        (b"18446744073709551615", 2**64 - 1),
        (b"-9223372036854775808", -(2**63)),
        (b'"99999999999999999999"', "99999999999999999999"),
        (b"0.12345678901234567890123", 0.12345678901234567890123),
        (b"[" * 99 + b"]" * 99, None),
        (b'{"a":' * 99 + b"1" + b"}" * 99, None),
        (b"[" + b"{}," * 500 + b"{}]", None),
    ],
)
def test_the_first_json_value_is_read(body: bytes, value: Any) -> None:
    assert value is None or read_json(body) == value
    assert read_json(body) is not None


@pytest.mark.parametrize(
    ("body", "error", "text"),
    [
        (b"", EndOfFile, "End Of File:stringstream"),
        (b" \n", EndOfFile, "End Of File:stringstream"),
        (b"{", ParseError, "Parse Error:"),
        (b"\xff\xfe", ParseError, "Parse Error:"),
        (b'"\xff"', ParseError, "Parse Error:The request is not valid UTF-8"),
        (b'"\xff" and more', ParseError, "Parse Error:The request is not valid UTF-8"),
        (b'"\xed\xa0\x80"', ParseError, "Parse Error:The request is not valid UTF-8"),
        (b'"\\ud800"', ParseError, "Parse Error:"),
        (b"NaN", ParseError, "Parse Error:"),
        (b"[1e999]", ParseError, "Parse Error:"),
        (b"1" * 100_000, ParseError, "Parse Error:"),
        (b"[18446744073709551616]", ParseError, "Parse Error:Couldn't parse uint64_t"),
        (b"18446744073709551616", ParseError, "Parse Error:Couldn't parse uint64_t"),
        (b"[1,\n18446744073709551616]", ParseError, "Parse Error:Couldn't parse uint64_t"),
        (b'{"a":[{"b":-9223372036854775809}]}', ParseError, "Parse Error:Couldn't parse int64_t"),
        (b"[[1,-9223372036854775809],18446744073709551616]", ParseError, "Parse Error:Couldn't parse int64_t"),
        (b'{"a":18446744073709551616,"b":-9223372036854775809}', ParseError, "Parse Error:Couldn't parse uint64_t"),
        (b"\xef\xbb\xbf{}", ParseError, "Parse Error:"),
        (b"[" * 100 + b"]" * 100, Refused, "Assert Exception:open_object < 100 && open_array < 100: object graph too deep"),
        (b'{"a":' * 100 + b"1" + b"}" * 100, Refused, "Assert Exception:open_object"),
        (b'"' + b"{" * 100 + b'"', Refused, "Assert Exception:open_object"),
        (b"[" * 1_000_000, Refused, "Assert Exception:open_object"),
        (b"[" + b"[]," * (MARKS_MAX // 3) + b"[]]", Refused, "Assert Exception:commas + brackets <= 6000000: The request holds too many"),
    ],
)
def test_invalid_json_is_refused(body: bytes, error: type[ChainError], text: str) -> None:
    with pytest.raises(error) as caught:
        read_json(body)
    assert str(caught.value).startswith(text)


# ------------------------------------------------------------------ arguments


class Color(enum.Enum):
    """An enumeration for arguments. `crimson` is an alias of `red`."""

    red = 0
    green = 1
    crimson = 0  # noqa: PIE796


class Query(Struct):
    tag: AccountName = ""
    limit: UInt32 = 20
    names: list[AccountName] = []
    coin_only: Bool = False
    parent: Text | None = None


Titled = Annotated[Color, EnumTitle("coin::color")]
Three = Annotated[tuple[AccountName, Text, UInt32], ExactLength("by_x start requires 3 values. (a, b, c)")]


@pytest.mark.parametrize(
    ("annotation", "given", "value"),
    [
        (int, "-12", -12),
        (int, 1.9, 1),
        (UInt32, -1, 4294967295),
        (UInt32, None, 0),
        (UInt32, True, 1),
        (UInt64, "-1", 2**64 - 1),
        (str, 12, "12"),
        (AccountName, "a" * 20, "a" * 16),
        (AccountName, None, ""),
        (bool, "true", True),
        (bool, 0, False),
        (Timestamp, "2020-01-01T00:00:00", 1577836800),
        (Timestamp, "1969-12-31T23:59:59", 4294967295),
        (Timestamp, "1960-01-01T00:00:00", 0),
        (Timestamp, "1969-12-31T23:59:58", 0),
        (Timestamp, "2038-01-19T03:14:07", 2**31 - 1),
        (Hash160, "ff", b"\xff" + bytes(19)),
        (list[AccountName], ["a", 1], ["a", "1"]),
        (dict[str, Any], {"a": 1}, {"a": 1}),
        (Any, {"a": [1]}, {"a": [1]}),
        (Text | None, None, None),
        (Text | None, 5, "5"),
        (tuple[AccountName, UInt32], [], ("", 0)),
        (tuple[AccountName, UInt32], ["a", 5, "more"], ("a", 5)),
        (Three, ["a", "b", "7"], ("a", "b", 7)),
        (Titled, "green", Color.green),
        (Titled, "crimson", Color.red),
        (Titled, "1", Color.green),
        (Titled, 1.5, Color.green),
        (Titled, None, Color.red),
        (Titled, 4294967297, Color.green),
        (Query, {}, Query()),
        (Query, {"tag": "x", "limit": "3", "names": [1], "more": 1, "steem_only": 1}, Query("x", 3, ["1"], True)),
        (Query, {"coin_only": True, "parent": None}, Query(coin_only=True)),
    ],
)
def test_arguments_are_converted(annotation: Any, given: Any, value: Any) -> None:
    read = argument(annotation, WIRE).read(given)
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("annotation", "given", "text"),
    [
        (int, [], "Bad Cast:Invalid cast from array_type to int64"),
        (UInt32, {}, "Bad Cast:Invalid cast from object_type to uint64"),
        (Timestamp, "2040-01-01T00:00:00", "Assert Exception:(pt - epoch).total_seconds() <= INT32_MAX: Datetime overflow"),
        (UInt32, "x", "Parse Error:Couldn't parse uint64_t"),
        (int, "", "Parse Error:Couldn't parse int64_t"),
        (AccountName, [], "Bad Cast:Invalid cast from array_type to string"),
        (Bool, "x", 'Bad Cast:Cannot convert string to bool (only "true" or "false" can be converted)'),
        (list[Text], [""] * (ARRAY_SIZE_MAX + 1), "Assert Exception:size <= 10000: An array may have at most 10000 members here"),
        (list[Text], "x", "Bad Cast:Invalid cast from string_type to Array"),
        (list[Text], [[]], "Bad Cast:Invalid cast from array_type to string"),
        (tuple[Text, Text], None, "Bad Cast:Invalid cast from null_type to Array"),
        (Three, [[], {}, "x"], "Parse Error:Couldn't parse uint64_t"),
        (Three, [[], {}, 1], "Bad Cast:Invalid cast from object_type to string"),
        (tuple[Text, Text], [[], {}], "Bad Cast:Invalid cast from array_type to string"),
        (Three, ["a"], "Assert Exception:key.size() == 3: by_x start requires 3 values. (a, b, c)"),
        (Titled, "blue", "Bad Cast:invalid name 'blue' in enum 'steem::color'"),
        (Titled, "", "Bad Cast:invalid name '' in enum 'steem::color'"),
        (Titled, 2, "Bad Cast:invalid index '2' in enum 'steem::color'"),
        (Titled, -1, "Bad Cast:invalid index '-1' in enum 'steem::color'"),
        (Color, [], "Bad Cast:Invalid cast from array_type to int64"),
        (Query, [], "Bad Cast:Invalid cast from type 'array_type' to Object"),
        (SignedTransaction, None, "Bad Cast:Invalid cast from type 'null_type' to Object"),
    ],
)
def test_invalid_arguments_are_refused(annotation: Any, given: Any, text: str) -> None:
    with pytest.raises(ChainError) as caught:
        argument(annotation, WIRE).read(given)
    caught.value.context = ""
    assert caught.value.message(WIRE.spec.spell) == text


def test_bad_keys_and_hashes_are_refused() -> None:
    for annotation, given in ((PublicKey, "STM1234"), (Hash160, "xy")):
        with pytest.raises(ChainError):
            argument(annotation, WIRE).read(given)


def test_transactions_come_sealed() -> None:
    read = argument(SignedTransaction, WIRE, LEGACY)
    assert read.default().id == read.read({}).id != bytes(20)
    with pytest.raises(ChainError):
        read.read({"operations": [5]})


def test_types_without_a_converter_are_refused_at_declaration() -> None:
    with fails(TypeError):
        argument(complex, WIRE)
    with fails(TypeError):
        argument(int | str, WIRE)


def test_converters_can_be_added() -> None:
    class Point(Struct):
        """A type that has no converter yet."""

        x: int

    def point(value: Any, wire: Wire, form: Form) -> Point:
        return Point(value.get("x", 7) if form is APPBASE else len(wire.spec.name))

    register_converter(Point, point)
    try:
        assert argument(list[Point], WIRE).read([{"x": 1}]) == [Point(1)]
        assert argument(Point, WIRE).default() == Point(7)
        assert argument(Point, WIRE, LEGACY).read({}) == Point(13)
        with pytest.raises(AssertionError):
            register_converter(Point, point)
    finally:
        del CONVERTERS[Point]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        # The first three values are recorded (case rpc_envelope).
        (b'{"id":18446744073709551616}', "Couldn't parse uint64_tError parsing object"),
        (b'{"params":[18446744073709551616,-1]}', "Couldn't parse uint64_tAttempting to parse array []Error parsing object"),
        (b'{"params":[27,18446744073709551616]}', "Couldn't parse uint64_tAttempting to parse array [27]Error parsing object"),
        (
            b'[{"a":4294967296},[-5,1.5,null,"COIN\\u0001",-9223372036854775809]]',
            'Couldn\'t parse int64_tAttempting to parse array [-5,"1.50000000000000000",null,"COIN\\u0001"]'
            'Attempting to parse array [{"a":"4294967296"}]',
        ),
        (b"[" + b"1," * 1001 + b"18446744073709551616]", "Couldn't parse uint64_tAttempting to parse array []"),
        (b'["' + b"x" * 5000 + b'",18446744073709551616]', "Couldn't parse uint64_tAttempting to parse array []"),
    ],
)
def test_integers_beyond_64_bits_are_refused_with_their_context(body: bytes, text: str) -> None:
    with pytest.raises(ParseError) as caught:
        read_json(body)
    assert caught.value.message(WIRE.spec.spell) == f"Parse Error:{text}"
