"""`Row`, the base class of table rows, and helpers that share and copy their values."""

from collections.abc import Callable, Generator, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec.structs import astuple


class Row(msgspec.Struct, kw_only=True, eq=False, gc=False):
    """A mutable Struct that stays the same object from its insertion through every change, removal and undo.

    Only the table writes fields (`insert`, `modify`, `remove`). A value is replaced, never mutated, since the journal keeps the old object.
    Rows compare and hash by identity. `id` is -1 until the row is inserted.

    The garbage collector skips rows (`gc=False`), which saves 16 bytes per row and the time to traverse them. This is safe while no
    reference cycle contains a row, so rows contain plain values and refer to other rows by id or key.
    """

    id: int = -1


def specialize_assignments(struct: type[msgspec.Struct]) -> None:
    """Make assignments to the fields of a Struct with `gc=False` twice as fast.

    CPython specializes an assignment only if the class has `object.__setattr__`. msgspec gives each class a function of its own when it
    creates the class, which without garbage collection does the same.
    """
    for name in ("__setattr__", "__delattr__"):
        setattr(struct, name, getattr(object, name))


SPARSE_SHARE = 8  # If fewer than one id in SPARSE_SHARE has a row, a range of rows is read from the rows that exist.
SHARED_MAX = 1 << 20
SHARED: list[int] = []
"""Shared int objects for ids below SHARED_MAX, as far as any table has got. An id takes 32 bytes, and a post has rows in seven tables.
Sharing saves 250 bytes for an account with a post.
"""


def more_shared(row_id: int) -> int:
    """Extend SHARED, the list of shared integers, up to an id. Return the shared integer that equals the id."""
    SHARED.extend(range(len(SHARED), row_id + 1024))
    return SHARED[row_id]


@lru_cache(1 << 14)
def shared(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return one shared object for all equal tuples, because many rows contain equal tuples.

    A tuple of three takes 64 bytes, plus its texts.
    """
    return texts


Restore = Callable[[], None]
"""Restores a copy. Can be called any number of times, whatever has changed since."""


Copying = Generator[None, None, Restore]
"""The steps of copying something; returns the function that restores the copy. The original must not change between the steps."""
RESTORE_CHUNK = 1000  # rows restored between two pauses
COPY_CHUNK = 10_000  # rows or lists copied in one step (at most 30 ms)


class CopyOfRows:
    """Function that restores copied rows. `held` are the large containers of its closure."""

    def __init__(self, restore: Restore, held: list[Any]) -> None:
        self._restore, self._held = restore, held

    def __call__(self) -> None:
        """Restore the rows."""
        self._restore()

    def divide(self) -> Iterator[list[Any]]:
        """Empty the containers, and yield their content in parts, each of which is freed in a short time. The copy can't be restored."""
        for container in self._held:
            values = iter(container.values() if isinstance(container, dict) else container)
            while part := list(islice(values, COPY_CHUNK)):
                yield part
            container.clear()


def copying_values(
    rows: list[Any], kept: list[tuple[Any, ...]], pause: Callable[[], None]
) -> Generator[None, None, Callable[[], list[Any]]]:
    """Copy the values of rows into `kept` in steps. The returned function restores the values and returns the rows that it changed.

    That function calls `pause` after every RESTORE_CHUNK rows.
    """
    for begin in range(0, len(rows), COPY_CHUNK):
        kept += map(astuple, rows[begin : begin + COPY_CHUNK])
        yield

    def put_back() -> list[Any]:
        changed = []
        for begin in range(0, len(rows), RESTORE_CHUNK):
            end = begin + RESTORE_CHUNK
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


def replace_bytes(held: bytearray, data: bytes | bytearray) -> None:
    """Replace the content of `held`. If it begins with `data`, it is only cut: comparing takes a tenth of the time of writing, which also
    copies all memory pages while there is a forked child.
    """
    if held.startswith(data):
        del held[len(data) :]
    else:
        held[:] = data


Value = TypeVar("Value")


def run_steps(steps: Generator[None, None, Value], pause: Callable[[], None] = lambda: None) -> Value:
    """Run a generator to its end and return its result. Call `pause` after each step."""
    while True:
        try:
            next(steps)
            pause()
        except StopIteration as end:
            value: Value = end.value
            return value


RowT_co = TypeVar("RowT_co", bound=Row, covariant=True)


class RowSource(Protocol[RowT_co]):
    """A source of rows of one type: the part of a table's interface that an index declaration uses.

    It gives the type checker the row type, so that `accounts.by_name` is an index of accounts.
    """

    def find(self, row_id: int) -> RowT_co:
        """Return the row with an id."""
