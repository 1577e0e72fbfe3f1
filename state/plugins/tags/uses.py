"""The number of comments for each author and tag, with undo records in the journal.

A table row per number would take four times the memory, and a dict per author twice as much.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from msgspec import msgpack

from state.store import Journal
from state.store.columns import Column, CorruptData
from state.store.lazy.background_load import BackgroundLoad, BackgroundLoadable
from state.store.rows import Copying
from state.store.serializers import Install, checked_read, decoded
from state.store.slots import Slots

AUTHORS_PER_CHUNK = 10_000
PACKED_TAGS_MAX = 16  # The counts of an author with more tags are a dict, so that the cost of a comment doesn't grow with them.

Counts = dict[str, int]


class AuthorTag(NamedTuple):
    """The number of an author's comments with a tag."""

    tag: str
    total_posts: int


unpacked = msgpack.Decoder(Counts).decode


def compact(counts: Counts) -> bytes | Counts:
    """Return the counts of an author in the form in which they are kept: packed if there are few, None if there are none."""
    if len(counts) <= PACKED_TAGS_MAX:
        try:
            return msgpack.encode(counts)
        except UnicodeEncodeError:
            pass  # a tag that isn't valid UTF-8
    return counts


class Uses(BackgroundLoadable):
    """The counts of all authors and tags, including counts that have fallen to 0. Authors are ids of accounts."""

    def __init__(self, journal: Journal) -> None:
        self.counts: Slots[bytes | Counts] = Slots()
        self._read_mode, self._record = journal.read_mode, journal.record
        # Bound once, since a new bound method in each undo record would cost memory and time.
        self._put_back, self._take_back = self._restore, self._uncount

    def __iter__(self) -> Iterator[tuple[int, Counts]]:
        """Yield the authors and their counts, ordered by author."""
        return ((author, own if isinstance(own, dict) else unpacked(own)) for author, own in self.counts.items())

    def count(self, author: int, tags: Iterable[str], change: int) -> None:
        """Add `change` to the number of an author's comments with each of these tags."""
        held = self.counts.get(author)
        if isinstance(held, dict):
            for tag in tags:
                old = held.get(tag)
                held[tag] = change if old is None else old + change
                self._record((self._take_back, author, (tag, old)))
            return
        own = {} if held is None else unpacked(held)
        for tag in tags:
            own[tag] = own.get(tag, 0) + change
        self.counts.put(author, compact(own))
        self._record((self._put_back, author, held))

    def of(self, author: int) -> list[AuthorTag]:
        """Return the counts of an author, largest first. Equal counts are ordered by tag."""
        held = self.counts.get(author)
        own = {} if held is None else held if isinstance(held, dict) else unpacked(held)
        return [AuthorTag(tag, count) for tag, count in sorted(own.items(), key=lambda item: (-item[1], item[0]))]

    def _restore(self, author: int, old: bytes | None) -> None:
        self.counts.put(author, old)

    def _uncount(self, author: int, before: tuple[str, int | None]) -> None:
        own, (tag, old) = self.counts.get(author), before
        assert isinstance(own, dict), "many counts are a dict"
        if old is None:
            del own[tag]
        else:
            own[tag] = old


class UsesPart:
    """Snapshot part that contains all counts. After a start they are loaded in the background."""

    schema = "counts of comments by id of the author and tag"

    def __init__(self, uses: Uses) -> None:
        self._uses = uses

    def dump(self) -> Iterator[bytes]:
        """Implement `SnapshotPart.dump`."""
        yield msgpack.encode(len(self._uses.counts))
        uses = iter(self._uses)
        while some := list(islice(uses, AUTHORS_PER_CHUNK)):
            authors, sizes = [author for author, _ in some], [len(own) for _, own in some]
            tags = [tag for _, own in some for tag in own]
            values = [count for _, own in some for count in own.values()]
            packed = _NUMBERS.pack(authors), _NUMBERS.pack(sizes), _TEXTS.pack(tags), _NUMBERS.pack(values)
            yield msgpack.encode((len(some), len(tags), *packed))

    def read(self, chunks: Iterator[bytes]) -> Install:
        """Implement `SnapshotPart.read`."""
        total = decoded(int, next(chunks, b""))
        return lambda: BackgroundLoad((self._uses,), self._restoring(chunks, total), self._uses.raw_attributes()["_read_mode"])

    def _restoring(self, chunks: Iterator[bytes], total: int) -> Iterator[None]:
        """Read one chunk of authors per step."""
        counts: Slots[bytes | Counts] = self._uses.raw_attributes()["counts"]
        counts.chunks.clear()
        read, last = 0, -1
        for chunk in chunks:
            size, every, *packed = decoded(tuple[int, int, bytes, bytes, bytes, bytes], chunk)
            if max(size, every) > len(chunk):  # authors are distinct, and so are the tags of an author
                raise CorruptData(f"{size} authors with {every} tags in {len(chunk)} bytes")
            authors, sizes, tags, values = (
                checked_read(column.unpack, data, many)
                for column, data, many in zip((_NUMBERS, _NUMBERS, _TEXTS, _NUMBERS), packed, (size, size, every, every), strict=True)
            )
            if min(sizes, default=1) < 1 or sum(sizes) != every:
                raise CorruptData("authors have other numbers of tags than there are")
            pairs = zip(tags, values, strict=True)
            for author, length in zip(authors, sizes, strict=True):
                own = dict(islice(pairs, length))
                if len(own) != length or author <= last:
                    raise CorruptData("a tag of an author or an author is there twice")
                last = author
                counts.put(author, compact(own))
            read += size
            yield
        if read != total:
            raise CorruptData("an author is missing")

    def copying(self) -> Copying:
        """Implement `SnapshotPart.copying`."""
        uses = self._uses
        chunks = yield from uses.counts.copying()

        def put_back() -> None:
            uses.cancel_load()
            uses.counts.chunks = chunks()

        return put_back

    def entries(self) -> Iterator[tuple[Any, dict[str, str]]]:
        """Implement `SnapshotPart.entries`."""
        return ((author, {tag: str(count) for tag, count in own.items()}) for author, own in self._uses)


_TEXTS, _NUMBERS = Column(str), Column(int)
