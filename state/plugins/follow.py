"""Who follows whom, the blogs of accounts with what they reblog, and the feeds of their followers.
Source: block-processing.md §7.4; rpc-api.md §6.4.
"""

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from state.effects.comments import comment_of, find_comment
from state.operations.content import Comment, DeleteComment
from state.operations.custom import CustomBinary, CustomJson
from state.plugins import reputation
from state.plugins.follow_operations import FollowOperation, Inner, read_bare, read_operations
from state.plugins.follow_operations import ReblogOperation as Reblog
from state.protocol.errors import ChainError, require
from state.store import Ordered, Row, Table, Unique
from state.tables import State
from state.tables.content import Comment as CommentRow

NAME = "follow"
BLOG, IGNORE = 2, 4
WORDS = {"blog": BLOG, "ignore": IGNORE}
FEED_SIZE_MAX = 500  # Older entries go when a new one comes, so that one more is kept.
REBLOGGERS_MAX = 2000
GUESTS_MAX = 2000

EntryT = TypeVar("EntryT", bound="Entry")


class Follow(Row):
    """What an account is to another, as a mask of BLOG and IGNORE; it stays with 0 when it is nothing any more."""

    follower: str = ""
    following: str = ""
    what: int = 0


class Follows(Table[Follow]):
    """All relations that there ever were."""

    by_pair = Unique("follower", "following")
    by_following = Ordered("following", "follower")
    by_follower = Ordered("follower", "following", lazy=True)


class FollowCount(Row):
    """How many blogs an account follows, and how many follow it."""

    account: str = ""
    follower_count: int = 0
    following_count: int = 0


class FollowCounts(Table[FollowCount]):
    """Counts of those who ever followed or were followed."""

    by_account = Unique("account")


class Entry(Row):
    """A post in a blog or a feed, with its number there."""

    account: str = ""
    comment: int = 0
    number: int = 0


class BlogEntry(Entry):
    """A post in somebody's blog, own (`reblogged_on` is 0) or reblogged."""

    reblogged_on: int = 0


class Blogs(Table[BlogEntry]):
    """All blogs; each bounded when its account posts."""

    by_number = Unique("account", "number")
    by_comment = Ordered("comment", "account", unique=True)


class FeedEntry(Entry):
    """A post in somebody's feed; `first_*` is who brought it there, "" when its author did."""

    reblogged_by: tuple[str, ...] = ()
    first_reblogged_by: str = ""
    first_reblogged_on: int = 0


class Feeds(Table[FeedEntry]):
    """All feeds, each bounded."""

    by_number = Unique("account", "number")
    by_comment = Unique("comment", "account")


class Span(Row):
    """The oldest and the newest number in an account's blog or feed, both of which are there."""

    account: str = ""
    oldest: int = 0
    newest: int = 0


class Spans(Table[Span]):
    """Spans of what isn't empty."""

    by_account = Unique("account")


class Audience(Row):
    """The feeds that a post has come into, those that it has left too."""

    comment: int = 0
    accounts: tuple[tuple[str, ...], ...] = ()


class Audiences(Table[Audience]):
    """Audiences by post; as many as there are posts in feeds."""

    by_comment = Unique("comment")


class BlogAuthor(Row):
    """How many posts of a guest an account has reblogged."""

    blogger: str = ""
    guest: str = ""
    count: int = 0


class BlogAuthors(Table[BlogAuthor]):
    """Guests of blogs."""

    by_pair = Ordered("blogger", "guest", unique=True)


class Numbered(Generic[EntryT]):
    """Numbered entries per account, in one table with a span for each account that has some."""

    def __init__(self, entries: Any, spans: Spans) -> None:
        self.entries = entries
        self.spans = spans

    def __len__(self) -> int:
        return len(self.entries)

    def find(self, account: str, comment: int) -> EntryT | None:
        """The entry of a post, if it is there."""
        entry: EntryT | None = self.entries.by_comment.get(comment, account)
        return entry

    def add(self, entry: EntryT) -> None:
        """Give an entry the next number of its account."""
        span = self.spans.by_account.get(entry.account)
        if span is None:
            self.spans.insert(Span(account=entry.account))
        else:
            entry.number = span.newest + 1
            self.spans.modify(span, newest=entry.number)
        self.entries.insert(entry)

    def remove(self, entry: EntryT) -> None:
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

    def newest_first(self, account: str, start: int = -1) -> Iterator[EntryT]:
        """An account's entries from number `start` on, downwards; -1 is the newest."""
        span = self.spans.by_account.get(account)
        if span is None:
            return
        first = span.newest if start < 0 else min(start, span.newest)
        for number in range(first, span.oldest - 1, -1):
            entry = self.entries.by_number.get(account, number)
            if entry is not None:
                yield entry

    def _next(self, entry: EntryT, step: int) -> int:
        """The number next to an entry that has gone; there is one."""
        number = entry.number + step
        while self.entries.by_number.get(entry.account, number) is None:
            number += step
        return number


class FollowPlugin:
    """What the plugin keeps."""

    def __init__(self, state: State) -> None:
        journal = state.journal
        self.follows = Follows(journal)
        self.counts = FollowCounts(journal)
        self.blogs: Numbered[BlogEntry] = Numbered(Blogs(journal), Spans(journal))
        self.feeds: Numbered[FeedEntry] = Numbered(Feeds(journal), Spans(journal))
        self.audiences = Audiences(journal)
        self.authors = BlogAuthors(journal)
        # One table for both plugins: that of `reputation`, which is initialised before, if it is enabled.
        shared: reputation.Reputations | None = state.plugins.get(reputation.NAME)
        self.reputations = reputation.install(state) if shared is None else shared


def install(state: State) -> FollowPlugin:
    """Make the tables, listen, and read custom operations with the id `follow`."""
    state.interpreters[NAME] = interpret
    on = state.listeners.on_operation
    on(forget_deleted, DeleteComment, after=False)
    on(apply_bare, CustomJson)
    on(spread, Comment)
    return FollowPlugin(state)


def plugin(state: State) -> FollowPlugin:
    """What the plugin keeps on this state."""
    kept: FollowPlugin = state.plugins[NAME]
    return kept


# ------------------------------------------------------------------ reading


def followers(state: State, account: str, start: str, what: int) -> Iterator[Follow]:
    """Who has one of the relations in `what` to an account (0: any, past ones too), by name from `start` on."""
    for row in plugin(state).follows.by_following.starting(account, start):
        if row.following != account:
            return
        if not what or row.what & what:
            yield row


def followed(state: State, account: str, start: str, what: int) -> Iterator[Follow]:
    """To whom an account has one of the relations in `what` (0: any, past ones too), by name from `start` on."""
    for row in plugin(state).follows.by_follower.starting(account, start):
        if row.follower != account:
            return
        if not what or row.what & what:
            yield row


def follow_count(state: State, account: str) -> tuple[int, int]:
    """How many follow an account's blog, and how many blogs it follows."""
    row = plugin(state).counts.by_account.get(account)
    return (0, 0) if row is None else (row.follower_count, row.following_count)


def blog(state: State, account: str, start: int = -1) -> Iterator[BlogEntry]:
    """The entries of a blog from number `start` on (-1: the newest), newest first."""
    return plugin(state).blogs.newest_first(account, start)


def feed(state: State, account: str, start: int = -1) -> Iterator[FeedEntry]:
    """The entries of a feed from number `start` on (-1: the newest), newest first."""
    return plugin(state).feeds.newest_first(account, start)


def blog_entry(state: State, account: str, comment: int) -> BlogEntry | None:
    """A post's entry in a blog."""
    return plugin(state).blogs.find(account, comment)


def feed_entry(state: State, account: str, comment: int) -> FeedEntry | None:
    """A post's entry in a feed."""
    return plugin(state).feeds.find(account, comment)


def reblogged_by(state: State, comment: int) -> list[str]:
    """Whose blogs a post is in, its author's too, by name; at most 2,000."""
    rows = plugin(state).blogs.entries.by_comment.equal(comment)
    return [row.account for row, _ in zip(rows, range(REBLOGGERS_MAX), strict=False)]


def blog_authors(state: State, account: str) -> list[BlogAuthor]:
    """Whose posts an account has reblogged, by name; at most 2,000."""
    rows = plugin(state).authors.by_pair.equal(account)
    return [row for row, _ in zip(rows, range(GUESTS_MAX), strict=False)]


# ------------------------------------------------------------------ custom operations


def interpret(state: State, operation: CustomJson | CustomBinary) -> None:
    """Apply the operations that a custom operation holds, or refuse it."""
    apply_all(state, read_operations(state.wire.codecs, operation))


def apply_bare(state: State, operation: CustomJson) -> None:
    """A payload that is a follow object itself counts too, once more if it has been applied already; it is never refused."""
    if operation.id != NAME:
        return
    inner = read_bare(state.wire.codecs, operation)
    mark = state.journal.mark()
    try:
        apply_all(state, inner)
    except ChainError:
        state.journal.undo(mark)


def apply_all(state: State, operations: tuple[Inner, ...]) -> None:
    """Apply operations in their order."""
    for operation in operations:
        if isinstance(operation, FollowOperation):
            apply_follow(state, operation)
        else:
            apply_reblog(state, operation)


def apply_follow(state: State, operation: FollowOperation) -> None:
    """Set what an account is to another; words that mean nothing are passed over."""
    kept = plugin(state)
    what = 0
    for word in operation.what:
        what |= WORDS.get(word, 0)
    require(
        what != BLOG | IGNORE,
        "Cannot follow blog and ignore author at the same time",
        condition="!( what & ( 1 << blog ) )",
    )

    row = kept.follows.by_pair.get(operation.follower, operation.following)
    before = 0 if row is None else row.what
    if row is None:
        kept.follows.insert(Follow(follower=operation.follower, following=operation.following, what=what))
    else:
        kept.follows.modify(row, what=what)
    change = bool(what & BLOG) - bool(before & BLOG)
    add_to_counts(kept.counts, operation.follower, following=change)
    add_to_counts(kept.counts, operation.following, followers=change)


def add_to_counts(counts: FollowCounts, account: str, followers: int = 0, following: int = 0) -> None:
    """Change what is counted for an account."""
    row = counts.by_account.get(account)
    if row is None:
        counts.insert(FollowCount(account=account, follower_count=followers, following_count=following))
    elif followers or following:
        counts.modify(row, follower_count=row.follower_count + followers, following_count=row.following_count + following)


def apply_reblog(state: State, operation: Reblog) -> None:
    """Put a post into an account's blog and into its followers' feeds."""
    kept = plugin(state)
    comment = comment_of(state, operation.author, operation.permlink)
    require(not comment.parent_author, "Only top level posts can be reblogged", condition="c.parent_author.size() == 0")
    require(
        kept.blogs.find(operation.account, comment.id) is None,
        "Account has already reblogged this post",
        condition="blog_itr == blog_comment_idx.end()",
    )

    now = state.head_time
    kept.blogs.add(BlogEntry(account=operation.account, comment=comment.id, reblogged_on=now))
    guest = kept.authors.by_pair.get(operation.account, comment.author)
    if guest is None:
        kept.authors.insert(BlogAuthor(blogger=operation.account, guest=comment.author, count=1))
    else:
        kept.authors.modify(guest, count=guest.count + 1)
    reached = []
    for follower in blog_followers(kept, operation.account):
        kept.feeds.prune(follower)
        entry = kept.feeds.find(follower, comment.id)
        if entry is not None:
            kept.feeds.entries.modify(entry, reblogged_by=(*entry.reblogged_by, operation.account))
            continue
        by = operation.account
        kept.feeds.add(FeedEntry(account=follower, comment=comment.id, reblogged_by=(by,), first_reblogged_by=by, first_reblogged_on=now))
        reached.append(follower)
    note_audience(kept, comment.id, reached)


# ------------------------------------------------------------------ posts


def spread(state: State, operation: Comment) -> None:
    """A new post comes into its author's blog and into the feeds of the author's followers."""
    if operation.parent_author:
        return
    comment = find_comment(state, operation.author, operation.permlink)
    # An edit in the block of the post counts as well: it finds everything done.
    if comment is None or comment.created != state.head_time:
        return
    kept = plugin(state)
    reached = []
    for follower in blog_followers(kept, operation.author):
        if kept.feeds.find(follower, comment.id) is None:
            kept.feeds.prune(follower)
            kept.feeds.add(FeedEntry(account=follower, comment=comment.id))
            reached.append(follower)
    note_audience(kept, comment.id, reached)
    if kept.blogs.find(operation.author, comment.id) is None:
        kept.blogs.prune(operation.author)
        kept.blogs.add(BlogEntry(account=operation.author, comment=comment.id))


def blog_followers(kept: FollowPlugin, account: str) -> list[str]:
    """Who follows an account's blog, by name."""
    return [row.follower for row in kept.follows.by_following.equal(account) if row.what & BLOG]


def note_audience(kept: FollowPlugin, comment: int, reached: list[str]) -> None:
    """Remember into which feeds a post has come."""
    if not reached:
        return
    row = kept.audiences.by_comment.get(comment)
    if row is None:
        kept.audiences.insert(Audience(comment=comment, accounts=(tuple(reached),)))
    else:
        kept.audiences.modify(row, accounts=(*row.accounts, tuple(reached)))


def forget_deleted(state: State, operation: DeleteComment) -> None:
    """A post that is about to be deleted leaves all blogs and feeds."""
    comment = find_comment(state, operation.author, operation.permlink)
    if comment is None or comment.parent_author:
        return
    kept = plugin(state)
    for entry in list(kept.blogs.entries.by_comment.equal(comment.id)):
        kept.blogs.remove(entry)
    forget_audience(kept, comment)


def forget_audience(kept: FollowPlugin, comment: CommentRow) -> None:
    """Take a post out of all feeds."""
    row = kept.audiences.by_comment.get(comment.id)
    if row is None:
        return
    for accounts in row.accounts:
        for account in accounts:
            entry = kept.feeds.find(account, comment.id)
            if entry is not None:
                kept.feeds.remove(entry)
    kept.audiences.remove(row)
