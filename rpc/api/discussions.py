"""Lists of posts and replies: by tag, in blogs and feeds, by author and by parent. Source: rpc-api.md §3.2.6, §5.1, §5.2, §6.5."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice, takewhile
from typing import Annotated, TypeVar

from msgspec import Struct

from rpc.api.content import OFF, DiscussionJson
from rpc.declare.arguments import AccountName, MaxValue, Text, Timestamp, UInt32
from rpc.declare.method import method
from rpc.declare.record_encoder import RecordEncoder
from rpc.records.discussions import (
    NO_COIN,
    DiscussionRecord,
    DiscussionView,
    PayoutContext,
    discussion_view,
    listed_view,
    shared,
    with_votes,
)
from state.effects.comments import comment_of, find_comment
from state.plugins.follow.feeds import BlogEntry, FeedEntry
from state.plugins.follow.plugin import FOLLOW
from state.plugins.tags.lists import SCANNED_PER_FOUND, TagEntry, discussions, tags_of
from state.plugins.tags.metadata import SMALL_LETTERS, stored
from state.plugins.tags.plugin import TAGS
from state.protocol.constants import TIME_MAX
from state.protocol.errors import ChainError, existing, require
from state.protocol.values import text
from state.protocol.values.asset import SBD, Asset
from state.protocol.work import TooMuchWork
from state.tables import State
from state.tables.content import Comment

NAME_BYTES_MAX = 16
DISCUSSIONS_MAX = 100
NEWEST = -1
OVERDUE_SECONDS = 3600
"""How long overdue payouts stay listed."""

QueryLimit = Annotated[UInt32, MaxValue(DISCUSSIONS_MAX, condition="limit <= 100")]
ArgumentLimit = Annotated[UInt32, MaxValue(DISCUSSIONS_MAX)]


class DiscussionQuery(Struct):
    """Query for a list of discussions.

    * `tag`: list only discussions with this tag ("": all). For blogs and feeds, it is the name of the account.
    * `filter_tags`: must not contain `tag`. It has no other effect.
    * `select_authors`, `select_tags`: list only posts by one of these authors and with one of these tags. For blogs only.
    * `truncate_body`: the maximum size of bodies, in bytes.
    * `start_author`, `start_permlink`: the first discussion of the list.
    * `parent_author`, `parent_permlink`: list the replies to this comment instead of posts.
    """

    tag: Text = ""
    limit: QueryLimit = 0
    filter_tags: list[Text] = []
    select_authors: list[Text] = []
    select_tags: list[Text] = []
    truncate_body: UInt32 = 0
    start_author: Text | None = None
    start_permlink: Text | None = None
    parent_author: Text | None = None
    parent_permlink: Text | None = None


Thing = TypeVar("Thing")
Find = Callable[[PayoutContext, DiscussionQuery], list[DiscussionView]]


def declare_discussions(method_name: str, about: str, find: Find) -> None:
    """Declare a method that lists discussions, in condenser_api and in tags_api.

    In condenser_api, the query is one object. In tags_api, each field of the query is a separate argument.
    """

    def by_query(state: State, show: RecordEncoder, /, query: DiscussionQuery) -> list[DiscussionJson]:
        return show.each(DiscussionRecord, find(shared(state), query))

    def by_members(
        state: State,
        show: RecordEncoder,
        /,
        tag: Text = "",
        limit: QueryLimit = 0,
        filter_tags: list[Text] = [],  # noqa: B006 - it is never changed
        select_authors: list[Text] = [],  # noqa: B006
        select_tags: list[Text] = [],  # noqa: B006
        truncate_body: UInt32 = 0,
        start_author: Text | None = None,
        start_permlink: Text | None = None,
        parent_author: Text | None = None,
        parent_permlink: Text | None = None,
    ) -> list[DiscussionJson]:
        selected = (filter_tags, select_authors, select_tags)
        query = DiscussionQuery(tag, limit, *selected, truncate_body, start_author, start_permlink, parent_author, parent_permlink)
        return by_query(state, show, query)

    by_query.__doc__ = by_members.__doc__ = about
    method(f"condenser_api.{method_name}", plugin=TAGS, not_enabled=OFF)(by_query)
    method(f"tags_api.{method_name}", key="discussions", plugin=TAGS)(by_members)


# ------------------------------------------------------------------ under a tag


def in_order(order: str) -> Find:
    """Return a function that lists discussions with a tag, in one of the sort orders of the plugin tags."""

    def find(known: PayoutContext, query: DiscussionQuery) -> list[DiscussionView]:
        require_proper(query)
        state, parent, start = known.state, None, None
        if not order.endswith("_payout"):
            parent = given_comment(state, query.parent_author, query.parent_permlink)
        start = given_comment(state, query.start_author, query.start_permlink)
        entries = discussions(
            state,
            order,
            as_tag(query.tag),
            query.limit,
            parent=0 if parent is None else parent.id,
            start=None if start is None else start.id,
            since=max(0, state.head_time - OVERDUE_SECONDS),
        )

        def promoted(entry: TagEntry) -> DiscussionView:
            view = listed_view(known, state.comments.find(entry.comment), query.truncate_body)
            view.promoted = Asset(entry.promoted, SBD)
            return view

        return computed(promoted, entries, query.limit)

    return find


def computed(make: Callable[[Thing], DiscussionView], things: Iterable[Thing], limit: int) -> list[DiscussionView]:
    """Convert entries or comments (`things`) to views with `make`, until there are `limit` views.

    As in the reference, things whose view can't be computed are skipped, and at most SCANNED_PER_FOUND * `limit` things are read.
    """
    views: list[DiscussionView] = []
    for thing in islice(things, SCANNED_PER_FOUND * limit):
        try:
            views.append(make(thing))
        except TooMuchWork:
            raise
        except ChainError:
            continue
        if len(views) == limit:
            break
    return views


declare_discussions(
    "get_discussions_by_trending", "List posts with votes under a tag, by trending score, highest first.", in_order("trending")
)
declare_discussions("get_discussions_by_hot", "List posts with votes under a tag, by hot score, highest first.", in_order("hot"))
declare_discussions("get_discussions_by_created", "List posts under a tag, newest first.", in_order("created"))
declare_discussions("get_discussions_by_active", "List posts under a tag, those with the newest replies first.", in_order("active"))
declare_discussions("get_discussions_by_votes", "List posts under a tag, most votes first.", in_order("votes"))
declare_discussions("get_discussions_by_children", "List posts under a tag, most replies first.", in_order("children"))
declare_discussions("get_discussions_by_promoted", "List promoted posts under a tag, highest promotion first.", in_order("promoted"))
declare_discussions(
    "get_discussions_by_cashout", "List posts under a tag, ordered by the time of their payout, soonest first.", in_order("cashout")
)
declare_discussions("get_post_discussions_by_payout", "List posts under a tag, highest pending payout first.", in_order("post_payout"))
declare_discussions(
    "get_comment_discussions_by_payout", "List replies under a tag, highest pending payout first.", in_order("comment_payout")
)


# ------------------------------------------------------------------ of an account


def in_blog(known: PayoutContext, query: DiscussionQuery) -> list[DiscussionView]:
    """List the posts in an account's blog."""
    require_proper(query)
    require_follow(known.state, "blog")
    state, account, start = known.state, named_account(known.state, query.tag), NEWEST
    if query.start_author or query.start_permlink:
        found = FOLLOW.of(state).blogs.find(account, start_comment(state, query).id)
        start = existing(found, "Comment is not in account's blog", condition="start_c != c_idx.end()").number

    def reblogged(entry: BlogEntry) -> DiscussionView:
        view = listed_view(known, state.comments.find(entry.comment), query.truncate_body)
        view.first_reblogged_on = entry.reblogged_on or None
        return view

    entries = (
        entry
        for entry in FOLLOW.of(state).blogs.newest_first(account, start)
        if is_selected(state, state.comments.find(entry.comment), query)
    )
    return computed(reblogged, entries, query.limit)


def in_feed(known: PayoutContext, query: DiscussionQuery) -> list[DiscussionView]:
    """List the posts in an account's feed, with untruncated bodies."""
    require_proper(query)
    require_follow(known.state, "feed")
    state, account, start = known.state, named_account(known.state, query.tag), NEWEST
    if query.start_author or query.start_permlink:
        found = FOLLOW.of(state).feeds.find(account, start_comment(state, query).id)
        start = existing(found, "Comment is not in account's feed", condition="start_c != c_idx.end()").number
    entries = FOLLOW.of(state).feeds.newest_first(account, start)
    return computed(lambda entry: set_rebloggers(listed_view(known, state.comments.find(entry.comment)), entry), entries, query.limit)


def set_rebloggers(view: DiscussionView, entry: FeedEntry) -> DiscussionView:
    """Set the view's list of accounts that reblogged the post. If the post is in the feed because of its author, the list stays empty."""
    if entry.first_reblogged_by:
        view.reblogged_by = entry.reblogged_by
        view.first_reblogged_by, view.first_reblogged_on = entry.first_reblogged_by, entry.first_reblogged_on
    return view


def of_author(known: PayoutContext, query: DiscussionQuery) -> list[DiscussionView]:
    """List an author's replies, with untruncated bodies."""
    require_proper(query)
    require(query.start_author is not None, "Must get comments for a specific author", condition="args.start_author")
    state, author = known.state, text.cut(query.start_author or "", NAME_BYTES_MAX)
    start = None
    if query.start_permlink:
        start = find_comment(state, author, query.start_permlink)
        require(start is not None, "Comment is not in account's comments", condition="start_c != c_idx.end()")
    rows = (row for row in latest_of(state, author, start) if row.parent_author)
    return computed(partial(listed_view, known), rows, query.limit)


declare_discussions(
    "get_discussions_by_blog", "List the posts in an account's blog (its own posts and those it reblogged), newest first.", in_blog
)
declare_discussions(
    "get_discussions_by_feed",
    "List the posts in an account's feed (written or reblogged by accounts that it follows), newest first.",
    in_feed,
)
declare_discussions("get_discussions_by_comments", "List an author's replies, last changed first.", of_author)


@method("tags_api.get_discussions_by_author_before_date", key="discussions", plugin=TAGS)
@method("condenser_api.get_discussions_by_author_before_date", plugin=TAGS, not_enabled=OFF, required=4)
def list_discussions_by_author_before_date(
    state: State, show: RecordEncoder, /, author: AccountName, start_permlink: Text, before_date: Timestamp, limit: ArgumentLimit = 100
) -> list[DiscussionJson]:
    """List an author's posts, last changed first. The list starts at `start_permlink` if that post is older than `before_date`."""
    start = comment_of(state, author, start_permlink) if start_permlink else None
    if start is not None and start.created >= (before_date or TIME_MAX):
        start = None
    rows = islice((row for row in latest_of(state, author, start) if not row.parent_author), limit)
    known = shared(state)
    return show.each(DiscussionRecord, [with_votes(known, discussion_view(known, row)) for row in rows])


@method("tags_api.get_replies_by_last_update", key="discussions", plugin=TAGS)
def list_replies_by_last_update(
    state: State, show: RecordEncoder, /, start_parent_author: AccountName, start_permlink: Text, limit: ArgumentLimit = 100
) -> list[DiscussionJson]:
    """List the replies to an author, last changed first. If `start_permlink` is given, the two arguments name the list's first reply
    instead.
    """
    known = shared(state)
    rows = islice(latest_replies(state, start_parent_author, start_permlink), limit)
    return show.each(DiscussionRecord, [with_votes(known, discussion_view(known, row)) for row in rows])


@method("condenser_api.get_replies_by_last_update")
def get_replies_by_last_update(
    state: State, show: RecordEncoder, /, start_parent_author: AccountName, start_permlink: Text, limit: QueryLimit
) -> list[DiscussionJson]:
    """List the replies to an author, last changed first. If `start_permlink` is given, the two arguments name the list's first reply
    instead.
    """
    known = shared(state)
    rows = islice(latest_replies(state, start_parent_author, start_permlink), limit)
    return show.each(DiscussionRecord, [with_votes(known, discussion_view(known, row, NO_COIN)) for row in rows])


def latest_of(state: State, author: str, start: Comment | None = None) -> Iterator[Comment]:
    """Yield the author's comments, last changed first, from `start` on."""
    order = state.comments.by_author_last_update
    rows = order.starting(author) if start is None else order.starting(author, start.last_update, start.id)
    return takewhile(lambda row: row.author == author, rows)


def latest_replies(state: State, parent_author: str, permlink: str = "") -> Iterator[Comment]:
    """Yield the replies to an author, last changed first.

    With a permlink, the two arguments identify a comment instead. The result is then the replies to the author of that comment's parent,
    beginning with the comment itself.
    """
    order = state.comments.by_last_update
    rows = order.starting(parent_author)
    if permlink:
        start = comment_of(state, parent_author, permlink)
        parent_author = start.parent_author
        rows = order.starting(parent_author, start.last_update, start.id)
    return takewhile(lambda row: row.parent_author == parent_author, rows)


# ------------------------------------------------------------------ checks of queries


def require_proper(query: DiscussionQuery) -> None:
    """Refuse a query whose tag is in `filter_tags`, or whose limit is too large."""
    require(query.tag not in query.filter_tags, condition="filter_tags.find(tag) == filter_tags.end()")
    require(query.limit <= DISCUSSIONS_MAX, condition="limit <= 100")


def require_follow(state: State, what: str) -> None:
    """Refuse a query for blogs or feeds if the plugin `follow` isn't enabled."""
    has_index = f"_db.has_index< follow::{what}_index >()"
    require(FOLLOW.is_on(state), "Node is not running the follow plugin", condition=has_index)


def given_comment(state: State, author: str | None, permlink: str | None) -> Comment | None:
    """Return the comment with this author and permlink, or None if one of the two is missing. Refuse an unknown comment."""
    if author is None or permlink is None:
        return None
    return comment_of(state, text.cut(author, NAME_BYTES_MAX), permlink)


def start_comment(state: State, query: DiscussionQuery) -> Comment:
    """Return the comment at which a query starts. Refuse an unknown comment."""
    return comment_of(state, text.cut(query.start_author or "", NAME_BYTES_MAX), query.start_permlink or "")


def named_account(state: State, name: str) -> str:
    """Return the account name that a query contains. Refuse an unknown account."""
    return state.account(text.cut(name, NAME_BYTES_MAX)).name


def is_selected(state: State, row: Comment, query: DiscussionQuery) -> bool:
    """Whether a post's author and tags match a query's `select_authors` and `select_tags`."""
    if query.select_authors and row.author not in query.select_authors:
        return False
    return not query.select_tags or not set(query.select_tags).isdisjoint(tags_of(state, row.id))


def as_tag(name: str) -> str:
    """Return a tag as the plugin stores it: in lower case, truncated to the maximum size."""
    return stored(name.translate(SMALL_LETTERS))
