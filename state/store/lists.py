"""Append-only lists with undo, one per key: for example the posts in an account's feed."""

from array import array
from collections.abc import Hashable, Iterator, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar, overload

from state.store.journal import Journal
from state.store.lazy.background_load import BackgroundLoadable
from state.store.rows import COPY_CHUNK, Copying

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

SPENT_MIN = 32  # A list is compacted only if more than this number of dropped values is at its front.


class AppendList(Sequence[V]):
    """The values of one key, oldest first: a live view that only `AppendLists` writes.

    Values are numbered from 0 in the order of appending. `first` is the number of the oldest retained value, so value number `s` is at
    position `s - first`. Access by position takes constant time; a slice is a new list.
    """

    __slots__ = ("_spent", "_values", "first")

    def __init__(self, first: int, values: Any) -> None:
        self.first = first
        self._values = values
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
        found: V = self._values[self._spent + at if at >= 0 else at]
        return found


class AppendLists(BackgroundLoadable, Generic[K, V]):
    """An append-only list per key. The code that appends must either bound the list with `drop_front` or document its bound.

    With `typecode`, the values are integers of this type of `array`, each of which takes its size in memory instead of some 40 bytes.
    """

    def __init__(self, journal: Journal, typecode: str = "") -> None:
        self._histories: dict[K, AppendList[V]] = {}
        self._typecode = typecode
        self._none: AppendList[V] = AppendList(0, [])
        self._journal, self._record = journal, journal.record
        # Bound once, because a new bound method in each record would cost memory and time.
        self._take_back = self._unappend
        self._put_back = self._undrop

    def __len__(self) -> int:
        """Return the number of keys with a list."""
        return len(self._histories)

    def __iter__(self) -> Iterator[K]:
        """Yield all keys that were ever used in `append`, oldest first."""
        return iter(self._histories)

    def get(self, key: K) -> AppendList[V]:
        """Return the list of a key, empty if there is none."""
        return self._histories.get(key, self._none)

    def append(self, key: K, value: V) -> int:
        """Append a value and return its number."""
        history = self._histories.get(key)
        if history is None:
            history = self._histories[key] = AppendList(0, self.values_of([]))
        values = history._values
        number = history.first + len(values) - history._spent
        values.append(value)
        self._record((self._take_back, key, history))
        return number

    def drop_front(self, key: K, count: int) -> None:
        """Drop the `count` oldest values. The other values keep their numbers."""
        history = self.get(key)
        assert 0 <= count <= len(history), "more values dropped than there are"
        if count:
            end = history._spent + count
            dropped = history._values[history._spent : end]
            history._spent = end
            history.first += count
            self._record((self._put_back, history, dropped))
            if end > SPENT_MIN and end * 2 > len(history._values):
                del history._values[:end]
                history._spent = 0

    def values_of(self, values: list[V]) -> Any:
        """Return values in the form in which a list holds them. Raises OverflowError or TypeError for a value that isn't of the type."""
        typecode = self.raw_attributes()["_typecode"]
        return array(typecode, values) if typecode else values

    def restore(self, histories: dict[K, tuple[int, Any]]) -> None:
        """Replace all lists. `histories` contains, by key, the number of the oldest value and the result of `values_of`. The journal must
        be empty.

        This also works while the object is loading (`state.store.lazy.background_load`).
        """
        own = self.raw_attributes()
        kept, journal = own["_histories"], own["_journal"]
        kept.clear()
        for place, (key, (first, values)) in enumerate(histories.items(), 1):
            kept[key] = AppendList(first, values)
            if place % COPY_CHUNK == 0:
                journal.on_undone()

    def copying(self) -> Copying:
        """Copy all lists in steps, and return a function that restores the copy into the same objects.

        The caller must also restore the journal.
        """
        histories, kept = self._histories, []
        for place, (key, history) in enumerate(list(histories.items()), 1):
            kept.append((key, history, history.first, history._spent, history._values[:]))
            if place % COPY_CHUNK == 0:
                yield

        def put_back() -> None:
            self.cancel_load()
            histories.clear()
            for place, (key, history, first, spent, values) in enumerate(kept, 1):
                history.first, history._spent = first, spent
                history._values[:] = values
                histories[key] = history
                if place % COPY_CHUNK == 0:
                    self._journal.on_undone()

        return put_back

    def check(self) -> None:
        """Verify the invariants of every list; for tests."""
        assert not self._none._values, "the shared empty list was written to"
        for history in self._histories.values():
            assert 0 <= history._spent <= len(history._values), "more spent values than there are"
            assert history._spent <= history.first, "spent values that were never dropped"
            assert history.next > 0, "a list that never had a value"
            assert history._spent <= max(SPENT_MIN, len(history._values) // 2), "too many spent values are retained"

    def _unappend(self, key: K, history: AppendList[V]) -> None:
        history._values.pop()
        if not history.next:
            del self._histories[key]

    def _undrop(self, history: AppendList[V], dropped: Any) -> None:
        """Undo a `drop_front`: take the dropped values from the list if it still contains them, else from the undo record."""
        history.first -= len(dropped)
        if history._spent >= len(dropped):
            history._spent -= len(dropped)
        else:
            assert history._spent == 0, "records are undone newest first"
            history._values[:0] = dropped
