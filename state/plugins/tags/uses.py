"""The number of comments for each author and tag, with undo records in the journal.

A table row per number would take four times the memory.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from msgspec import msgpack

from state.store import Journal
from state.store.columns import Column, CorruptData
from state.store.lazy.background_load import BackgroundLoad, BackgroundLoadable
from state.store.rows import COPY_CHUNK, Copying
from state.store.serializers import Install, checked_read, decoded

AUTHORS_PER_CHUNK = 10_000


class AuthorTag(NamedTuple):
    """The number of an author's comments with a tag."""

    author: str
    tag: str
    total_posts: int


class Uses(BackgroundLoadable):
    """The counts of all authors and tags, including counts that have fallen to 0."""

    def __init__(self, journal: Journal) -> None:
        self.counts: dict[str, dict[str, int]] = {}
        self._read_mode, self._record = journal.read_mode, journal.record
        # Bound once, since a new bound method in each undo record would cost memory and time.
        self._take_back = self._uncount

    def __iter__(self) -> Iterator[AuthorTag]:
        """Yield all counts."""
        for author, own in self.counts.items():
            for tag, count in own.items():
                yield AuthorTag(author, tag, count)

    def count(self, author: str, tag: str, change: int) -> None:
        """Add `change` to the number of an author's comments with a tag."""
        own = self.counts.get(author)
        if own is None:
            own = self.counts[author] = {}
        old = own.get(tag)
        own[tag] = change if old is None else old + change
        self._record((self._take_back, author, (tag, old)))

    def of(self, author: str) -> list[AuthorTag]:
        """Return the counts of an author, largest first. Equal counts are ordered by tag."""
        own = self.counts.get(author, {})
        return [AuthorTag(author, tag, count) for tag, count in sorted(own.items(), key=lambda item: (-item[1], item[0]))]

    def _uncount(self, author: str, before: tuple[str, int | None]) -> None:
        own, (tag, old) = self.counts[author], before
        if old is not None:
            own[tag] = old
            return
        del own[tag]
        if not own:
            del self.counts[author]


class UsesPart:
    """Snapshot part that contains all counts. After a start they are loaded in the background."""

    schema = "counts of comments by author and tag"

    def __init__(self, uses: Uses) -> None:
        self._uses = uses

    def dump(self) -> Iterator[bytes]:
        """Implement `SnapshotPart.dump`."""
        counts = self._uses.counts
        authors = list(counts)
        yield msgpack.encode(len(authors))
        for begin in range(0, len(authors), AUTHORS_PER_CHUNK):
            some = authors[begin : begin + AUTHORS_PER_CHUNK]
            sizes = [len(counts[author]) for author in some]
            tags = [tag for author in some for tag in counts[author]]
            values = [count for author in some for count in counts[author].values()]
            yield msgpack.encode((len(some), len(tags), _TEXTS.pack(some), _NUMBERS.pack(sizes), _TEXTS.pack(tags), _NUMBERS.pack(values)))

    def read(self, chunks: Iterator[bytes]) -> Install:
        """Implement `SnapshotPart.read`."""
        total = decoded(int, next(chunks, b""))
        return lambda: BackgroundLoad((self._uses,), self._restoring(chunks, total), self._uses.raw_attributes()["_read_mode"])

    def _restoring(self, chunks: Iterator[bytes], total: int) -> Iterator[None]:
        """Read one chunk of authors per step."""
        counts: dict[str, dict[str, int]] = self._uses.raw_attributes()["counts"]
        counts.clear()
        read = 0
        for chunk in chunks:
            size, every, *packed = decoded(tuple[int, int, bytes, bytes, bytes, bytes], chunk)
            if max(size, every) > len(chunk):  # authors are distinct, and so are the tags of an author
                raise CorruptData(f"{size} authors with {every} tags in {len(chunk)} bytes")
            authors, sizes, tags, values = (
                checked_read(column.unpack, data, many)
                for column, data, many in zip((_TEXTS, _NUMBERS, _TEXTS, _NUMBERS), packed, (size, size, every, every), strict=True)
            )
            if min(sizes, default=1) < 1 or sum(sizes) != every:
                raise CorruptData("authors have other numbers of tags than there are")
            pairs = zip(tags, values, strict=True)
            for author, length in zip(authors, sizes, strict=True):
                own = dict(islice(pairs, length))
                if len(own) != length:
                    raise CorruptData("a tag of an author is there twice")
                counts[author] = own
            read += size
            yield
        if not read == len(counts) == total:
            raise CorruptData("an author is missing, or there twice")

    def copying(self) -> Copying:
        """Implement `SnapshotPart.copying`."""
        uses = self._uses
        kept = uses.counts.copy()
        for place, (author, own) in enumerate(kept.items(), 1):
            kept[author] = own.copy()
            if place % COPY_CHUNK == 0:
                yield

        def put_back() -> None:
            uses.cancel_load()
            uses.counts = {author: own.copy() for author, own in kept.items()}

        return put_back

    def entries(self) -> Iterator[tuple[Any, dict[str, str]]]:
        """Implement `SnapshotPart.entries`."""
        return ((author, {tag: str(count) for tag, count in own.items()}) for author, own in self._uses.counts.items())


_TEXTS, _NUMBERS = Column(str), Column(int)
