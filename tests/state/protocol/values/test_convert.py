"""Conversions of JSON values: the reference's table of number texts, silent narrowing, and the error texts of invalid casts."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state.protocol.errors import BadCast, ChainError, ParseError
from state.protocol.values.convert import json_int, kind_of, to_array, to_bool, to_choice, to_int, to_object, to_text, to_u128
from tests.helpers.wire import vector

TWO63, TWO64 = 1 << 63, 1 << 64
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.from_regex(r"[+-]?(0x?)?[0-9a-f]{0,40}", fullmatch=True)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)


def outcome(convert: Callable[[Any], Any], value: Any) -> tuple[Any, str]:
    """Return the result of a conversion and "", or an empty result and the text of the refusal."""
    try:
        return convert(value), ""
    except (BadCast, ParseError) as error:
        return None, error.message()


def test_the_reference_s_table_of_number_texts() -> None:
    for row in vector("number.table")["expect"]:
        for signed, key in ((False, "as_uint64"), (True, "as_int64")):
            if row[key] is None:
                with pytest.raises(ParseError, match=f"Couldn't parse {'int64_t' if signed else 'uint64_t'}"):
                    to_int(row["text"], 64, signed)
            else:
                assert to_int(row["text"], 64, signed) == int(row[key])


@pytest.mark.parametrize(
    ("value", "bits", "signed", "expected"),
    [
        (5, 32, False, 5),
        (0xFFFFFFFF, 32, False, 0xFFFFFFFF),
        (65536, 16, False, 0),
        (65537, 16, False, 1),
        ("65536", 16, False, 0),
        (40000, 16, True, -25536),
        ("40000", 16, True, -25536),
        (128, 8, True, -128),
        (-1, 8, False, 255),
        (-1, 64, False, TWO64 - 1),
        ("-1", 32, False, 0xFFFFFFFF),
        (TWO63, 64, True, -TWO63),
        (TWO64 - 1, 64, True, -1),
        (TWO64 - 1, 64, False, TWO64 - 1),
        (-TWO63, 64, True, -TWO63),
        (True, 16, False, 1),
        (False, 16, True, 0),
        (None, 64, True, 0),
        (1.9, 32, False, 1),
        (-1.9, 32, True, -1),
        (-1.9, 32, False, 0xFFFFFFFF),
        (1e18, 64, True, 10**18),
        (1e19, 64, False, 10**19),
        (1e19, 64, True, -TWO63),
        (1e30, 64, False, 0),
        (-1e30, 64, True, -TWO63),
        ("12\0x", 32, False, 12),
    ],
)
def test_integers(value: Any, bits: int, signed: bool, expected: int) -> None:
    number = to_int(value, bits, signed)
    assert (type(number), number) == (int, expected)


@pytest.mark.parametrize(
    ("value", "signed", "message"),
    [
        ([], False, "Bad Cast:Invalid cast from array_type to uint64"),
        ({}, True, "Bad Cast:Invalid cast from object_type to int64"),
        ("wit00", False, "Parse Error:Couldn't parse uint64_t"),
        ("", True, "Parse Error:Couldn't parse int64_t"),
        ("\0", True, "Parse Error:Couldn't parse int64_t"),
        (TWO64, False, "Parse Error:Couldn't parse uint64_t"),
        (-TWO63 - 1, False, "Parse Error:Couldn't parse int64_t"),
    ],
)
def test_values_that_are_not_integers(value: Any, signed: bool, message: str) -> None:
    with pytest.raises(ChainError) as caught:
        to_int(value, 16, signed)
    assert caught.value.message() == message


@pytest.mark.parametrize(
    ("value", "expected"),
    [(True, True), (False, False), ("true", True), ("false", False), (2, True), (0, False), (0.5, True), (0.0, False), (None, False)],
)
def test_bools(value: Any, expected: bool) -> None:
    assert to_bool(value) is expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("True", 'Bad Cast:Cannot convert string to bool (only "true" or "false" can be converted)'),
        ("1", 'Bad Cast:Cannot convert string to bool (only "true" or "false" can be converted)'),
        ([], "Bad Cast:Invalid cast from array_type to bool"),
    ],
)
def test_values_that_are_not_bools(value: Any, message: str) -> None:
    with pytest.raises(BadCast) as caught:
        to_bool(value)
    assert caught.value.message() == message


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("é\udcff", "é\udcff"),
        (None, ""),
        (True, "true"),
        (False, "false"),
        (-7, "-7"),
        (TWO64 - 1, "18446744073709551615"),
        (1.5, "1.50000000000000000"),
        (0.1, "0.10000000000000001"),
        (-0.0, "-0.00000000000000000"),
    ],
)
def test_texts(value: Any, expected: str) -> None:
    assert to_text(value) == expected


def test_texts_of_bad_casts() -> None:
    for convert, value, message in (
        (to_text, [["blog"]], "Bad Cast:Invalid cast from array_type to string"),
        (to_text, {}, "Bad Cast:Invalid cast from object_type to string"),
        (to_text, TWO64, "Parse Error:Couldn't parse uint64_t"),
        (to_array, None, "Bad Cast:Invalid cast from null_type to Array"),
        (to_array, "x", "Bad Cast:Invalid cast from string_type to Array"),
        (to_array, {}, "Bad Cast:Invalid cast from object_type to Array"),
        (to_array, 7, "Bad Cast:Invalid cast from uint64_type to Array"),
        (to_array, -7, "Bad Cast:Invalid cast from int64_type to Array"),
        (to_array, 7.5, "Bad Cast:Invalid cast from double_type to Array"),
        (to_array, True, "Bad Cast:Invalid cast from bool_type to Array"),
        (to_object, [], "Bad Cast:Invalid cast from type 'array_type' to Object"),
        (to_object, "x", "Bad Cast:Invalid cast from type 'string_type' to Object"),
        (to_object, 0, "Bad Cast:Invalid cast from type 'uint64_type' to Object"),
    ):
        with pytest.raises(ChainError) as caught:
            convert(value)
        assert caught.value.message() == message


def test_containers_are_passed_through() -> None:
    array: list[Any] = [1]
    assert to_array(array) is array
    assert to_object({"a": array})["a"] is array
    values: list[Any] = [array, {}, "", 0]
    assert [kind_of(value) for value in values] == ["array_type", "object_type", "string_type", "uint64_type"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("18446744073709551621", TWO64 + 5),
        ("abc", 0),
        ("12abc", 12),
        ("", 0),
        ("-", 0),
        ("-1", (1 << 128) - 1),
        ("-0x1", (1 << 128) - 1),
        ("0xFf", 255),
        ("0XFF", 0),
        ("0xfg", 15),
        ("017", 15),
        ("019", 1),
        ("+1", 0),
        (str(1 << 128), 0),
        ("9" * 5000, (10**5000 - 1) % (1 << 128)),
        ("0" + "7" * 500, 8**500 - 1 & (1 << 128) - 1),
        ("0x1" + "0" * 31 + "f", 15),
        (12, 12),
        (-1, (1 << 128) - 1),
        (1.5, 1),
        (True, 0),
        (None, 0),
    ],
)
def test_wide_numbers(value: Any, expected: int) -> None:
    assert to_u128(value) == expected


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, 0), (0xFFFFFFFF, 0xFFFFFFFF), (0x100000000, "4294967296"), (TWO64 - 1, "18446744073709551615"), (-1, -1), (-TWO63, -TWO63)],
)
def test_integers_out(value: int, written: int | str) -> None:
    assert json_int(value) == written


@given(st.integers(-TWO63, TWO63 - 1))
def test_integers_round_trip(value: int) -> None:
    assert to_int(json_int(value), 64, signed=True) == value
    assert to_int(str(value), 64, signed=True) == value
    assert to_int(to_int(value, 64, signed=False), 64, signed=True) == value


@given(VALUES, st.sampled_from([8, 16, 32, 64]), st.booleans())
def test_any_value_is_an_integer_or_refused(value: Any, bits: int, signed: bool) -> None:
    low, high = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)
    number, refusal = outcome(lambda value: to_int(value, bits, signed), value)
    assert refusal or low <= number < high
    wide, refusal = outcome(to_u128, value)
    assert refusal or 0 <= wide < 1 << 128


@given(VALUES)
def test_any_value_is_converted_or_refused(value: Any) -> None:
    converters: list[tuple[Callable[[Any], Any], type]] = [(to_bool, bool), (to_text, str), (to_array, list), (to_object, dict)]
    for convert, kind in converters:
        result, refusal = outcome(convert, value)
        assert refusal or type(result) is kind


# ------------------------------------------------------------------ enumerations

COLORS = ("red", "green", "blue")


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("green", 1),
        ("green\0er", 1),
        ("1", 1),
        ("+1", 1),
        ("0000000000001", 1),
        ("4294967297", 1),
        (2, 2),
        (None, 0),
        (False, 0),
        (True, 1),
        (1.0, 1),
        (1.9, 1),
        (-0.5, 0),
        (2**32, 0),
        (1 - 2**32, 1),
    ],
)
def test_a_choice_is_a_name_or_a_number(value: Any, place: int) -> None:
    assert to_choice(value, COLORS, "color") == place


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", "invalid name '' in enum 'color'"),
        ("pink", "invalid name 'pink' in enum 'color'"),
        ("Red", "invalid name 'Red' in enum 'color'"),
        ("1.0", "invalid name '1.0' in enum 'color'"),
        ("9223372036854775808", "invalid name '9223372036854775808' in enum 'color'"),
        ("3", "invalid index '3' in enum 'color'"),
        ("-1", "invalid index '-1' in enum 'color'"),
        ("99999999999", "invalid index '99999999999' in enum 'color'"),
        (3, "invalid index '3' in enum 'color'"),
        (-1, "invalid index '-1' in enum 'color'"),
        (2**32 + 3, "invalid index '4294967299' in enum 'color'"),
        (2**64 - 1, "invalid index '-1' in enum 'color'"),
        (7.5, "invalid index '7' in enum 'color'"),
        ([], "Invalid cast from array_type to int64"),
        ({}, "Invalid cast from object_type to int64"),
    ],
)
def test_values_that_are_not_choices(value: Any, text: str) -> None:
    assert outcome(lambda given: to_choice(given, COLORS, "color"), value) == (None, f"Bad Cast:{text}")


@given(VALUES)
def test_any_value_is_a_choice_or_refused(value: Any) -> None:
    place, refusal = outcome(lambda given: to_choice(given, COLORS, "color"), value)
    assert refusal or place in range(3)
