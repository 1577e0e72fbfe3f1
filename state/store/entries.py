"""`Entries`, the sorted entries of an index: a SortedList with fast paths at both ends."""

from bisect import bisect_right, insort

from sortedcontainers import SortedList

from state.store.keys import Entry


class Entries(SortedList):  # type: ignore[misc]  # sortedcontainers has no types
    """A SortedList of entries, all of which are different.

    Entries ordered by time (expirations, due payouts) are mostly added at the end and removed at the front. At both ends, one comparison
    replaces two binary searches. In this common case, adding and removing call no further function.
    """

    def add(self, value: Entry) -> None:
        """Add an entry that isn't in the list."""
        maxes = self._maxes
        if not maxes:
            SortedList.add(self, value)
            return
        if value < maxes[-1]:
            at = bisect_right(maxes, value)
            part = self._lists[at]
            insort(part, value)
        else:
            at = len(maxes) - 1
            part = self._lists[at]
            part.append(value)
            maxes[at] = value
        self._len += 1
        if self._index or len(part) > self._load << 1:
            self._expand(at)

    def remove(self, value: Entry) -> None:
        """Remove an entry that is in the list."""
        lists = self._lists
        if lists and (first := lists[0])[0] == value:
            if not self._index and len(first) > self._load >> 1:
                del first[0]
                self._len -= 1
            else:
                self._delete(0, 0)
        else:
            SortedList.remove(self, value)
