"""Earlier forms of strings and account names: forms that a client may have signed before its software changed them."""

import json
import unicodedata
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any

from state.protocol.codec.kinds import Bounded, String

JSON_TEXT_MAX = 20_000  # characters; longer JSON strings are not reformatted
NAME_BYTES = 16
COMPACT, SPACED = (",", ":"), (", ", ": ")
JSON_FORMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("without blanks", {"separators": COMPACT, "ensure_ascii": False}),
    ("with blanks after commas and colons", {"separators": SPACED, "ensure_ascii": False}),
    ("without blanks and in the order of its keys", {"separators": COMPACT, "ensure_ascii": False, "sort_keys": True}),
    ("with blanks and in the order of its keys", {"separators": SPACED, "ensure_ascii": False, "sort_keys": True}),
    ("without blanks and with escaped characters", {"separators": COMPACT}),
    ("with blanks and with escaped characters", {"separators": SPACED}),
    ("indented by 2", {"indent": 2, "ensure_ascii": False}),
    ("indented by 4", {"indent": 4, "ensure_ascii": False}),
)


def is_name(kind: Any) -> bool:
    """Whether a field of this kind holds an account name."""
    return isinstance(kind, Bounded) and kind.size == NAME_BYTES


def is_text(kind: Any) -> bool:
    """Whether a field of this kind holds a string."""
    return isinstance(kind, String)


Change = tuple[str, Callable[[str], str]]
CHANGES: tuple[Change, ...] = (
    ("a blank at the end", lambda text: text + " "),
    ("a line feed at the end", lambda text: text + "\n"),
    ("a blank in front", lambda text: " " + text),
    ("no blanks around it", str.strip),
    ("no blanks at the end", str.rstrip),
    ("no blanks in front", str.lstrip),
    ("line ends of Windows", lambda text: text.replace("\r\n", "\n").replace("\n", "\r\n")),
    ("line ends of Unix", lambda text: text.replace("\r\n", "\n").replace("\r", "\n")),
    ("no text at all", lambda text: ""),
    ("composed characters (NFC)", lambda text: unicodedata.normalize("NFC", text)),
    ("decomposed characters (NFD)", lambda text: unicodedata.normalize("NFD", text)),
    ("entities of HTML as characters", unescape),
    ("its bytes read as Latin-1", lambda text: text.encode("utf-8", "surrogateescape").decode("latin-1")),
    ("lower-case letters", str.lower),
)
NAME_CHANGES: tuple[Change, ...] = (
    ("a capital at the beginning", str.capitalize),
    ("capitals", str.upper),
    ("lower-case letters", str.lower),
    ("an @ in front", lambda text: f"@{text}"),
    ("a blank at the end", lambda text: text + " "),
    ("no name at all", lambda text: ""),
)


def earlier_texts(text: str) -> Iterator[tuple[str, str]]:
    """Yield (description, string) pairs of possible earlier forms of a string."""
    for words, change in CHANGES:
        yield words, change(text)
    yield from other_json(text)


def earlier_names(name: str) -> Iterator[tuple[str, str]]:
    """Yield (description, name) pairs of possible earlier forms of an account name."""
    for words, change in NAME_CHANGES:
        yield words, change(name)


def other_json(text: str) -> Iterator[tuple[str, str]]:
    """Yield (description, string) pairs of a JSON string, reformatted in the ways of common libraries."""
    if len(text) > JSON_TEXT_MAX or not text.lstrip().startswith(("{", "[")):
        return
    try:
        value = json.loads(text)
        for words, options in JSON_FORMS:
            yield f"the JSON {words}", json.dumps(value, **options)
    except (ValueError, RecursionError):
        return
