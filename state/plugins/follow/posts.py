"""Numbered posts of accounts: blogs, with what was reblogged, and feeds. It knows no operation and not who follows whom.

A feed is an append-only history; a post that is deleted stays in it and is passed over. Source: block-processing.md §7.4; rpc-api.md §6.4.
"""

from collections.abc import Iterator
from itertools import takewhile

from msgspec import Struct

from state.protocol.constants import TIME_MAX
from state.store import Journal, Lists, Ordered, Row, Table, Unique
from state.tables.content import Comments

FEED_SIZE_MAX = 500  # What lies further behind goes when a new post comes, so that one more is kept.

Place = tuple[int, int]  # The number of a post in a feed, and its comment id.


class BlogEntry(Row):
    """A post in somebody's blog, own (`reblogged_on` is 0) or reblogged."""

    account: str = ""
    comment: int = 0
    number: int = 0
    reblogged_on: int = 0


class BlogEntries(Table[BlogEntry]):
    """All blogs; each bounded when its account posts."""

    by_number = Unique("account", "number")
    by_comment = Ordered("comment", "account", unique=True)


class Span(Row):
    """The oldest and the newest number in an account's blog, both of which are there."""

    account: str = ""
    oldest: int = 0
    newest: int = 0


class Spans(Table[Span]):
    """Spans of what isn't empty."""

    by_account = Unique("account")


class Blogs:
    """The blogs of all accounts."""

    def __init__(self, journal: Journal) -> None:
        self.entries = BlogEntries(journal)
        self.spans = Spans(journal)

    def find(self, account: str, comment: int) -> BlogEntry | None:
        """A post's entry in a blog."""
        return self.entries.by_comment.get(comment, account)

    def of_comment(self, comment: int) -> Iterator[BlogEntry]:
        """The entries of a post in all blogs, by their accounts' names."""
        return self.entries.by_comment.equal(comment)

    def add(self, account: str, comment: int, reblogged_on: int = 0) -> None:
        """Give a post the next number in a blog."""
        span, number = self.spans.by_account.get(account), 0
        if span is None:
            self.spans.insert(Span(account=account))
        else:
            number = span.newest + 1
            self.spans.modify(span, newest=number)
        self.entries.insert(BlogEntry(account=account, comment=comment, number=number, reblogged_on=reblogged_on))

    def remove(self, entry: BlogEntry) -> None:
        """Take an entry out; its number is given again if it was the newest."""
        span = self.spans.by_account.find(entry.account)
        self.entries.remove(entry)
        if span.oldest == span.newest:
            self.spans.remove(span)
        elif entry.number == span.newest:
            self.spans.modify(span, newest=self._next(entry, -1))
        elif entry.number == span.oldest:
            self.spans.modify(span, oldest=self._next(entry, 1))

    def prune(self, account: str) -> None:
        """Make room for a new entry: those go that would lie too far behind it."""
        span = self.spans.by_account.get(account)
        while span is not None and span.newest + 1 - span.oldest > FEED_SIZE_MAX:
            self.remove(self.entries.by_number.find(account, span.oldest))
            span = self.spans.by_account.get(account)

    def newest_first(self, account: str, start: int = -1) -> Iterator[BlogEntry]:
        """The entries of a blog from number `start` on, downwards; -1 is the newest."""
        span = self.spans.by_account.get(account)
        if span is None:
            return
        first = span.newest if start < 0 else min(start, span.newest)
        for number in range(first, span.oldest - 1, -1):
            entry = self.entries.by_number.get(account, number)
            if entry is not None:
                yield entry

    def _next(self, entry: BlogEntry, step: int) -> int:
        """The number next to an entry that has gone; there is one."""
        number = entry.number + step
        while self.entries.by_number.get(entry.account, number) is None:
            number += step
        return number


class Reblogged(Row):
    """Who has reblogged a post that is in a feed; `first_*` is who brought it there, "" when its author did."""

    account: str = ""
    comment: int = 0
    by: tuple[str, ...] = ()
    first_by: str = ""
    first_on: int = 0


class RebloggedTable(Table[Reblogged]):
    """What was reblogged, by the feeds that it is in."""

    by_comment = Ordered("comment", "account", unique=True)


class FeedEntry(Struct, frozen=True):
    """A post in a feed; `first_reblogged_by` is "" when its author brought it there."""

    number: int
    comment: int
    reblogged_by: tuple[str, ...] = ()
    first_reblogged_by: str = ""
    first_reblogged_on: int = 0


class Feeds:
    """The feeds of all accounts, of FEED_SIZE_MAX and one posts at most each."""

    def __init__(self, journal: Journal, comments: Comments) -> None:
        self.places: Lists[str, Place] = Lists(journal)
        self.reblogged = RebloggedTable(journal)
        self._comments = comments

    def add(self, account: str, comment: int) -> None:
        """Give a post the next number in a feed; those go that lie too far behind then."""
        places = self.places.get(account)
        newest = places[-1] if places else (-1, -1)
        # Mostly the newest is not deleted.
        following = newest[0] + 1 if self._comments.get(newest[1]) is not None else self._following(account)
        if following > FEED_SIZE_MAX:
            self.prune(account, following)
        self.places.append(account, (following, comment))

    def reblog(self, account: str, comment: int, by: str, when: int) -> None:
        """A post is reblogged into a feed, in which it may be already."""
        held = self.holds(account, comment)
        if not held:
            self.add(account, comment)
            self.reblogged.insert(Reblogged(account=account, comment=comment, by=(by,), first_by=by, first_on=when))
            return
        self.prune(account, self._following(account))
        row = self.reblogged.by_comment.get(comment, account)
        if row is not None:
            self.reblogged.modify(row, by=(*row.by, by))
        elif self.holds(account, comment):
            self.reblogged.insert(Reblogged(account=account, comment=comment, by=(by,)))

    def holds(self, account: str, comment: int) -> bool:
        """Whether a post is in a feed."""
        born = self._comments.find(comment).created
        for _, other in reversed(self.places.get(account)):
            if other == comment:
                return True
            if self._arrived(account, other) < born:
                return False
        return False

    def forget(self, comment: int) -> None:
        """A post is about to be deleted: it is passed over from now on, and nobody has reblogged it."""
        for row in list(self.reblogged.by_comment.equal(comment)):
            self.reblogged.remove(row)

    def prune(self, account: str, following: int) -> None:
        """Let those go that lie too far behind a number."""
        old = [comment for _, comment in takewhile(lambda place: following - place[0] > FEED_SIZE_MAX, self.places.get(account))]
        self.places.drop_front(account, len(old))
        for comment in old:
            row = self.reblogged.by_comment.get(comment, account)
            if row is not None:
                self.reblogged.remove(row)

    def newest_first(self, account: str, start: int = -1) -> Iterator[FeedEntry]:
        """The posts of a feed from number `start` on, downwards; -1 is the newest."""
        for number, comment in reversed(self.places.get(account)):
            if (start < 0 or number <= start) and self._comments.get(comment) is not None:
                yield self._entry(account, number, comment)

    def find(self, account: str, comment: int) -> FeedEntry | None:
        """A post's entry in a feed."""
        return next((entry for entry in self.newest_first(account) if entry.comment == comment), None)

    def _following(self, account: str) -> int:
        """The number of the next post: behind the newest that isn't deleted."""
        for number, comment in reversed(self.places.get(account)):
            if self._comments.get(comment) is not None:
                return number + 1
        return 0

    def _arrived(self, account: str, comment: int) -> int:
        """When a post came into a feed, as far as that is known; they came one after the other."""
        row, post = self.reblogged.by_comment.get(comment, account), self._comments.get(comment)
        if row is not None and row.first_by:
            return row.first_on
        return TIME_MAX if post is None else post.created

    def _entry(self, account: str, number: int, comment: int) -> FeedEntry:
        row = self.reblogged.by_comment.get(comment, account)
        return FeedEntry(number, comment) if row is None else FeedEntry(number, comment, row.by, row.first_by, row.first_on)
