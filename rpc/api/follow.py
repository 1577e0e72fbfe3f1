"""Who follows whom, blogs and feeds. Source: rpc-api.md §3.2.7, §3.9, §5.1, §6.4, §6.6."""

import enum
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, TypedDict

from rpc.api.reputation import Reputations, ReputationsLimit, get_account_reputations
from rpc.records.comments import comment_view
from rpc.records.follow import AuthorCount, BlogEntry, BlogItem, BlogView, FeedEntry, FeedItem, FeedView, Follow, FollowCount
from rpc.service.arguments import AccountName, Limit, Text, Title, UInt32
from rpc.service.method import method
from rpc.service.show import Json, Of, Show
from state.effects.comments import comment_of
from state.plugins.follow.lists import blog, blog_authors, feed, follow_count, followed, followers, reblogged_by
from state.plugins.follow.plugin import FOLLOW
from state.plugins.follow.rows import BLOG, IGNORE
from state.tables import State

OFF = ("_follow_api", "follow_api_plugin not enabled.")
NEWEST = -1


class FollowType(enum.Enum):
    """What somebody may be to somebody; `undefined` is anything, and what has been once."""

    undefined = 0
    blog = BLOG
    ignore = IGNORE


Relation = Annotated[FollowType, Title("coin::plugins::follow::follow_type")]
FollowsLimit = Annotated[UInt32, Limit(1000)]
BlogLimit = Annotated[UInt32, Limit(500, "Cannot retrieve more than 500 blog entries at a time.")]
FeedLimit = Annotated[UInt32, Limit(500, "Cannot retrieve more than 500 feed entries at a time.")]

FollowJson = Annotated[Json, Of(Follow)]
FollowCountJson = Annotated[Json, Of(FollowCount)]
AuthorCountJson = Annotated[Json, Of(AuthorCount)]
BlogItemJson = Annotated[Json, Of(BlogItem)]
BlogEntryJson = Annotated[Json, Of(BlogEntry)]
FeedItemJson = Annotated[Json, Of(FeedItem)]
FeedEntryJson = Annotated[Json, Of(FeedEntry)]


class Followers(TypedDict):
    """Relations to an account."""

    followers: list[FollowJson]


class Following(TypedDict):
    """Relations of an account."""

    following: list[FollowJson]


class BlogAuthors(TypedDict):
    """Guests under their name."""

    blog_authors: list[AuthorCountJson]


class Rebloggers(TypedDict):
    """Names of accounts."""

    accounts: list[AccountName]


class Blog(TypedDict):
    """A blog, with its posts."""

    blog: list[BlogItemJson]


class BlogEntries(TypedDict):
    """A blog."""

    blog: list[BlogEntryJson]


class Feed(TypedDict):
    """A feed, with its posts."""

    feed: list[FeedItemJson]


class FeedEntries(TypedDict):
    """A feed."""

    feed: list[FeedEntryJson]


# ------------------------------------------------------------------ who follows whom


@method("follow_api.get_followers", plugin=FOLLOW)
def get_followers(
    state: State,
    show: Show,
    /,
    account: AccountName,
    start: AccountName = "",
    type_: Relation = FollowType.undefined,
    limit: FollowsLimit = 1000,
) -> Followers:
    """Who follows an account, or ignores it, by name from `start` on."""
    return {"followers": find_followers(state, show, account, start, type_, limit)}


@method("condenser_api.get_followers", plugin=FOLLOW, not_enabled=OFF)
def find_followers(
    state: State, show: Show, /, account: AccountName, start: AccountName, type_: Relation, limit: FollowsLimit
) -> list[FollowJson]:
    """Who follows an account, or ignores it, by name from `start` on."""
    return show.each(Follow, islice(followers(state, account, start, type_.value), limit))


@method("follow_api.get_following", plugin=FOLLOW)
def get_following(
    state: State,
    show: Show,
    /,
    account: AccountName,
    start: AccountName = "",
    type_: Relation = FollowType.undefined,
    limit: FollowsLimit = 1000,
) -> Following:
    """Whom an account follows, or ignores, by name from `start` on."""
    return {"following": find_following(state, show, account, start, type_, limit)}


@method("condenser_api.get_following", plugin=FOLLOW, not_enabled=OFF)
def find_following(
    state: State, show: Show, /, account: AccountName, start: AccountName, type_: Relation, limit: FollowsLimit
) -> list[FollowJson]:
    """Whom an account follows, or ignores, by name from `start` on."""
    return show.each(Follow, islice(followed(state, account, start, type_.value), limit))


@method("follow_api.get_follow_count", plugin=FOLLOW)
@method("condenser_api.get_follow_count", plugin=FOLLOW, not_enabled=OFF)
def get_follow_count(state: State, show: Show, /, account: AccountName) -> FollowCountJson:
    """How many follow an account's blog, and how many blogs it follows; none for an unknown account."""
    count: Json = show(FollowCount, FollowCount(account, *follow_count(state, account)))
    return count


@method("follow_api.get_account_reputations", plugin=FOLLOW)
def list_account_reputations(
    state: State, show: Show, /, account_lower_bound: AccountName = "", limit: ReputationsLimit = 1000
) -> Reputations:
    """All accounts by name from a name on with their reputations, 0 for those that have none."""
    return get_account_reputations(state, show, account_lower_bound, limit)


# ------------------------------------------------------------------ blogs


@method("follow_api.get_blog", plugin=FOLLOW)
def get_blog(state: State, show: Show, /, account: AccountName, start_entry_id: UInt32 = 0, limit: BlogLimit = 500) -> Blog:
    """What an account has posted and reblogged, newest first, from a number on; 0 stands for the newest."""
    return {"blog": find_blog(state, show, account, start_entry_id, limit)}


@method("condenser_api.get_blog", plugin=FOLLOW, not_enabled=OFF)
def find_blog(state: State, show: Show, /, account: AccountName, start_entry_id: UInt32, limit: BlogLimit = 500) -> list[BlogItemJson]:
    """What an account has posted and reblogged, newest first, from a number on; 0 stands for the newest."""
    return show.each(BlogItem, blog_views(state, account, start_entry_id, limit))


@method("follow_api.get_blog_entries", plugin=FOLLOW)
def get_blog_entries(state: State, show: Show, /, account: AccountName, start_entry_id: UInt32 = 0, limit: BlogLimit = 500) -> BlogEntries:
    """The names of what an account has posted and reblogged, newest first, from a number on; 0 stands for the newest."""
    return {"blog": find_blog_entries(state, show, account, start_entry_id, limit)}


@method("condenser_api.get_blog_entries", plugin=FOLLOW, not_enabled=OFF)
def find_blog_entries(
    state: State, show: Show, /, account: AccountName, start_entry_id: UInt32, limit: BlogLimit = 500
) -> list[BlogEntryJson]:
    """The names of what an account has posted and reblogged, newest first, from a number on; 0 stands for the newest."""
    return show.each(BlogEntry, blog_views(state, account, start_entry_id, limit))


def blog_views(state: State, account: str, start: int, limit: int) -> Iterator[BlogView]:
    """The entries of a blog from a number on, with their posts; there is no way to ask for number 0."""
    for entry in islice(blog(state, account, start or NEWEST), limit):
        yield BlogView(entry, comment_view(state, state.comments.find(entry.comment)))


@method("follow_api.get_blog_authors", plugin=FOLLOW)
def get_blog_authors(state: State, show: Show, /, blog_account: AccountName) -> BlogAuthors:
    """Whose posts an account has reblogged and how many of each, by name, at most 2,000."""
    return {"blog_authors": find_blog_authors(state, show, blog_account)}


@method("condenser_api.get_blog_authors", plugin=FOLLOW, not_enabled=OFF)
def find_blog_authors(state: State, show: Show, /, account: AccountName) -> list[AuthorCountJson]:
    """Whose posts an account has reblogged and how many of each, by name, at most 2,000."""
    return show.each(AuthorCount, blog_authors(state, account))


@method("follow_api.get_reblogged_by", plugin=FOLLOW)
def get_reblogged_by(state: State, /, author: AccountName, permlink: Text) -> Rebloggers:
    """In whose blogs a post is, its author's too, by name, at most 2,000; an unknown post is refused."""
    return {"accounts": find_rebloggers(state, author, permlink)}


@method("condenser_api.get_reblogged_by", plugin=FOLLOW, not_enabled=OFF)
def find_rebloggers(state: State, /, author: AccountName, permlink: Text) -> list[AccountName]:
    """In whose blogs a post is, its author's too, by name, at most 2,000; an unknown post is refused."""
    return reblogged_by(state, comment_of(state, author, permlink).id)


# ------------------------------------------------------------------ feeds


@method("follow_api.get_feed", plugin=FOLLOW)
def get_feed(state: State, show: Show, /, account: AccountName, start_entry_id: UInt32 = 0, limit: FeedLimit = 500) -> Feed:
    """What those have posted and reblogged whom an account follows, newest first, from a number on; 0 stands for the newest."""
    return {"feed": find_feed(state, show, account, start_entry_id, limit)}


@method("condenser_api.get_feed", plugin=FOLLOW, not_enabled=OFF)
def find_feed(state: State, show: Show, /, account: AccountName, start_entry_id: UInt32, limit: FeedLimit = 500) -> list[FeedItemJson]:
    """What those have posted and reblogged whom an account follows, newest first, from a number on; 0 stands for the newest."""
    return show.each(FeedItem, feed_views(state, account, start_entry_id, limit))


@method("follow_api.get_feed_entries", plugin=FOLLOW)
def get_feed_entries(state: State, show: Show, /, account: AccountName, start_entry_id: UInt32 = 0, limit: FeedLimit = 500) -> FeedEntries:
    """The names of what is in an account's feed, newest first, from a number on; 0 stands for the newest."""
    return {"feed": find_feed_entries(state, show, account, start_entry_id, limit)}


@method("condenser_api.get_feed_entries", plugin=FOLLOW, not_enabled=OFF)
def find_feed_entries(
    state: State, show: Show, /, account: AccountName, start_entry_id: UInt32, limit: FeedLimit = 500
) -> list[FeedEntryJson]:
    """The names of what is in an account's feed, newest first, from a number on; 0 stands for the newest."""
    return show.each(FeedEntry, feed_views(state, account, start_entry_id, limit))


def feed_views(state: State, account: str, start: int, limit: int) -> Iterator[FeedView]:
    """The entries of a feed from a number on, with their posts; there is no way to ask for number 0."""
    for entry in islice(feed(state, account, start or NEWEST), limit):
        yield FeedView(entry, comment_view(state, state.comments.find(entry.comment)))
