"""Who follows whom, the blogs of accounts with what they reblog, and the feeds of their followers.
Source: block-processing.md §7.4; rpc-api.md §6.4.
"""

from collections.abc import Callable, Iterator

from state.effects.comments import comment_of, find_comment
from state.operations.content import Comment, DeleteComment
from state.operations.custom import CustomBinary, CustomJson
from state.plugins import reputation
from state.plugins.follow.operations import FollowOperation, Inner, read_bare, read_operations
from state.plugins.follow.operations import ReblogOperation as Reblog
from state.plugins.follow.posts import BlogEntry as BlogEntry
from state.plugins.follow.posts import Blogs, Feeds
from state.plugins.follow.posts import FeedEntry as FeedEntry
from state.protocol.errors import ChainError, require
from state.store import Lists, Ordered, Row, Table, Unique
from state.tables import State

NAME = "follow"
BLOG, IGNORE = 2, 4
WORDS = {"blog": BLOG, "ignore": IGNORE}
REBLOGGERS_MAX = 2000
GUESTS_MAX = 2000


class Follow(Row):
    """What an account is to another, as a mask of BLOG and IGNORE; it stays with 0 when it is nothing any more."""

    follower: str = ""
    following: str = ""
    what: int = 0


class Follows(Table[Follow]):
    """All relations that there ever were."""

    by_pair = Unique("follower", "following")
    by_following = Ordered("following", "follower", lazy=True)
    by_follower = Ordered("follower", "following", lazy=True)


class FollowCount(Row):
    """How many blogs an account follows, and how many follow it."""

    account: str = ""
    follower_count: int = 0
    following_count: int = 0


class FollowCounts(Table[FollowCount]):
    """Counts of those who ever followed or were followed."""

    by_account = Unique("account")


class BlogAuthor(Row):
    """How many posts of a guest an account has reblogged."""

    blogger: str = ""
    guest: str = ""
    count: int = 0


class BlogAuthors(Table[BlogAuthor]):
    """Guests of blogs."""

    by_pair = Ordered("blogger", "guest", unique=True)


class FollowPlugin:
    """What the plugin keeps."""

    def __init__(self, state: State) -> None:
        journal = state.journal
        self.follows = Follows(journal)
        self.counts = FollowCounts(journal)
        # The ids of the relations to an account; a relation stays for ever.
        self.relations: Lists[str, int] = Lists(journal)
        self.blogs = Blogs(journal)
        self.feeds = Feeds(journal, state.comments)
        self.authors = BlogAuthors(journal)
        # One table for both plugins: that of `reputation`, which is initialised before, if it is enabled.
        shared: reputation.Reputations | None = state.plugins.get(reputation.NAME)
        self.reputations = reputation.install(state) if shared is None else shared
        # Who is told of relations that may have changed: what they were, and what they are.
        self.on_change: list[Callable[[State, FollowOperation, int, int], None]] = []


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
    rows = plugin(state).blogs.of_comment(comment)
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
        row = kept.follows.insert(Follow(follower=operation.follower, following=operation.following, what=what))
        kept.relations.append(operation.following, row.id)
    else:
        kept.follows.modify(row, what=what)
    change = bool(what & BLOG) - bool(before & BLOG)
    add_to_counts(kept.counts, operation.follower, following=change)
    add_to_counts(kept.counts, operation.following, followers=change)
    for told in kept.on_change:
        told(state, operation, before, what)


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
    kept.blogs.add(operation.account, comment.id, now)
    guest = kept.authors.by_pair.get(operation.account, comment.author)
    if guest is None:
        kept.authors.insert(BlogAuthor(blogger=operation.account, guest=comment.author, count=1))
    else:
        kept.authors.modify(guest, count=guest.count + 1)
    for follower in blog_followers(kept, operation.account):
        kept.feeds.reblog(follower, comment.id, operation.account, now)


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
    known = kept.blogs.find(operation.author, comment.id) is not None
    for follower in blog_followers(kept, operation.author):
        if not known or not kept.feeds.holds(follower, comment.id):
            kept.feeds.add(follower, comment.id)
    if not known:
        kept.blogs.prune(operation.author)
        kept.blogs.add(operation.author, comment.id)


def blog_followers(kept: FollowPlugin, account: str) -> list[str]:
    """Who follows an account's blog, in the order in which they came."""
    rows = map(kept.follows.find, kept.relations.get(account))
    return [row.follower for row in rows if row.what & BLOG]


def forget_deleted(state: State, operation: DeleteComment) -> None:
    """A post that is about to be deleted leaves all blogs and feeds."""
    comment = find_comment(state, operation.author, operation.permlink)
    if comment is None or comment.parent_author:
        return
    kept = plugin(state)
    for entry in list(kept.blogs.of_comment(comment.id)):
        kept.blogs.remove(entry)
    kept.feeds.forget(comment.id)
