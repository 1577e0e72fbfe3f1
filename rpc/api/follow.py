"""Followers, blogs and feeds. Source: rpc-api.md §3.2.7, §3.9, §5.1, §6.4, §6.6."""

import enum
from collections.abc import Iterator
from itertools import islice
from typing import Annotated

from rpc.declare.arguments import AccountName, EnumTitle, MaxValue, Permlink, UInt32
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder
from rpc.records.comments import comment_view
from rpc.records.follow import (
    AuthorCountRecord,
    BlogEntryRecord,
    BlogItemRecord,
    BlogView,
    FeedEntryRecord,
    FeedItemRecord,
    FeedView,
    FollowCountRecord,
    FollowRecord,
)
from state.effects.comments import comment_of
from state.plugins.follow.lists import blog_authors, follow_count, followed, followers, reblogged_by
from state.plugins.follow.plugin import FOLLOW
from state.plugins.follow.rows import BLOG, IGNORE
from state.tables import State

OFF = ("_follow_api", "follow_api_plugin not enabled.")
NEWEST = -1


class FollowType(enum.Enum):
    """Relation of an account to another account. `undefined` matches any relation, including one that has ended."""

    undefined = 0
    blog = BLOG
    ignore = IGNORE


Relation = Annotated[FollowType, EnumTitle("coin::plugins::follow::follow_type")]
FollowsLimit = Annotated[UInt32, MaxValue(1000)]
PageNumber = Annotated[UInt32, MaxValue(10_000, condition="args.page <= 10000")]
PageSize = Annotated[UInt32, MaxValue(100, condition="args.page_size <= 100")]
BlogLimit = Annotated[UInt32, MaxValue(500, "Cannot retrieve more than 500 blog entries at a time.")]
FeedLimit = Annotated[UInt32, MaxValue(500, "Cannot retrieve more than 500 feed entries at a time.")]


@method("follow_api.get_followers", key="followers", plugin=FOLLOW, record=FollowRecord)
@method("condenser_api.get_followers", plugin=FOLLOW, not_enabled=OFF, required=4, record=FollowRecord)
def get_followers(
    state: State,
    show: RecordEncoder,
    /,
    account: AccountName,
    start: AccountName = "",
    type_: Relation = FollowType.undefined,
    limit: FollowsLimit = 1000,
) -> list[Json]:
    """List the accounts that follow or ignore an account, ordered by name, from `start` on."""
    return show.each(FollowRecord, islice(followers(state, account, start, type_.value), limit))


@method("follow_api.get_following", key="following", plugin=FOLLOW, record=FollowRecord)
@method("condenser_api.get_following", plugin=FOLLOW, not_enabled=OFF, required=4, record=FollowRecord)
def get_following(
    state: State,
    show: RecordEncoder,
    /,
    account: AccountName,
    start: AccountName = "",
    type_: Relation = FollowType.undefined,
    limit: FollowsLimit = 1000,
) -> list[Json]:
    """List the accounts that an account follows or ignores, ordered by name, from `start` on."""
    return show.each(FollowRecord, islice(followed(state, account, start, type_.value), limit))


@method("condenser_api.get_followers_by_page", plugin=FOLLOW, not_enabled=OFF, required=2, record=FollowRecord)
def get_followers_by_page(
    state: State,
    show: RecordEncoder,
    /,
    account: AccountName,
    page: PageNumber,
    page_size: PageSize = 100,
    type_: Relation = FollowType.blog,
) -> list[Json]:
    """List a page of the accounts that follow or ignore an account, ordered by name. The first page has the number 0."""
    first = page * page_size
    return show.each(FollowRecord, islice(followers(state, account, "", type_.value), first, first + page_size))


@method("condenser_api.get_following_by_page", plugin=FOLLOW, not_enabled=OFF, required=2, record=FollowRecord)
def get_following_by_page(
    state: State,
    show: RecordEncoder,
    /,
    account: AccountName,
    page: PageNumber,
    page_size: PageSize = 100,
    type_: Relation = FollowType.blog,
) -> list[Json]:
    """List a page of the accounts that an account follows or ignores, ordered by name. The first page has the number 0."""
    first = page * page_size
    return show.each(FollowRecord, islice(followed(state, account, "", type_.value), first, first + page_size))


@method("follow_api.get_follow_count", plugin=FOLLOW, record=FollowCountRecord)
@method("condenser_api.get_follow_count", plugin=FOLLOW, not_enabled=OFF, record=FollowCountRecord)
def get_follow_count(state: State, show: RecordEncoder, /, account: AccountName) -> Json:
    """Return the number of followers of an account, and the number of accounts that it follows. Both are 0 for an unknown account."""
    return show(FollowCountRecord, FollowCountRecord(account, *follow_count(state, account)))


@method("follow_api.get_blog", key="blog", plugin=FOLLOW, record=BlogItemRecord)
@method("condenser_api.get_blog", plugin=FOLLOW, not_enabled=OFF, required=2, record=BlogItemRecord)
def get_blog(state: State, show: RecordEncoder, /, account: AccountName, start_entry_id: UInt32 = 0, limit: BlogLimit = 500) -> list[Json]:
    """List an account's own and reblogged posts, newest first. The list starts at blog entry number `start_entry_id` (0: the newest)."""
    return show.each(BlogItemRecord, blog_views(state, account, start_entry_id, limit))


@method("follow_api.get_blog_entries", key="blog", plugin=FOLLOW, record=BlogEntryRecord)
@method("condenser_api.get_blog_entries", plugin=FOLLOW, not_enabled=OFF, required=2, record=BlogEntryRecord)
def get_blog_entries(
    state: State, show: RecordEncoder, /, account: AccountName, start_entry_id: UInt32 = 0, limit: BlogLimit = 500
) -> list[Json]:
    """List the entries of an account's blog, newest first. Each entry has author and permlink instead of the post itself.

    The list starts at the entry number `start_entry_id` (0: the newest).
    """
    return show.each(BlogEntryRecord, blog_views(state, account, start_entry_id, limit))


def blog_views(state: State, account: str, start: int, limit: int) -> Iterator[BlogView]:
    """Yield the entries of a blog with their posts, from entry number `start` on. Since 0 means the newest entry, entry 0 can't be
    requested.
    """
    for entry in islice(FOLLOW.of(state).blogs.newest_first(account, start or NEWEST), limit):
        yield BlogView(entry, comment_view(state, state.comments.find(entry.comment)))


@method("follow_api.get_blog_authors", key="blog_authors", plugin=FOLLOW, record=AuthorCountRecord)
@method("condenser_api.get_blog_authors", plugin=FOLLOW, not_enabled=OFF, renamed="account", record=AuthorCountRecord)
def get_blog_authors(state: State, show: RecordEncoder, /, blog_account: AccountName) -> list[Json]:
    """List at most 2,000 authors whose posts an account has reblogged, with the number of these posts. The authors are ordered by name."""
    return show.each(AuthorCountRecord, blog_authors(state, blog_account))


@method("follow_api.get_reblogged_by", key="accounts", plugin=FOLLOW)
@method("condenser_api.get_reblogged_by", plugin=FOLLOW, not_enabled=OFF)
def get_reblogged_by(state: State, /, author: AccountName, permlink: Permlink) -> list[AccountName]:
    """List at most 2,000 accounts whose blogs contain a post, ordered by name. The author is one of them. An unknown post is refused."""
    return reblogged_by(state, comment_of(state, author, permlink).id)


@method("follow_api.get_feed", key="feed", plugin=FOLLOW, record=FeedItemRecord)
@method("condenser_api.get_feed", plugin=FOLLOW, not_enabled=OFF, required=2, record=FeedItemRecord)
def get_feed(state: State, show: RecordEncoder, /, account: AccountName, start_entry_id: UInt32 = 0, limit: FeedLimit = 500) -> list[Json]:
    """List the posts in an account's feed, newest first. The list starts at the feed entry number `start_entry_id` (0: the newest).

    A feed contains the posts and reblogs of the accounts that the account follows.
    """
    return show.each(FeedItemRecord, feed_views(state, account, start_entry_id, limit))


@method("follow_api.get_feed_entries", key="feed", plugin=FOLLOW, record=FeedEntryRecord)
@method("condenser_api.get_feed_entries", plugin=FOLLOW, not_enabled=OFF, required=2, record=FeedEntryRecord)
def get_feed_entries(
    state: State, show: RecordEncoder, /, account: AccountName, start_entry_id: UInt32 = 0, limit: FeedLimit = 500
) -> list[Json]:
    """List the entries of an account's feed, newest first. Each entry has author and permlink instead of the post itself.

    The list starts at the entry number `start_entry_id` (0: the newest).
    """
    return show.each(FeedEntryRecord, feed_views(state, account, start_entry_id, limit))


def feed_views(state: State, account: str, start: int, limit: int) -> Iterator[FeedView]:
    """Yield the entries of a feed with their posts, from entry number `start` on. Since 0 means the newest entry, entry 0 can't be
    requested.
    """
    for entry in islice(FOLLOW.of(state).feeds.newest_first(account, start or NEWEST), limit):
        yield FeedView(entry, comment_view(state, state.comments.find(entry.comment)))
