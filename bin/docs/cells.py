"""Formats Markdown tables and the contents of their cells."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

KINDS = {bool: "flag", int: "number", float: "number", str: "string", Path: "path"}


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def code(text: str) -> str:
    """Return a string as inline code. Return "" for an empty string."""
    return f"`{text}`" if text else ""


def kind_text(hint: Any) -> str:
    """Describe the type of a value."""
    if get_origin(hint) in (Union, UnionType):
        return kind_text(next(each for each in get_args(hint) if each is not type(None)))
    if get_origin(hint) is Literal:
        return ", ".join(map(code, get_args(hint)))
    if get_origin(hint) in (tuple, list):
        return "list"
    return KINDS[hint]


def default_text(value: Any) -> str:
    """Return the text for a default value. Return "" if the default means that the value is omitted."""
    if value in (None, (), "") or value is False:
        return ""
    return code("true" if value is True else str(value))
