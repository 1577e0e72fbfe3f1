"""`PackedKeys`, the index of a table's packed rows by their keys."""

from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from state.protocol.errors import NotUnique
from state.protocol.values.integers import UINT32_MAX
from state.store.rows import Restore
from state.store.unique import RESTORE_CLASH

ID_BITS = 32
PART_MAX = 256  # entries; more take longer to search and to move
GROUPS, GROUP_SHIFT, ENTRIES_AT_ONCE = 256, 56, 50_000  # of the entries that are loaded


class PackedKeys:
    """Compact hash index: the ids of packed rows by the hashes of their keys, in 9 bytes per row.

    An entry is a hash and an id as one integer, and the entries are sorted. The hash of a text is seeded by the process, so nobody can
    choose keys with equal hashes. Other keys can have the same hash, so a caller must compare the key of the row.
    """

    __slots__ = ("_firsts", "_parts")

    def __init__(self) -> None:
        # Parts with up to PART_MAX entries, or more if most of them have the same hash; and for each part a lower bound of its entries.
        self._parts, self._firsts = [array("Q")], [0]

    def __iter__(self) -> Iterator[int]:
        """Yield the ids of all rows."""
        return (entry & UINT32_MAX for part in self._parts for entry in part)

    def ids(self, key: Any) -> list[int]:
        """Return the ids of the rows whose key has the same hash as `key`."""
        begin = (hash(key) & UINT32_MAX) << ID_BITS
        part, end, found = self._parts[bisect_right(self._firsts, begin) - 1], begin + UINT32_MAX, list[int]()
        at, count = bisect_left(part, begin), len(part)
        while at < count and (entry := part[at]) <= end:
            found.append(entry & UINT32_MAX)
            at += 1
        return found

    def add(self, key: Any, row_id: int) -> None:
        """Add a row that isn't in the index."""
        entry = (hash(key) & UINT32_MAX) << ID_BITS | row_id
        place = bisect_right(self._firsts, entry) - 1
        part = self._parts[place]
        insort(part, entry)
        if len(part) > PART_MAX:
            first = part[len(part) // 2] & ~UINT32_MAX  # so that all entries with a hash are in one part
            half = bisect_left(part, first)
            if half:
                self._parts[place : place + 1] = part[:half], part[half:]
                self._firsts.insert(place + 1, first)

    def remove(self, key: Any, row_id: int) -> None:
        """Remove a row that is in the index."""
        entry = (hash(key) & UINT32_MAX) << ID_BITS | row_id
        part = self._parts[bisect_right(self._firsts, entry) - 1]
        at = bisect_left(part, entry)
        assert part[at] == entry, "a packed row isn't under its key"
        del part[at]

    def clear(self) -> None:
        """Remove all rows."""
        self._parts[:], self._firsts[:] = [array("Q")], [0]

    def append(self, entries: list[int]) -> None:
        """Add sorted entries that are above all others. No other entry has the hash of one of them."""
        at = 0
        while at < len(entries):
            end = min(at + PART_MAX * 3 // 4, len(entries))
            while end < len(entries) and entries[end] >> ID_BITS == entries[end - 1] >> ID_BITS:
                end += 1
            self._parts.append(array("Q", entries[at:end]))
            self._firsts.append(entries[at] & ~UINT32_MAX)
            at = end

    def copy(self) -> Restore:
        """Copy the index and return a function that restores the copy."""
        parts, firsts = [part[:] for part in self._parts], self._firsts[:]

        def put_back() -> None:
            self._parts[:], self._firsts[:] = [part[:] for part in parts], firsts

        return put_back


class LoadedKeys:
    """The keys of rows that are being loaded, as the entries of a `PackedKeys`, grouped by the first byte of their hashes."""

    def __init__(self) -> None:
        self._groups = [array("Q") for _ in range(GROUPS)]

    def add(self, keys: Sequence[Any], ids: Sequence[int]) -> None:
        """Add rows and their keys."""
        groups = self._groups
        for key_hash, row_id in zip(map(hash, keys), ids, strict=True):
            entry = (key_hash & UINT32_MAX) << ID_BITS | row_id
            groups[entry >> GROUP_SHIFT].append(entry)

    def installing(self, ids: PackedKeys, key_of: Callable[[int], Any]) -> Iterator[None]:
        """Put the entries into an empty index, in steps. `key_of` returns the key of a row. Raises NotUnique if two rows have the same
        key.
        """
        for place, group in enumerate(self._groups):
            entries, self._groups[place] = sorted(group), array("Q")
            for begin in range(0, len(entries), ENTRIES_AT_ONCE):
                following = entries[begin : begin + ENTRIES_AT_ONCE + 1]
                same = [(one, other) for one, other in pairwise(following) if one >> ID_BITS == other >> ID_BITS]
                # Keys can differ and have the same hash.
                row_ids = {entry & UINT32_MAX for both in same for entry in both}
                if len(set(map(key_of, row_ids))) != len(row_ids):
                    raise NotUnique(RESTORE_CLASH)
                yield
            ids.append(entries)
