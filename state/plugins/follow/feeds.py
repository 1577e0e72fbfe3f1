"""Blogs and feeds: lists of numbered posts, one blog and one feed per account.

A blog is a table with a row per post. Feeds contain most entries of this plugin, one per post and follower. A feed is therefore a list of
places of 8 bytes, and only reblogged posts also have rows. A deleted post is removed from blogs. Its entries remain in feeds, and reads
skip them. Source: block-processing.md §7.4; rpc-api.md §6.4.
"""

from collections.abc import Iterator
from heapq import merge
from itertools import takewhile
from operator import attrgetter, not_

from msgspec import Struct

from state.protocol.constants import TIME_MAX
from state.store import AppendLists, Journal, Ordered, Packed, Row, Table, Unique
from state.tables.content import Comments

# Adding an entry removes the entries whose number is smaller by more than this. A list therefore has at most 501 entries.
FEED_SIZE_MAX = 500

PLACES = "Q"  # type code of the arrays of places
# A place is an integer: the number of a post in a feed, and below NUMBER_SHIFT bits its comment id.
NUMBER_SHIFT = 32
COMMENT_MASK = (1 << NUMBER_SHIFT) - 1


class BlogEntry(Row):
    """A post in an account's blog. `reblogged_on` is 0 for the account's own post."""

    account: str = ""
    comment: int = 0
    number: int = 0
    reblogged_on: int = 0


class BlogEntries(Table[BlogEntry]):
    """The entries of all blogs. A blog is pruned when its account writes a post, not when the account reblogs a post.

    Only reblogs are indexed by comment, because a key with one entry takes 190 bytes. Most entries are an account's own posts, which
    `Blogs.find` finds by number.
    """

    packed = Packed(where=(not_, "reblogged_on"))
    by_number = Unique("account", "number")
    reblogs = Ordered("comment", "account", where=(bool, "reblogged_on"))


class BlogSpan(Row):
    """The lowest and the highest number in an account's blog. Both numbers have entries; deleted posts leave gaps between them."""

    account: str = ""
    oldest: int = 0
    newest: int = 0


class BlogSpans(Table[BlogSpan]):
    """The spans of all non-empty blogs."""

    packed = Packed()
    by_account = Unique("account")


class Blogs:
    """The blogs of all accounts."""

    def __init__(self, journal: Journal, comments: Comments) -> None:
        self.entries = BlogEntries(journal)
        self.spans = BlogSpans(journal)
        self._comments = comments

    def find(self, account: str, comment: int) -> BlogEntry | None:
        """Return a post's entry in a blog, or None."""
        reblog = next(self.entries.reblogs.equal(comment, account), None)
        return self._own(account, comment) if reblog is None else reblog

    def of_comment(self, comment: int) -> Iterator[BlogEntry]:
        """Yield the entries of a post in all blogs, ordered by account name."""
        post = self._comments.get(comment)
        own = None if post is None else self._own(post.author, comment)
        return merge([] if own is None else [own], self.entries.reblogs.equal(comment), key=attrgetter("account"))

    def add(self, account: str, comment: int, reblogged_on: int = 0) -> None:
        """Add a post to a blog under the next number."""
        span, number = self.spans.by_account.get(account), 0
        if span is None:
            self.spans.insert(BlogSpan(account=account))
        else:
            number = span.newest + 1
            self.spans.modify(span, newest=number)
        self.entries.insert(BlogEntry(account=account, comment=comment, number=number, reblogged_on=reblogged_on))

    def remove(self, entry: BlogEntry) -> None:
        """Remove an entry. If it was the newest entry, the next entry reuses its number, as on the reference."""
        span = self.spans.by_account.find(entry.account)
        self.entries.remove(entry)
        if span.oldest == span.newest:
            self.spans.remove(span)
        elif entry.number == span.newest:
            self.spans.modify(span, newest=self._next(entry, -1))
        elif entry.number == span.oldest:
            self.spans.modify(span, oldest=self._next(entry, 1))

    def prune(self, account: str) -> None:
        """Remove the entries whose number is more than FEED_SIZE_MAX below the next number."""
        span = self.spans.by_account.get(account)
        while span is not None and span.newest + 1 - span.oldest > FEED_SIZE_MAX:
            self.remove(self.entries.by_number.find(account, span.oldest))
            span = self.spans.by_account.get(account)

    def newest_first(self, account: str, start: int = -1) -> Iterator[BlogEntry]:
        """Yield the entries of a blog from number `start` (-1: the newest) downwards."""
        span = self.spans.by_account.get(account)
        if span is None:
            return
        first = span.newest if start < 0 else min(start, span.newest)
        for number in range(first, span.oldest - 1, -1):
            entry = self.entries.by_number.get(account, number)
            if entry is not None:
                yield entry

    def _own(self, account: str, comment: int) -> BlogEntry | None:
        """Return the entry of a post in the blog of its author, or None for a post of another account.

        Entries are in order of time: the creation time for the account's own posts. The search from the newest entry therefore stops at the
        first one older than the post. For a new post, the common case, this takes one step. It never takes more than FEED_SIZE_MAX steps,
        regardless of the number of reblogs after the post, because pruning left each own post within FEED_SIZE_MAX of the oldest entry when
        it was added.
        """
        post, span = self._comments.get(comment), self.spans.by_account.get(account)
        if post is None or post.author != account or span is None:
            return None
        for entry in self.newest_first(account, span.oldest + FEED_SIZE_MAX):
            if entry.reblogged_on:
                if entry.reblogged_on < post.created:
                    return None
            elif entry.comment <= comment:
                return entry if entry.comment == comment else None
        return None

    def _next(self, entry: BlogEntry, step: int) -> int:
        """Return the number of the nearest entry above (`step` 1) or below (-1) a removed entry. The caller ensures that there is one."""
        number = entry.number + step
        while self.entries.by_number.get(entry.account, number) is None:
            number += step
        return number


class FeedReblog(Row):
    """Reblogs of a post in a feed.

    `first_by` is the account whose reblog added the post to the feed, or "" if the post was added when its author wrote it.
    """

    account: str = ""
    comment: int = 0
    by: tuple[str, ...] = ()
    first_by: str = ""
    first_on: int = 0


class FeedReblogs(Table[FeedReblog]):
    """Reblogs of all posts in all feeds. `account` owns the feed."""

    by_comment = Ordered("comment", "account", unique=True)


class FeedEntry(Struct, frozen=True):
    """A post in a feed.

    `first_reblogged_by` is the account whose reblog added the post, or "" if the post was added when its author wrote it.
    """

    number: int
    comment: int
    reblogged_by: tuple[str, ...] = ()
    first_reblogged_by: str = ""
    first_reblogged_on: int = 0


class Feeds:
    """The feeds of all accounts, as lists of numbered comment ids, and the rows of reblogged posts."""

    def __init__(self, journal: Journal, comments: Comments) -> None:
        self.places: AppendLists[str, int] = AppendLists(journal, PLACES)
        self.reblogged = FeedReblogs(journal)
        self._comments = comments

    def add(self, account: str, comment: int) -> None:
        """Add a post to a feed under the next number, after pruning the feed."""
        places = self.places.get(account)
        # The next number follows the newest post that isn't deleted, nearly always the last entry.
        if places and self._comments.get((newest := places[-1]) & COMMENT_MASK) is not None:
            following = (newest >> NUMBER_SHIFT) + 1
        else:
            following = self._following(account)
        if following > FEED_SIZE_MAX:
            self.prune(account, following)
        self.places.append(account, following << NUMBER_SHIFT | comment)

    def reblog(self, account: str, comment: int, by: str, when: int) -> None:
        """Add a reblog to a feed, which can already contain the post.

        The feed is pruned first, even if it contains the post. If pruning removes the post itself, this reblog is lost, as on the
        reference.
        """
        held = self.holds(account, comment)
        if not held:
            self.add(account, comment)
            self.reblogged.insert(FeedReblog(account=account, comment=comment, by=(by,), first_by=by, first_on=when))
            return
        self.prune(account, self._following(account))
        row = self.reblogged.by_comment.get(comment, account)
        if row is not None:
            self.reblogged.modify(row, by=(*row.by, by))
        elif self.holds(account, comment):
            # This is the first reblog of a post that was added to the feed when its author wrote it.
            self.reblogged.insert(FeedReblog(account=account, comment=comment, by=(by,)))

    def holds(self, account: str, comment: int) -> bool:
        """Whether a post is in a feed.

        A reblogged post has a row. Any other post was added when its author created it. Entries are in order of time, so the search reads
        few of them, and only the newest one for a new post, the common case.
        """
        if self.reblogged.by_comment.get(comment, account) is not None:
            return True
        places, born = self.places.get(account), self._comments.find(comment).created
        if places and places[-1] & COMMENT_MASK == comment:
            return True
        for place in range(self._first_since(account, born), len(places)):
            other = places[place] & COMMENT_MASK
            if other == comment:
                return True
            if born < self._arrived(account, other) < TIME_MAX:
                return False
        return False

    def _first_since(self, account: str, time: int) -> int:
        """Return the position of the first entry that was added at `time` or later.

        It can also be the position of a deleted post directly before that entry.
        """
        places = self.places.get(account)
        low, high = 0, len(places)
        middle = high - 1
        while low < high:
            place = middle
            # The time of a deleted post is unknown, so search the entries before it.
            while place >= low and (arrived := self._arrived(account, places[place] & COMMENT_MASK)) == TIME_MAX:
                place -= 1
            if place < low or arrived < time:
                low = middle + 1
            else:
                high = place
            middle = (low + high) // 2
        return low

    def forget(self, comment: int) -> None:
        """Before a post is deleted, remove its reblogs. The entries of the post remain in the feeds, and reads skip them."""
        for row in list(self.reblogged.by_comment.equal(comment)):
            self.reblogged.remove(row)

    def prune(self, account: str, following: int) -> None:
        """Remove the entries whose number is more than FEED_SIZE_MAX below `following`, with their reblogs."""
        old = list(takewhile(lambda place: following - (place >> NUMBER_SHIFT) > FEED_SIZE_MAX, self.places.get(account)))
        self.places.drop_front(account, len(old))
        for place in old:
            row = self.reblogged.by_comment.get(place & COMMENT_MASK, account)
            if row is not None:
                self.reblogged.remove(row)

    def newest_first(self, account: str, start: int = -1) -> Iterator[FeedEntry]:
        """Yield the entries of a feed from number `start` (-1: the newest) downwards, without deleted posts."""
        for place in reversed(self.places.get(account)):
            number, comment = place >> NUMBER_SHIFT, place & COMMENT_MASK
            if (start < 0 or number <= start) and self._comments.get(comment) is not None:
                yield self._entry(account, number, comment)

    def find(self, account: str, comment: int) -> FeedEntry | None:
        """Return a post's entry in a feed, or None."""
        return next((entry for entry in self.newest_first(account) if entry.comment == comment), None)

    def _following(self, account: str) -> int:
        """Return the number of the next post in a feed, which is one above that of the newest post that isn't deleted."""
        for place in reversed(self.places.get(account)):
            if self._comments.get(place & COMMENT_MASK) is not None:
                return (place >> NUMBER_SHIFT) + 1
        return 0

    def _arrived(self, account: str, comment: int) -> int:
        """Return the time at which a post was added to a feed, TIME_MAX for a deleted post."""
        row, post = self.reblogged.by_comment.get(comment, account), self._comments.get(comment)
        if row is not None and row.first_by:
            return row.first_on
        return TIME_MAX if post is None else post.created

    def _entry(self, account: str, number: int, comment: int) -> FeedEntry:
        row = self.reblogged.by_comment.get(comment, account)
        return FeedEntry(number, comment) if row is None else FeedEntry(number, comment, row.by, row.first_by, row.first_on)
