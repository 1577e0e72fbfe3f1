"""`Slots`, values by row id."""

from collections.abc import Callable, Generator, Iterable, Iterator
from copy import copy
from typing import Generic, TypeVar

from state.store.rows import COPY_CHUNK

V = TypeVar("V")

SHIFT = 6
SLOTS = 1 << SHIFT  # ids of a chunk
MASK = SLOTS - 1


class Slots(Generic[V]):
    """Values by id, for ids that are mostly consecutive: an id takes 12 bytes besides its value, and 40 to 100 in a dict.

    `chunks` contains the lists of the values of SLOTS consecutive ids, by id shifted by SHIFT bits. Code that runs for every operation
    reads it directly.
    """

    def __init__(self) -> None:
        self.chunks: dict[int, list[V | None]] = {}

    def __len__(self) -> int:
        """Return the number of ids with values."""
        return sum(len(chunk) - chunk.count(None) for chunk in self.chunks.values())

    def get(self, row_id: int) -> V | None:
        """Return the value of an id, or None."""
        chunk = self.chunks.get(row_id >> SHIFT)
        return None if chunk is None else chunk[row_id & MASK]

    def put(self, row_id: int, value: V | None) -> None:
        """Set the value of an id. None removes it."""
        chunk = self.chunks.get(row_id >> SHIFT)
        if chunk is None:
            chunk = self.chunks[row_id >> SHIFT] = [None] * SLOTS
        chunk[row_id & MASK] = value

    def items(self, numbers: Iterable[int] | None = None) -> Iterator[tuple[int, V]]:
        """Yield the ids with values, in ascending order, and their values. With `numbers`, yield those of these chunks."""
        for number in sorted(self.chunks) if numbers is None else numbers:
            for row_id, value in enumerate(self.chunks[number], number << SHIFT):
                if value is not None:
                    yield row_id, value

    def copying(self) -> Generator[None, None, Callable[[], "dict[int, list[V | None]]"]]:
        """Copy the chunks in steps. Return a function that returns them as new lists, each time it is called."""
        kept, changeable = {}, set[int]()  # the latter: numbers of chunks with values that can change
        for place, (number, chunk) in enumerate(list(self.chunks.items()), 1):
            kept[number] = copied(chunk)
            if not {type(None), bytes}.issuperset(map(type, chunk)):
                changeable.add(number)
            if place % max(COPY_CHUNK // SLOTS, 1) == 0:
                yield
        # A list of values that can't change is copied in a tenth of the time.
        return lambda: {number: copied(chunk) if number in changeable else chunk[:] for number, chunk in kept.items()}


def copied(chunk: list[V | None]) -> list[V | None]:
    """Return a copy of a chunk with copies of the values that can change."""
    return [value if value is None or value.__class__ is bytes else copy(value) for value in chunk]
