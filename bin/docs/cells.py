"""Tables in Markdown, and what stands in their cells. Knows nothing of what is described."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

KINDS = {bool: "flag", int: "number", float: "number", str: "text", Path: "path"}


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def code(text: str) -> str:
    """Return a text as code; nothing of nothing."""
    return f"`{text}`" if text else ""


def kind_text(hint: Any) -> str:
    """Return the type of a value in words."""
    if get_origin(hint) in (Union, UnionType):
        return kind_text(next(each for each in get_args(hint) if each is not type(None)))
    if get_origin(hint) is Literal:
        return ", ".join(map(code, get_args(hint)))
    if get_origin(hint) in (tuple, list):
        return "list"
    return KINDS[hint]


def default_text(value: Any) -> str:
    """Return a default; nothing for one that only says that nothing was given."""
    if value in (None, (), "") or value is False:
        return ""
    return code("true" if value is True else str(value))
