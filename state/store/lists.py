"""Append-only histories, one per key, on the undo journal: what an account did, a blog. They know nothing of what they hold."""

from collections.abc import Hashable, Iterator, Sequence
from itertools import islice
from typing import Generic, TypeVar, overload

from state.store.deferred import Deferrable
from state.store.journal import Journal
from state.store.rows import KEPT_SLICE, Keeping

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

SPENT_MIN = 32  # Dropped values that may lie in front of a history before it is worth moving the rest.


class History(Sequence[V]):
    """The values of one key, oldest kept first: a live view that only `Lists` writes.

    Values are numbered from 0 as they are appended; `first` is the number of the oldest one kept, so the value with
    number `s` is at position `s - first`. A position is O(1), a slice is a list.
    """

    __slots__ = ("_spent", "_values", "first")

    def __init__(self) -> None:
        self.first = 0
        self._values: list[V] = []
        self._spent = 0

    @property
    def next(self) -> int:
        """The number that the next appended value gets."""
        return self.first + len(self._values) - self._spent

    def __len__(self) -> int:
        return len(self._values) - self._spent

    def __iter__(self) -> Iterator[V]:
        return islice(self._values, self._spent, None)

    @overload
    def __getitem__(self, at: int) -> V: ...
    @overload
    def __getitem__(self, at: slice) -> list[V]: ...
    def __getitem__(self, at: int | slice) -> V | list[V]:
        if isinstance(at, slice):
            return [self._values[self._spent + n] for n in range(*at.indices(len(self)))]
        size = len(self)
        if not -size <= at < size:
            raise IndexError("history index out of range")
        return self._values[self._spent + at if at >= 0 else at]


class Lists(Deferrable, Generic[K, V]):
    """A history per key. Grows by what is appended: whoever appends bounds it with `drop_front`, or names the bound."""

    def __init__(self, journal: Journal) -> None:
        self._histories: dict[K, History[V]] = {}
        self._none: History[V] = History()
        self._record = journal.record
        # Bound once: a fresh bound method in each record would cost memory and time.
        self._take_back = self._unappend
        self._put_back = self._undrop

    def __len__(self) -> int:
        """How many keys have a history."""
        return len(self._histories)

    def __iter__(self) -> Iterator[K]:
        """All keys that ever got a value, oldest first."""
        return iter(self._histories)

    def get(self, key: K) -> History[V]:
        """The history of a key, empty when there is none."""
        return self._histories.get(key, self._none)

    def append(self, key: K, value: V) -> int:
        """Add a value at the end and return its number."""
        history = self._histories.get(key)
        if history is None:
            history = self._histories[key] = History()
        values = history._values
        number = history.first + len(values) - history._spent
        values.append(value)
        self._record((self._take_back, key, history))
        return number

    def drop_front(self, key: K, count: int) -> None:
        """Forget the `count` oldest values; the numbers of the others stay."""
        history = self.get(key)
        assert 0 <= count <= len(history), "more is dropped than there is"
        if count:
            end = history._spent + count
            dropped = history._values[history._spent : end]
            history._spent = end
            history.first += count
            self._record((self._put_back, history, dropped))
            if end > SPENT_MIN and end * 2 > len(history._values):
                del history._values[:end]
                history._spent = 0

    def restore(self, histories: dict[K, tuple[int, list[V]]]) -> None:
        """Replace all histories by others: the number of the oldest value kept, and the values, by key. The journal must be empty.

        The attributes may be parked meanwhile (`state.store.deferred`).
        """
        kept = self.parked()["_histories"]
        kept.clear()
        for key, (first, values) in histories.items():
            history: History[V] = History()
            history.first, history._values = first, values
            kept[key] = history

    def keeping(self) -> Keeping:
        """Return, after some steps, a function that puts all histories back as they are now, as the same objects; the journal has to be put
        back as well.
        """
        histories, kept = self._histories, []
        for place, (key, history) in enumerate(list(histories.items()), 1):
            kept.append((key, history, history.first, history._spent, history._values.copy()))
            if place % KEPT_SLICE == 0:
                yield

        def put_back() -> None:
            self.abandon()
            histories.clear()
            for key, history, first, spent, values in kept:
                history.first, history._spent = first, spent
                history._values[:] = values
                histories[key] = history

        return put_back

    def check(self) -> None:
        """Verify what must hold for every history; for tests."""
        assert not self._none._values, "the shared empty history was written"
        for history in self._histories.values():
            assert 0 <= history._spent <= len(history._values), "more spent than there is"
            assert history._spent <= history.first, "spent values that were never dropped"
            assert history.next > 0, "a history without a first value"
            assert history._spent <= max(SPENT_MIN, len(history._values) // 2), "spent values pile up"

    def _unappend(self, key: K, history: History[V]) -> None:
        history._values.pop()
        if not history.next:
            del self._histories[key]

    def _undrop(self, history: History[V], dropped: list[V]) -> None:
        """Spent values lie where they were until the rest is moved; then they come back from the record."""
        history.first -= len(dropped)
        if history._spent >= len(dropped):
            history._spent -= len(dropped)
        else:
            assert history._spent == 0, "records are taken back newest first"
            history._values[:0] = dropped
