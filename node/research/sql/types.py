"""Translates the column types in an export's manifest to the types of an SQL engine."""

import re
from collections.abc import Iterator

from msgspec import Struct

from node.runtime.errors import NodeError

DECIMAL = re.compile(r"decimal128\([0-9]+, [0-9]+\)")
MEMBER = re.compile("[a-z0-9_]+")


class Dialect(Struct, frozen=True):
    """Syntax of an engine's types. `between` separates the name and the type of a struct's field; `brackets` enclose the parts of structs
    and maps.
    """

    plain: dict[str, str]
    many: str
    brackets: str
    between: str


DUCKDB = Dialect(
    {"int64": "BIGINT", "int32": "INTEGER", "string": "VARCHAR", "bool": "BOOLEAN", "timestamp[ms, tz=UTC]": "TIMESTAMP WITH TIME ZONE"},
    "{}[]",
    "()",
    " ",
)
SPARK = Dialect(
    {"int64": "BIGINT", "int32": "INT", "string": "STRING", "bool": "BOOLEAN", "timestamp[ms, tz=UTC]": "TIMESTAMP"},
    "ARRAY<{}>",
    "<>",
    ": ",
)


def sql_type(text: str, dialect: Dialect) -> str:
    """Translate an Arrow type, given as text, to an SQL dialect. Raises NodeError for a type that exports don't use."""
    if text in dialect.plain:
        return dialect.plain[text]
    head, _, rest = text.partition("<")
    inner, begin, end = rest.removesuffix(">"), dialect.brackets[0], dialect.brackets[1]
    if head == "list":
        return dialect.many.format(sql_type(inner.partition(": ")[2], dialect))
    if head == "map":
        return f"MAP{begin}{', '.join(sql_type(part, dialect) for part in parts(inner))}{end}"
    if head == "struct":
        members = [part.partition(": ") for part in parts(inner)]
        if not all(MEMBER.fullmatch(name) for name, _, _ in members):
            raise unknown(text)
        return f"STRUCT{begin}{', '.join(f'{name}{dialect.between}{sql_type(of, dialect)}' for name, _, of in members)}{end}"
    if DECIMAL.fullmatch(text):
        return text.replace("decimal128", "DECIMAL")
    raise unknown(text)


def unknown(text: str) -> NodeError:
    """Return the NodeError for an unknown type."""
    return NodeError(f"the export has a column of the unknown type {text}. Export it again with this version.")


def parts(text: str) -> Iterator[str]:
    """Split a string at the commas that are outside of brackets."""
    depth, start = 0, 0
    for index, letter in enumerate(text):
        depth += (letter in "<([") - (letter in ">)]")
        if letter == "," and not depth:
            yield text[start:index].strip()
            start = index + 1
    yield text[start:].strip()
