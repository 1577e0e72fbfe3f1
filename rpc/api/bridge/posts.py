"""Posts and replies: lists ranked by tag or community, lists by account, and single posts. Source: social.md §3.3, §3.8."""

from collections.abc import Iterable, Iterator
from itertools import dropwhile, islice
from typing import Annotated, TypedDict

from rpc.api.bridge.arguments import (
    POSTS_MAX,
    ListArgument,
    NameArgument,
    NumberArgument,
    PermlinkArgument,
    PostArgument,
    RankArgument,
    TextArgument,
    account_argument,
    demand,
    existing_account,
    existing_post,
    limit_argument,
    observer_argument,
    permlink_argument,
    start_post,
    tag_argument,
)
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder, ShowsRecord
from rpc.records.bridge.kinds import sbd_number
from rpc.records.bridge.posts import BridgePostRecord, PostHeaderRecord, post_reader
from rpc.records.bridge.unknown import UnknownPostRecord, unknown_post
from state.plugins.social.communities import lists as communities_lists
from state.plugins.social.communities.lists import PAYOUT_ROWS_MAX
from state.plugins.social.index import Social
from state.plugins.social.plugin import COMMUNITIES
from state.plugins.social.posts import lists as posts_lists
from state.tables import State
from state.tables.content import Comment

SORTS = ("trending", "hot", "created", "promoted", "payout", "payout_comments", "muted")
ACCOUNT_SORTS = ("blog", "feed", "posts", "comments", "replies", "payout")

PostJson = Annotated[Json, ShowsRecord(BridgePostRecord)]
UnknownPostJson = Annotated[Json, ShowsRecord(UnknownPostRecord)]


class PayoutStats(TypedDict):
    """Pending payouts in SBD.

    `items` has a row for each community, and for each author of posts outside of communities. `total` is the sum of all payouts, and
    `blogs` is the sum for posts outside of communities.
    """

    items: list[tuple[str, str, float, int, int | None]]
    total: float
    blogs: float


@method("bridge.get_ranked_posts", plugin=COMMUNITIES)
def get_ranked_posts(
    state: State,
    show: RecordEncoder,
    /,
    sort: RankArgument,
    start_author: TextArgument = "",
    start_permlink: TextArgument = "",
    limit: NumberArgument = 20,
    tag: TextArgument = "",
    observer: TextArgument = "",
) -> list[PostJson]:
    """List posts in the order `sort`, after the start post.

    `tag` is a tag, a community, `all` (all communities), `my` (communities that the observer subscribes to), or "" (all posts).
    """
    kept = COMMUNITIES.of(state)
    viewer = observer_argument(state, observer)
    demand(sort in SORTS, "invalid sort")
    author, permlink = account_argument(start_author, may_be_empty=True), permlink_argument(start_permlink, may_be_empty=True)
    most, name = limit_argument(limit, POSTS_MAX), tag_argument(tag)
    scope = posts_lists.scope_of(kept, name, viewer)
    if not scope.names:
        return []
    demand(sort in scope.orders, f"unknown sort {sort}")
    is_gone, start = start_post(state, kept, author, permlink)
    if is_gone:
        return []
    found = posts_lists.ranked_posts(state, kept, scope, sort, most, start)
    return shown(state, show, kept, [state.comments.find(comment) for comment in found])


@method("bridge.get_account_posts", plugin=COMMUNITIES)
def get_account_posts(
    state: State,
    show: RecordEncoder,
    /,
    sort: ListArgument,
    account: NameArgument,
    start_author: TextArgument = "",
    start_permlink: TextArgument = "",
    limit: NumberArgument = 20,
    observer: TextArgument = "",
) -> list[PostJson]:
    """List posts of an account. `sort` is `blog`, `feed`, `posts`, `comments`, `payout` (unpaid posts) or `replies` (replies to the
    account).

    The list begins with the start post. For `payout`, it begins after the start post.
    """
    kept = COMMUNITIES.of(state)
    observer_argument(state, observer)
    demand(sort in ACCOUNT_SORTS, "invalid account sort")
    demand(account, "account is required")
    name = account_argument(account)
    author, permlink = account_argument(start_author, may_be_empty=True), permlink_argument(start_permlink, may_be_empty=True)
    most = limit_argument(limit, POSTS_MAX)
    if sort in ("posts", "comments") and permlink:
        demand(author == name, f"{sort} - account must match start author")
    if sort in ("blog", "feed"):
        existing_account(state, name)
    is_gone, start = start_post(state, kept, author, permlink)
    if is_gone:
        return []
    match sort:
        case "blog" | "feed":
            return shown_entries(state, show, kept, sort, name, most, start)
        case "posts" | "comments":
            found: Iterable[Comment] = posts_lists.own_posts(state, kept, name, is_reply=sort == "comments", start=start)
        case "replies":
            found = posts_lists.replies_to(state, kept, name, start)
        case _:
            found = posts_lists.unpaid_posts(state, kept, name, start)
    return shown(state, show, kept, islice(found, most))


def shown(state: State, show: RecordEncoder, kept: Social, comments: Iterable[Comment]) -> list[Json]:
    """Encode posts and replies as the records that the methods return."""
    reader = post_reader(state, kept)
    return show.each(BridgePostRecord, [reader.view(comment) for comment in comments])


def shown_entries(
    state: State, show: RecordEncoder, kept: Social, sort: str, account: str, limit: int, start: Comment | None
) -> list[Json]:
    """Return the entries of an account's blog or feed from the post `start` on, each with the accounts that reblogged it."""
    entries: Iterator[posts_lists.ListedPost]
    entries = posts_lists.blog(state, kept, account) if sort == "blog" else posts_lists.feed(state, kept, account)
    if start is not None:
        entries = dropwhile(lambda entry: entry.comment.id != start.id, entries)
    reader, views = post_reader(state, kept), []
    for entry in islice(entries, limit):
        view = reader.view(entry.comment)
        view.reblogged_by = list(entry.reblogged_by) or None
        views.append(view)
    return show.each(BridgePostRecord, views)


@method("bridge.get_post", plugin=COMMUNITIES)
def get_post(
    state: State, show: RecordEncoder, /, author: NameArgument, permlink: PermlinkArgument, observer: TextArgument = ""
) -> PostJson:
    """Return a post or a reply."""
    observer_argument(state, observer)
    comment = existing_post(state, account_argument(author), permlink_argument(permlink))
    return shown(state, show, COMMUNITIES.of(state), [comment])[0]


@method("bridge.get_discussion", plugin=COMMUNITIES)
def get_discussion(
    state: State, show: RecordEncoder, /, author: NameArgument, permlink: PermlinkArgument, observer: TextArgument = ""
) -> dict[str, PostJson]:
    """Return a post or a reply with its descendants: at most 50 levels and 500 posts. The keys of the result are author/permlink.

    The member `replies` of each post contains the author/permlink of its direct replies.
    """
    observer_argument(state, observer)
    kept, name, link = COMMUNITIES.of(state), account_argument(author), permlink_argument(permlink)
    top = state.comments.by_permlink.get(name, link)
    if top is None or top.author in kept.irredeemables:
        return {}
    reader, dump, found = post_reader(state, kept), show.by(BridgePostRecord), {}
    for comment, replies in posts_lists.discussion(state, kept, top).items():
        view = reader.view(state.comments.find(comment))
        view.replies = [f"{one.author}/{one.permlink}" for one in replies]
        found[f"{view.comment.author}/{view.comment.permlink}"] = dump(view)
    return found


@method("bridge.get_post_header", plugin=COMMUNITIES, record=PostHeaderRecord)
def get_post_header(state: State, show: RecordEncoder, /, author: NameArgument, permlink: PermlinkArgument) -> Json | None:
    """Return the author, permlink, category and depth of a post or a reply, or null if it doesn't exist."""
    comment = state.comments.by_permlink.get(author, permlink) if isinstance(author, str) and isinstance(permlink, str) else None
    return show.maybe(PostHeaderRecord, comment)


@method("bridge.normalize_post", plugin=COMMUNITIES)
def normalize_post(state: State, show: RecordEncoder, /, post: PostArgument) -> PostJson | UnknownPostJson:
    """Convert a post from the format of `get_content` to the format of `bridge`.

    If this node doesn't have the post, only the given members are converted.
    """
    demand(isinstance(post, dict), "post must be an object")
    author, permlink = account_argument(post.get("author")), permlink_argument(post.get("permlink"))
    comment = state.comments.by_permlink.get(author, permlink)
    if comment is not None:
        return shown(state, show, COMMUNITIES.of(state), [comment])[0]
    return show(UnknownPostRecord, unknown_post(state, COMMUNITIES.of(state), post))


@method("bridge.get_payout_stats", plugin=COMMUNITIES)
def get_payout_stats(state: State, /, limit: NumberArgument = PAYOUT_ROWS_MAX) -> PayoutStats:
    """Return the pending payouts in SBD: totals, and rows per community and per author of posts outside of communities, largest first."""
    rows = communities_lists.payout_rows(state, COMMUNITIES.of(state), limit_argument(limit, PAYOUT_ROWS_MAX))
    return {
        "items": [(row.url, row.label, sbd_number(row.payout), row.posts, row.authors) for row in rows.largest],
        "total": sbd_number(rows.total),
        "blogs": sbd_number(rows.blogs),
    }
