"""`Row`, the base of what tables hold. It knows nothing of tables."""

from collections.abc import Callable, Generator
from functools import lru_cache
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec.structs import astuple


class Row(msgspec.Struct, kw_only=True, eq=False, gc=False):
    """A row: a mutable Struct that is the same object from its insertion on, through every change, removal and undo.

    Fields are written only by the table (`insert`, `modify`, `remove`), and a value is replaced, never changed in place:
    the journal keeps the old value itself. Rows compare and hash by identity. `id` is -1 until the row is inserted.

    The garbage collector doesn't look at rows (`gc=False`): it saves 16 bytes each and the walk over all of them. That
    is safe as long as no cycle goes through a row, so a row holds plain values and names other rows by id or key.
    """

    id: int = -1


SHARED_MAX = 1 << 20
SHARED: list[int] = []
"""The ids below SHARED_MAX, as far as a table has come. An id takes 32 bytes, and a post has a row in seven tables: these hold the same
objects then, which saves 250 bytes for an account with a post.
"""


def more_shared(row_id: int) -> int:
    """Let SHARED reach an id, and return it."""
    SHARED.extend(range(len(SHARED), row_id + 1024))
    return SHARED[row_id]


@lru_cache(1 << 14)
def shared(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return an equal tuple that other rows have too, for what many have in common: a tuple of three takes 64 bytes, and its texts more."""
    return texts


PutBack = Callable[[], None]
"""Puts something back as it was when it was kept, however often it is called and whatever has happened since."""


Keeping = Generator[None, None, PutBack]
"""The steps of keeping something, at the end of which comes what puts it back. Nothing may change it in between."""
PUT_BACK_SLICE = 1000  # rows that are set again before the next pause
KEPT_SLICE = 10_000  # rows, or things like them, that are kept at a step: at most 30 ms


def keeping_values(rows: list[Any], pause: Callable[[], None]) -> Generator[None, None, Callable[[], list[Any]]]:
    """Keep the values of rows, in steps; the function that is returned sets them again, and returns the rows in which it has changed
    something. That function calls `pause` after each PUT_BACK_SLICE rows.
    """
    kept: list[tuple[Any, ...]] = []
    for begin in range(0, len(rows), KEPT_SLICE):
        kept += map(astuple, rows[begin : begin + KEPT_SLICE])
        yield

    def put_back() -> list[Any]:
        changed = []
        for begin in range(0, len(rows), PUT_BACK_SLICE):
            end = begin + PUT_BACK_SLICE
            for row, old in zip(rows[begin:end], kept[begin:end], strict=True):
                now = astuple(row)
                if now != old:
                    changed.append(row)
                    for field, value, before in zip(row.__struct_fields__, now, old, strict=True):
                        if value is not before:
                            setattr(row, field, before)
            pause()
        return changed

    return put_back


Value = TypeVar("Value")


def at_once(steps: Generator[None, None, Value]) -> Value:
    """Make all steps, and return what comes at their end."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            value: Value = end.value
            return value


RowT_co = TypeVar("RowT_co", bound=Row, covariant=True)


class Rows(Protocol[RowT_co]):
    """What holds rows of one type: a table, as the declaration of an index sees it.

    The declaration only needs the type of the rows, so that `accounts.by_name` is an index of accounts to the type checker.
    """

    def find(self, row_id: int) -> RowT_co:
        """Return the row with an id."""
