"""The lenient JSON parser: the reference's table, its replies to recorded broadcasts, and the fast path compared with the slow one."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from state.protocol.errors import ChainError, EndOfFile, ParseError, Refused
from state.protocol.values import jsontext
from state.protocol.values.jsontext import is_whole, read
from state.protocol.values.text import decode, encode
from tests.helpers.wire import vector

# Only the request reader refuses with this text, before the operation is parsed (operations.md §2.3).
REQUEST_READER = "object graph too deep"

PIECES = [
    *'{}[],:"\\-.+ \t\n\r\0\4/_exunlltrefas019',
    *('"a"', '"a":', "{}", "[]", "null", "true", "false", "nul", "1e5", "1e+5", "-1", "1.5", "01", "é"),
    *("\udcff", '"\\u0041"', '"\\n"', '"b\\"":'),
    *("18446744073709551615", "18446744073709551616", "-9223372036854775809", "[" * 60, "]" * 60, '{"a":1,"a":2}', "\\"),
]
LENIENT = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
PLAIN_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 65), 1 << 65) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)
PLAIN = st.builds(
    lambda value, ascii_only, indent: decode(encode(json.dumps(value, ensure_ascii=ascii_only, indent=indent))),
    PLAIN_VALUES,
    st.booleans(),
    st.none() | st.just(1),
)
GARBAGE = st.binary(max_size=40).map(decode)
ANY_TEXT = LENIENT | PLAIN | GARBAGE


def is_valid(text: str) -> bool:
    """Whether a text is valid JSON without trailing content."""
    try:
        return is_whole(text)
    except ChainError:
        return False


def outcome(function: Any, *arguments: Any) -> Any:
    """Return the result of a function, or the text of its refusal."""
    try:
        return function(*arguments)
    except ChainError as error:
        return type(error), error.message()


def slowly(text: str) -> Any:
    """Return the value of a JSON text, parsed without the fast path."""
    return outcome(jsontext._Reader(encode(text)).value)


def slowly_whole(text: str) -> Any:
    """Return whether the lenient parser, without the fast path, finds exactly one value in a text."""

    def whole() -> bool:
        reader = jsontext._Reader(encode(text))
        reader.value()
        return reader.at == len(reader.data)

    return outcome(whole) if text else False


def same(one: Any, other: Any) -> bool:
    """Compare values, distinguishing 1, true and 1.0."""
    return repr(one) == repr(other)


# ------------------------------------------------------------------ the reference's table


def first_of_equal(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return dict(reversed(pairs))


def test_the_reference_s_table() -> None:
    for row in vector("json.table")["expect"]:
        text, verdict = row["text"], row["is_valid"]
        if verdict == "throws":
            with pytest.raises(ChainError):
                is_whole(text)
        else:
            assert (text, is_whole(text)) == (text, verdict == "true")
        assert (text, is_valid(text)) == (text, verdict == "true")
        if row["parsed"] is None:
            with pytest.raises(ChainError):
                read(text)
        else:
            value = json.loads(row["parsed"], object_pairs_hook=first_of_equal)
            assert json.loads(jsontext._printed(read(text))) == value


# ------------------------------------------------------------------ reading


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            '["follow",{"follower":"amy","following":"bob","what":["blog"]}]',
            ["follow", {"follower": "amy", "following": "bob", "what": ["blog"]}],
        ),
        ('"\\t\\n\\r\\b\\f\\u00e9\\"\\\\\\/"', '\t\n\rbfu00e9"\\/'),
        ('"\\é"', "é"),
        ("1e5", "1e5"),
        ("[1.5e3,1E5,-1e-5]", ["1.5e3", "1E5", "-1e-5"]),
        ("[1.5,-.5,5.,00.5,-0.0]", [1.5, -0.5, 5.0, 0.5, -0.0]),
        ("0.1", 0.1),
        ("1." + "0" * 400, 1.0),
        ("-0", 0),
        ("007", 7),
        ("{a", ParseError),
        ('{"a":1}}', {"a": 1}),
        ('{"a":{"b":1},"a":2,"c":3}', {"a": {"b": 1}, "c": 3}),
        ('{"a":nul ,"b":t}', {"a": "nul", "b": "t"}),
        ("[12abc def]", ParseError),
        ("[12abc nope]", ["12abc", "nope"]),
        ("[n\\]x,1]", ["n]x", 1]),
        ("n\\", "n"),
        ("nope\0", "nope"),
        ("tru/e", "tru/e"),
        ("-a", "-a"),
        ("1_", 1),
        ("5-", 5),
        (b"[\xff]", EndOfFile),
        (b'["\xff"]', ["\udcff"]),
        (b"[\xfe]", ParseError),
        (b"[n\\\xc3\xa9]", ParseError),
        ("9" * 400 + ".0", ParseError),
        ('{"a" : 1 , , "b"\t:\r\n2 }', {"a": 1, "b": 2}),
        ("[ ,, ]", []),
        ("\0", EndOfFile),
        ("\4", EndOfFile),
        ("", EndOfFile),
        (" ", EndOfFile),
        ('"a\4"', ParseError),
        ('"a\\\4"', "a\4"),
        ('"\0\1"', "\0\1"),
    ],
)
def test_values(text: str | bytes, value: Any) -> None:
    if isinstance(value, type):
        with pytest.raises(value):
            read(text)
    else:
        assert same(read(text), value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\0", "End Of File:unexpected end of file"),
        ('"a\4', "Parse Error:EOF before closing '\"' in string 'a'while parsing token 'a'"),
        ('"a\\', "End Of File:stringstreamStream ended with '\\'while parsing token 'a'"),
        ("9" * 400 + ".0", "Parse Error:Couldn't parse double"),
        ("é", "Parse Error:Unexpected char '-61' in \"\""),
        ('[[1,"é"],{"a":5000000000,"b":1.5},[x', None),
    ],
)
def test_texts_of_failures(text: str, message: str | None) -> None:
    message = message or (
        "Parse Error:Unexpected char '120' in \"x\"Attempting to parse array []"
        'Attempting to parse array [[1,"é"],{"a":"5000000000","b":"1.50000000000000000"}]'
    )
    assert outcome(is_whole, text)[1] == message


def test_an_end_of_file_inside_an_object_has_a_long_text() -> None:
    assert outcome(is_whole, '[{"a":[1,"x')[1] == (
        "Parse Error:Unexpected EOF: 11 eof_exception: End Of File\n"
        "stringstream\n    {}\n    sstream.cpp:109 peek\n"
        'while parsing token \'x\'\n    {"token":"x"}\n    json.cpp:122 stringFromStream\n'
        'Attempting to parse array [1]\n    {"array":[1]}\n    json.cpp:252 arrayFromStream'
        "Attempting to parse array []"
    )


def test_user_text_is_not_filled_in_twice() -> None:
    token = "x" + "\\$\\{c\\}" * 3
    assert outcome(is_whole, token)[1] == "Parse Error:Unexpected char '120' in \"x${c}${c}${c}\""
    assert outcome(is_whole, '["${array}' + token)[1].count("${array}") == 1


# ------------------------------------------------------------------ depth


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("[" * 100 + "]" * 100, True),
        ("[" * 99 + "1" + "]" * 99, True),
        ("[" * 100 + "1" + "]" * 100, False),
        ("[" * 101 + "]" * 101, False),
        ('{"a":' * 99 + "{}" + "}" * 99, True),
        ('{"a":' * 99 + "[1]" + "}" * 99, False),
        ("[" + "[]," * 500 + "]", True),
        ("[" * 200_000, False),
    ],
)
def test_nesting(text: str, valid: bool) -> None:
    assert is_valid(text) is valid


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("[" * 99 + "]" * 99, False),
        ("[" * 100 + "]" * 100, True),
        ("1" + "[" * 100, True),
        ('"' + "{" * 100 + '"', True),
        ('"' + "{" * 99 + "[" * 99 + '"', False),
        ('"' + "]" * 50 + "[" * 149 + '"', False),
        ('"' + "]" * 50 + "[" * 150 + '"', True),
        ("[" + "[]," * 500 + "]", False),
    ],
)
def test_nesting_is_checked_before_parsing(text: str, refused: bool) -> None:
    found = outcome(read, text)
    assert (found == (Refused, f"Assert Exception:open_object < 100 && open_array < 100: {REQUEST_READER}")) is refused
    assert outcome(lambda: read(text, count_brackets=False)) == slowly(text)


# ------------------------------------------------------------------ two ways, one result


@given(ANY_TEXT)
@example("1e+5")
@example("[1e+5]")
@example('{"a":1}\n')
@example("[18446744073709551616]")
@example("[-9223372036854775809]")
@example("[1e999,0." + "1" * 400 + "]")
@example("[" + "9" * 400 + ".5]")
@example("NaN")
@example("[Infinity]")
def test_both_ways_agree(text: str) -> None:
    assert same(outcome(is_whole, text), slowly_whole(text))
    assert is_valid(text) is (slowly_whole(text) is True)
    assert same(outcome(lambda: read(text, count_brackets=False)), slowly(decode(encode(text))))


def test_a_lone_surrogate_is_accepted() -> None:
    assert is_valid('["\ud800"]')
    assert is_valid('["\ud800",]')
    assert read('["\ud800" "\udcff"]') == ["\udced\udca0\udc80", "\udcff"]


@given(PLAIN_VALUES)
def test_plain_json_is_read_as_by_a_standard_parser(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    if "\\" not in text and "e" not in text and is_valid(text):
        assert same(read(text), json.loads(text))


@given(st.binary(max_size=60))
def test_garbage_is_a_value_or_a_refusal(data: bytes) -> None:
    by_bytes, by_text = outcome(read, data), outcome(read, decode(data))
    assert same(by_bytes, by_text)
    assert is_valid(decode(data)) in (True, False)


@pytest.mark.parametrize(
    "piece", ["\\x", "[", "[]", "{}", '"', '"a"', "1", "1.", "1 ", "n\\a", ",", " ", '{"a":', "é", "\udcff", "+", "n "], ids=repr
)
@pytest.mark.parametrize("start", ["", '"', "[", '{"a":['], ids=repr)
def test_long_texts_end_soon(start: str, piece: str) -> None:
    text = start + piece * (20_000 // len(piece))
    assert same(outcome(is_whole, text), slowly_whole(text))
    outcome(read, text)
