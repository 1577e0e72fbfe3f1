"""`LazyOrder`: entries that are sorted when they are read, not when they change. It knows neither rows nor tables.

Some orders change with nearly every operation and are read a few times a minute, by queries: posts by their score, for one.
Keeping such an order sorted costs a search per change, most of which nobody ever sees. So a change only adds an id to a set
(about a tenth of a microsecond), however often the same thing changes, and the next read asks for the entries of just these ids.

The read has two ways to take them in. To move one entry takes two binary searches, which is best for few. To merge all that
have moved with all that stay is best for many: it touches every entry once, however many have moved. `bench/store.py` measures
both: they meet where about one entry in eight has changed (REBUILD_SHARE). A read in slices (state/store/slices.py) moves one after the
other in any case: for many that takes longer, but it can be interrupted anywhere.

Undoing needs nothing of its own: what was undone has changed once more, and is noted like any other change.
"""

from collections.abc import Callable, Iterable
from typing import Any

from sortedcontainers import SortedList

from state.store.keys import Entry
from state.store.slices import SLICE, Reads, take_some

LET_GO_MIN = 2000  # Changes; to let an order go for fewer would give back little memory.
REBUILD_SHARE = 8  # All are sorted anew when more than one entry in so many has changed: measured in bench/store.py.


class LazyOrder:
    """The entries of things with ids, in ascending order; at most one entry for each id.

        by_score = LazyOrder(lambda post: (-scores[post], post) if post in scores else None, scores)
        scores[7] = 100
        by_score.changed.add(7)
        best = by_score.settled()[:20]

    `entry_of(id)` returns the entry that a thing has now, or None when it is gone or doesn't belong here. It must be a
    tuple that is never equal to another thing's: mostly the id, or something with it, comes last. `ids` are the things
    that are there at the start. `reads` says whether it is read in slices.

    Whoever changes a thing adds its id to `changed`; to add one too many does no harm, to miss one leaves it at its old
    place. The set stays the same object, so that a writer may keep it. It grows with the number of things that exist, for
    things that are gone see `forget`.
    """

    __slots__ = ("_entries", "_entry_of", "_order", "_reads", "changed")

    def __init__(self, entry_of: Callable[[int], Entry | None], ids: Iterable[int] = (), reads: Reads | None = None) -> None:
        self.changed = set(ids)
        self._entry_of = entry_of
        self._entries: dict[int, Entry] = {}  # What the order holds, by id: where to find what has to move.
        self._order = SortedList()
        self._reads = reads or Reads()

    def settled(self) -> Any:
        """Return the order as a SortedList, with all changes taken in. The caller must not write to it, and must ask again
        after the next change, because the list may be another one then.
        """
        if self.changed:
            self._reads.require_slice(len(self.changed), self.settle_some)
            try:
                if not self._entries:
                    self._sort_first()
                elif len(self.changed) * REBUILD_SHARE > len(self._entries):
                    self._sort_anew()
            except Exception:
                pass  # `_move` finds out which things have no entry, and leaves out only those.
            self._move(len(self.changed))
        return self._order

    def settle_some(self) -> bool:
        """Take in a slice of the changes; returns whether there are more, as the order can't be read before all are taken in."""
        self._move(min(SLICE, len(self.changed)))
        return bool(self.changed)

    def forget(self, thing: int) -> None:
        """Note that a thing is gone. One that came and went between two reads leaves no trace, so `changed` stays bounded."""
        if thing in self._entries:
            self.changed.add(thing)
        else:
            self.changed.discard(thing)

    def restore(self, ids: Iterable[int]) -> Any:
        """Forget everything, and note these things as changed; returns the order, which is empty until it is settled."""
        self.changed.clear()
        self.changed.update(ids)
        self._entries = {}
        self._order = SortedList()
        return self._order

    def let_go(self, least: int = LET_GO_MIN, more: int = 0) -> bool:
        """Forget the order and all that is noted, if more than `least` have changed, and more than half of it; returns whether it has.

        `more` have changed beside those that are noted. All things that there are must be noted before the next read.
        """
        if len(self.changed) + more <= max(len(self._entries) // 2, least):
            return False
        self.restore(())
        return True

    def holds(self, thing: int) -> bool:
        """Whether the order has an entry of a thing, up to date or not."""
        return thing in self._entries

    def check(self) -> None:
        """Verify the order and that no change was missed; for tests. Sorts nothing in."""
        self._order._check()
        assert list(self._order) == sorted(self._entries.values()), "the order is not what was sorted in"
        for thing, entry in self._entries.items():
            assert thing in self.changed or self._entry_of(thing) == entry, f"a change of {thing} was missed"

    def _move(self, count: int) -> None:
        """Take in so many changes, one after the other; what has no entry that can be computed and compared is left out (`take_some`)."""
        take_some(self.changed, count, self._move_one)

    def _move_one(self, thing: int) -> None:
        order, entries = self._order, self._entries
        old, new = entries.pop(thing, None), None
        try:
            new = self._entry_of(thing)
        finally:
            if old is not None and new == old:
                entries[thing] = old
            elif old is not None:
                # The old one goes first: after an undo another row may have the same id, and rows can't be compared.
                order.remove(old)
        if new is not None and new != old:
            order.add(new)
            entries[thing] = new

    def _sort_first(self) -> None:
        """Fill an order that is empty. When it raises, it is empty still."""
        entry_of = self._entry_of
        entries = {thing: entry for thing in self.changed if (entry := entry_of(thing)) is not None}
        self._order = SortedList(entries.values())
        self._entries = entries
        self.changed.clear()

    def _sort_anew(self) -> None:
        """Take in all changes at once. When it raises, nothing has changed.

        The entries that stay are in order already, so Python's sort has only to merge them with the new ones.
        """
        entries, entry_of = self._entries, self._entry_of
        moved: dict[int, Entry | None] = {}
        stale: set[int] = set()  # by identity: to compare entries would take longer than all the rest
        for thing in self.changed:
            new, old = entry_of(thing), entries.get(thing)
            if new != old:
                moved[thing] = new
                if old is not None:
                    stale.add(id(old))
        kept = [entry for entry in self._order if id(entry) not in stale]
        self._order = SortedList(kept + sorted([entry for entry in moved.values() if entry is not None]))
        for thing, entry in moved.items():
            if entry is None:
                del entries[thing]
            else:
                entries[thing] = entry
        self.changed.clear()
