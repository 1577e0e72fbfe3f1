"""`SortedIds`: ids in the order of the entries of their items, in some 7 bytes per id.

An order that keeps its entries takes 200 bytes per row. This one has only ids: it computes an entry when it compares it. The ids are in
**buckets**, each with a lower bound for its entries, so that most searches compare kept bounds. A bucket that many ids were put into is
sorted when it is first read. A client that reads the first rows of an order therefore causes only the first bucket to be sorted.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, islice
from sys import byteorder
from typing import Any, overload

from state.protocol.values.integers import UINT32_MAX
from state.store.keys import Entry
from state.store.lazy.incremental import ReadMode

# Ids in a sorted bucket: when there are more, it is split into buckets of BUCKET_IDS.
BUCKET_IDS, BUCKET_IDS_MAX = 512, 1024
# Ids in an unsorted bucket: the average after the first sort, and the number above which the bucket is sorted.
UNSORTED_IDS, UNSORTED_IDS_MAX = 4096, 16_384
# Up to this share of new ids, a sorted bucket takes each new id at its position. With more, it becomes unsorted.
INSERTED_SHARE = 32
SPARSE_SHARE = 32  # A dict takes less memory than an array by id if fewer than one id in SPARSE_SHARE is in the order.
SMALL_COUNT, FEW_BUCKETS = 64, 32
NEAR = 64  # entries among which the end of a bucket's entries is searched first, because it usually is there
UINT16_MAX = (1 << 16) - 1
BUCKET_BYTES = 400  # of a bucket's objects: itself, its array, its bound
DICT_BYTES = 100  # per id in a dict

Computed = Callable[[int], Entry | None]
ManyComputed = Callable[[Iterable[int]], list[Entry]]


class Bucket:
    """Ids between two bounds. In an unsorted bucket, some of `ids` can be outdated: `live` is the number of those that are in the order."""

    __slots__ = ("ids", "is_sorted", "live", "number")

    def __init__(self, number: int, ids: "array[int]") -> None:
        self.ids, self.live, self.number, self.is_sorted = ids, len(ids), number, True


class SortedIds(Sequence[Entry]):
    """Ids in ascending order of their entries, which all differ. Reading it as a sequence yields the entries.

    `entry_of(id)` returns the current entry of an item, whose last part is the id, and `entries_of(ids)` those of several items. The entry
    of an id in the order must not change: remove the id first. While `dirty` isn't empty, some may have changed, and nothing may be read.

    An incremental read that needs a bucket of many ids raises NotReady until the bucket is sorted.
    """

    __slots__ = (
        "_bounds", "_buckets", "_code", "_count", "_dirty", "_empty", "_entries_of", "_entry_of", "_free", "_numbered", "_places",
        "_read_mode", "_starts",
    )  # fmt: skip

    def __init__(self, entry_of: Computed, entries_of: ManyComputed, read_mode: ReadMode, dirty: set[int]) -> None:
        self._entry_of: Callable[[int], Any] = entry_of
        self._entries_of = entries_of
        self._read_mode, self._dirty = read_mode, dirty
        self.clear()

    def clear(self) -> None:
        """Remove all ids."""
        self._code = "I"
        # The number of each id's bucket, 0 for an id that isn't in the order.
        self._places: dict[int, int] | array[int] = {}
        self._numbered: list[Bucket | None] = [None]
        self._free: list[int] = []
        self._buckets: list[Bucket] = []
        self._bounds: list[Entry] = []
        self._count = self._empty = 0
        self._starts: list[int] = []  # the position of each bucket's first id, and the number of ids; empty if unknown
        self._add_bucket(0, (), ())

    @property
    def size(self) -> int:
        """The approximate memory of the order, in bytes."""
        places = self._places
        placed = len(places) * (DICT_BYTES if isinstance(places, dict) else places.itemsize)
        return placed + self._count * (4 if self._code == "I" else 8) + len(self._buckets) * BUCKET_BYTES

    # -------------------------------------------------------------- reading

    def __len__(self) -> int:
        return self._count

    def has(self, row_id: int) -> bool:
        """Whether an id is in the order."""
        places = self._places
        if isinstance(places, dict):
            return row_id in places
        return 0 <= row_id < len(places) and places[row_id] != 0

    def __iter__(self) -> Iterator[Entry]:
        return self.irange()

    def __reversed__(self) -> Iterator[Entry]:
        return self.irange(reverse=True)

    @overload
    def __getitem__(self, at: int) -> Entry: ...
    @overload
    def __getitem__(self, at: slice) -> list[Entry]: ...
    def __getitem__(self, at: int | slice) -> Entry | list[Entry]:
        """Return the entry at a position, or those of a slice without a step."""
        if isinstance(at, slice):
            begin, end, step = at.indices(self._count)
            assert step == 1, "slices have no step"
            return list(map(self._entry_of, islice(self._ids_from(begin), max(end - begin, 0))))
        if not -self._count <= at < self._count:
            raise IndexError("no such position")
        entry: Entry = self._entry_of(next(self._ids_from(at % self._count)))
        return entry

    def bisect_left(self, bound: Entry) -> int:
        """Return the number of entries below `bound`."""
        at, bucket = self._find(bound)
        return self._start_of(at) + bisect_left(bucket.ids, bound, key=self._entry_of)

    def irange(
        self, low: Entry | None = None, high: Entry | None = None, inclusive: tuple[bool, bool] = (True, True), reverse: bool = False
    ) -> Iterator[Entry]:
        """Yield the entries from `low` to `high`, or in reverse. `inclusive` tells whether entries that equal them are yielded."""
        return map(self._entry_of, self.ids(low, high, inclusive, reverse))

    def ids(
        self, low: Entry | None = None, high: Entry | None = None, inclusive: tuple[bool, bool] = (True, True), reverse: bool = False
    ) -> Iterator[int]:
        """Yield the ids of the entries that `irange` yields."""
        return self._ids_down(low, high, inclusive) if reverse else self._ids_up(low, high, inclusive)

    def first(self) -> int | None:
        """Return the id of the first entry, or None if there is none."""
        if not self._count:
            return None
        at = 0
        while not self._buckets[at].live:
            at += 1
        return self._sorted(at).ids[0]

    def last(self) -> int | None:
        """Return the id of the last entry, or None if there is none."""
        return next(self._ids_down(None, None, (True, True)), None)

    def _ids_up(self, low: Entry | None, high: Entry | None, inclusive: tuple[bool, bool]) -> Iterator[int]:
        entry_of, bounds = self._entry_of, self._bounds
        at, bucket = self._find(() if low is None else low)
        begin = 0
        if low is not None:
            begin = (bisect_left if inclusive[0] else bisect_right)(bucket.ids, low, key=entry_of)
        bisect_high = bisect_right if inclusive[1] else bisect_left
        while True:
            following = bounds[at + 1] if at + 1 < len(bounds) else None
            if high is not None and (following is None or high < following):
                yield from bucket.ids[begin : bisect_high(bucket.ids, high, begin, key=entry_of)]
                return
            yield from bucket.ids[begin:] if begin else bucket.ids
            if following is None:
                return
            # Other iterations can have split buckets before this one.
            at = bisect_left(bounds, following)
            bucket, begin = self._sorted(at), 0

    def _ids_down(self, low: Entry | None, high: Entry | None, inclusive: tuple[bool, bool]) -> Iterator[int]:
        entry_of, bounds = self._entry_of, self._bounds
        if high is None:
            self._sorted(len(bounds) - 1)
            at = len(bounds) - 1
            bucket = self._buckets[at]
            end = len(bucket.ids)
        else:
            at, bucket = self._find(high)
            end = (bisect_right if inclusive[1] else bisect_left)(bucket.ids, high, key=entry_of)
        while True:
            bound = bounds[at]
            if low is not None and bound <= low:
                begin = (bisect_left if inclusive[0] else bisect_right)(bucket.ids, low, 0, end, key=entry_of)
                yield from bucket.ids[begin:end][::-1]
                return
            yield from bucket.ids[:end][::-1]
            at = bisect_left(bounds, bound) - 1
            if at < 0:
                return
            if not self._buckets[at].is_sorted:
                self._sorted(at)
                at = bisect_left(bounds, bound) - 1
            bucket = self._buckets[at]
            end = len(bucket.ids)

    def _ids_from(self, place: int) -> Iterator[int]:
        """Yield the ids from a position on."""
        if place >= self._count:
            return
        while True:
            self._start_of(0)
            at = bisect_right(self._starts, place) - 1
            if self._buckets[at].is_sorted:
                break
            self._sorted(at)
        bucket, begin = self._buckets[at], place - self._starts[at]
        while True:
            following = self._bounds[at + 1] if at + 1 < len(self._bounds) else None
            yield from bucket.ids[begin:]
            if following is None:
                return
            at = bisect_left(self._bounds, following)
            bucket, begin = self._sorted(at), 0

    def _find(self, entry: Entry) -> tuple[int, Bucket]:
        """Return the bucket in whose bounds an entry is, sorted, and its index."""
        at = bisect_right(self._bounds, entry) - 1
        bucket = self._buckets[at]
        if not bucket.is_sorted:
            self._sorted(at)
            at = bisect_right(self._bounds, entry) - 1
            bucket = self._buckets[at]
        return at, bucket

    def _start_of(self, at: int) -> int:
        """Return the number of ids in the buckets before a bucket."""
        if not self._starts:
            self._starts = list(accumulate((bucket.live for bucket in self._buckets), initial=0))
        return self._starts[at]

    def _sorted(self, at: int) -> Bucket:
        """Sort a bucket if necessary, and return it. A bucket of many ids is split; then it has the first of them."""
        bucket = self._buckets[at]
        if not bucket.is_sorted:
            self._read_mode.raise_if_large(bucket.live, lambda: self._sort_again(bucket))
            self._sort(at)
        return bucket

    def _sort_again(self, bucket: Bucket) -> bool:
        """Sort a bucket for an incremental read, unless the order has changed meanwhile. Return False, since no work remains."""
        if not self._dirty and not bucket.is_sorted and bucket in self._buckets:
            self._sort(self._buckets.index(bucket))
        return False

    # -------------------------------------------------------------- changing

    def choose_bounds(self, sample: Iterable[int], count: int) -> None:
        """Prepare an empty order for `count` ids, of which `sample` is a part: choose the bounds of the buckets.

        This only saves time. Buckets that become too large are split.
        """
        assert not self._count, "the order isn't empty"
        self.clear()
        found = sorted(self._entries_of(sample))
        each = max(len(found) * UNSORTED_IDS // count, 1)
        for bound in found[each::each]:
            self._add_bucket(len(self._buckets), bound, ())

    def put(self, entries: list[Entry]) -> None:
        """Put sorted entries, whose ids aren't in the order, into it. While this runs, all other entries must be up to date.

        If entries can't be compared, this raises an error, and part of them are in the order.
        """
        if not entries:
            return
        bounds, begin, count = self._bounds, 0, len(entries)
        self._make_room(max([entry[-1] for entry in entries]) if count > 1 else entries[0][-1], count)
        self._starts, is_many = [], self._is_many(count)
        while begin < count:
            at = bisect_right(bounds, entries[begin]) - 1
            if at + 1 == len(bounds):
                end = count
            else:
                near = min(begin + NEAR, count)
                end = bisect_left(entries, bounds[at + 1], begin + 1, near)
                if end == near:
                    end = bisect_left(entries, bounds[at + 1], near)
            self._put_into(at, entries[begin:end] if end - begin < count else entries, is_many)
            begin = end

    def remove(self, ids: Iterable[int], count: int) -> None:
        """Remove `count` ids, or those of them that are in the order."""
        places = self._places
        is_sparse, known = isinstance(places, dict), len(places)
        self._starts, is_many = [], self._is_many(count)
        for row_id in ids:
            number = places.get(row_id, 0) if is_sparse else places[row_id] if 0 <= row_id < known else 0  # type: ignore[union-attr]
            if not number:
                continue
            if is_sparse:
                del places[row_id]
            else:
                places[row_id] = 0
            bucket = self._numbered[number]
            assert bucket is not None, "an id in a bucket that is gone"
            self._count -= 1
            bucket.live -= 1
            if not bucket.live:
                bucket.ids, bucket.is_sorted = array(self._code), True
                self._empty += 1
            elif is_many:
                bucket.is_sorted = False
            elif bucket.is_sorted:
                del bucket.ids[_index(bucket.ids, row_id)]
        if self._empty > len(self._buckets) // 2 + SMALL_COUNT:
            self._drop_empty()

    def check(self) -> None:
        """Verify the order, except of the ids in `dirty`; for tests."""
        assert self._bounds[0] == ()
        assert all(low < high for low, high in zip(self._bounds, self._bounds[1:], strict=False)), "bounds out of order"
        assert len(self._bounds) == len(self._buckets)
        assert self._count == sum(bucket.live for bucket in self._buckets)
        assert self._empty == sum(not bucket.live for bucket in self._buckets)
        places = self._places if isinstance(self._places, dict) else {n: number for n, number in enumerate(self._places) if number}
        assert self._count == len(places), "ids are missing or extra"
        for at, bucket in enumerate(self._buckets):
            ids = [row_id for row_id in bucket.ids if places.get(row_id) == bucket.number]
            assert self._numbered[bucket.number] is bucket
            assert len(set(ids)) == bucket.live, "ids are missing or extra"
            assert not bucket.is_sorted or len(ids) == len(bucket.ids) == bucket.live, "outdated ids in a sorted bucket"
            entries = [self._entry_of(row_id) for row_id in ids if row_id not in self._dirty]
            assert None not in entries, "a removal was missed"
            assert all(self._bounds[at] <= entry for entry in entries), "an entry below its bucket"
            high = self._bounds[at + 1] if at + 1 < len(self._bounds) else None
            assert high is None or all(entry < high for entry in entries), "an entry beyond its bucket"
            assert not bucket.is_sorted or entries == sorted(entries), "a change was missed"

    def _is_many(self, count: int) -> bool:
        """Whether `count` changes leave buckets unsorted. Finding the position of each changed id would take longer than sorting those few
        buckets that are read again.
        """
        return count > SMALL_COUNT and (len(self._buckets) > FEW_BUCKETS or count * INSERTED_SHARE > self._count)

    def _put_into(self, at: int, entries: Sequence[Entry], is_many: bool) -> None:
        """Put entries that are within the bounds of a bucket into it."""
        bucket = self._buckets[at]
        ids, new = bucket.ids, [entry[-1] for entry in entries]
        if not bucket.live:
            if ids:
                del ids[:]
            ids.extend(new)
            bucket.is_sorted = True
            self._empty -= 1
        elif not bucket.is_sorted or self._entry_of(ids[-1]) < entries[0]:
            ids.extend(new)
        elif len(ids) < SMALL_COUNT or (not is_many and len(new) * INSERTED_SHARE <= len(ids)):
            self._insert(bucket, entries)
            new = []
        else:
            ids.extend(new)
            bucket.is_sorted = False
        places, number = self._places, bucket.number
        for row_id in new:
            places[row_id] = number
        bucket.live += len(new)
        self._count += len(new)
        if bucket.is_sorted:
            if len(ids) > BUCKET_IDS_MAX:
                self._split(at)
        elif len(ids) > UNSORTED_IDS_MAX:
            if bucket.live > UNSORTED_IDS_MAX // 2:
                self._sort(at)
            else:
                bucket.ids = array(self._code, self._live_ids(bucket))

    def _insert(self, bucket: Bucket, entries: Sequence[Entry]) -> None:
        """Insert each entry's id at its position in a sorted bucket."""
        ids, begin, entry_of = bucket.ids, 0, self._entry_of
        for entry in entries:
            begin = bisect_left(ids, entry, begin, key=entry_of)
            ids.insert(begin, entry[-1])
            self._places[entry[-1]] = bucket.number
            bucket.live += 1
            self._count += 1

    def _sort(self, at: int) -> None:
        """Sort a bucket, and split it if it is large."""
        bucket = self._buckets[at]
        ids = bucket.ids if len(bucket.ids) == bucket.live else self._live_ids(bucket)
        entries = self._entries_of(ids)
        entries.sort()
        bucket.ids, bucket.is_sorted = array(self._code, [entry[-1] for entry in entries]), True
        if len(entries) > BUCKET_IDS_MAX:
            self._split(at)

    def _live_ids(self, bucket: Bucket) -> set[int]:
        """Return the ids of an unsorted bucket that are in the order, each once."""
        places, number = self._places, bucket.number
        if isinstance(places, dict):
            return {row_id for row_id in bucket.ids if places.get(row_id) == number}
        return {row_id for row_id in bucket.ids if places[row_id] == number}

    def _split(self, at: int) -> None:
        """Split a sorted bucket."""
        bucket = self._buckets[at]
        ids = bucket.ids
        for begin in range(BUCKET_IDS, len(ids), BUCKET_IDS):
            at += 1
            self._add_bucket(at, self._entry_of(ids[begin]), ids[begin : begin + BUCKET_IDS])
        del ids[BUCKET_IDS:]
        bucket.live = BUCKET_IDS
        self._starts = []

    def _add_bucket(self, at: int, bound: Entry, ids: Sequence[int]) -> None:
        """Add a sorted bucket at an index, with ids that are in the order already."""
        number = self._free.pop() if self._free else len(self._numbered)
        bucket = Bucket(number, array(self._code, ids))
        if number < len(self._numbered):
            self._numbered[number] = bucket
        else:
            self._numbered.append(bucket)
        places = self._places
        if number > UINT16_MAX and not isinstance(places, dict) and places.typecode == "H":
            places = self._places = array("I", places)
        for row_id in ids:
            places[row_id] = number
        self._buckets.insert(at, bucket)
        self._bounds.insert(at, bound)
        if not ids:
            self._empty += 1

    def _drop_empty(self) -> None:
        """Drop the buckets without ids, except the first one, whose bound is below all entries."""
        kept = [at for at, bucket in enumerate(self._buckets) if bucket.live or not at]
        for bucket in self._buckets[1:]:
            if not bucket.live:
                self._numbered[bucket.number] = None
                self._free.append(bucket.number)
        # In place, for the iterators that are reading them.
        self._buckets[:], self._bounds[:] = [self._buckets[at] for at in kept], [self._bounds[at] for at in kept]
        self._empty = int(not self._buckets[0].live)
        self._starts = []

    def _make_room(self, highest: int, more: int) -> None:
        """Prepare `_places` and the buckets for `more` ids up to `highest`. Choose a dict if the ids are sparse."""
        if highest > UINT32_MAX and self._code == "I":
            self._code = "Q"
            for bucket in self._buckets:
                bucket.ids = array("Q", bucket.ids)
        places = self._places
        if isinstance(places, dict):
            count = len(places) + more
            if highest < SPARSE_SHARE * count and count > SMALL_COUNT:
                dense = array("H" if len(self._numbered) < UINT16_MAX else "I", bytes(0))
                _grow(dense, max(highest, max(places, default=0)))
                for row_id, number in places.items():
                    dense[row_id] = number
                self._places = dense
        elif highest >= len(places):
            if highest > 2 * SPARSE_SHARE * (self._count + more + SMALL_COUNT):
                self._places = {row_id: number for row_id, number in enumerate(places) if number}
            else:
                _grow(places, highest)


def _index(ids: "array[int]", row_id: int) -> int:
    """Return the index of an id, like `ids.index(row_id)`, but in a tenth of the time."""
    content, size = ids.tobytes(), ids.itemsize
    wanted, at = row_id.to_bytes(size, byteorder), -1
    while True:
        at = content.index(wanted, at + 1)
        if not at % size:
            return at // size


def _grow(places: "array[int]", highest: int) -> None:
    """Extend an array by zeros, at least to the index `highest`."""
    places.frombytes(bytes(places.itemsize * (highest + 1 + highest // 16 - len(places))))
