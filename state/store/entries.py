"""`Entries`, the sorted entries of an index: a SortedList with short cuts at both ends. It knows neither rows nor tables."""

from sortedcontainers import SortedList

from state.store.keys import Entry


class Entries(SortedList):  # type: ignore[misc]  # sortedcontainers has no types
    """A SortedList of entries, no two of which are equal.

    What is ordered by a time mostly comes at the end and goes at the front: transactions, orders and payouts by when they expire or
    are due. There one comparison takes the place of two binary searches.
    """

    def add(self, value: Entry) -> None:
        """Add an entry."""
        maxes = self._maxes
        if not maxes or value < maxes[-1]:
            SortedList.add(self, value)
            return
        last = self._lists[-1]
        last.append(value)
        maxes[-1] = value
        self._len += 1
        if self._index or len(last) > self._load << 1:
            self._expand(len(maxes) - 1)

    def remove(self, value: Entry) -> None:
        """Remove an entry."""
        lists = self._lists
        if lists and lists[0][0] == value:
            self._delete(0, 0)
        else:
            SortedList.remove(self, value)
