"""Posts as the social index ranks them, by tag and community, and those of an account. Source: social.md §3.3, §3.8."""

from collections.abc import Iterable, Iterator
from itertools import dropwhile, islice
from typing import Any, TypedDict

from rpc.api.bridge.arguments import (
    POSTS_MAX,
    NumberArgument,
    ObjectArgument,
    TextArgument,
    account_argument,
    demand,
    existing_post,
    limit_argument,
    observer_argument,
    permlink_argument,
    start_post,
    tag_argument,
)
from rpc.records.bridge.posts import BridgePost, NormalizedPost, number, shower
from rpc.records.bridge.unknown import unknown_post
from rpc.service.method import method
from state.plugins.social.communities import lists as communities_lists
from state.plugins.social.index import Social
from state.plugins.social.plugin import COMMUNITIES
from state.plugins.social.posts import lists as social_posts_lists
from state.tables import State
from state.tables.content import Comment

SORTS = ("trending", "hot", "created", "promoted", "payout", "payout_comments", "muted")
ACCOUNT_SORTS = ("blog", "feed", "posts", "comments", "replies", "payout")
PAYOUT_ROWS_MAX = 250


class Header(TypedDict):
    """Where a post stands."""

    author: str
    permlink: str
    category: str
    depth: int


class PayoutStats(TypedDict):
    """What waits for payout: by community and by author outside of them, altogether, and outside of them."""

    items: list[tuple[str, str, float, int, int | None]]
    total: float
    blogs: float


@method("bridge.get_ranked_posts", plugin=COMMUNITIES)
def get_ranked_posts(
    state: State,
    /,
    sort: TextArgument,
    start_author: TextArgument = "",
    start_permlink: TextArgument = "",
    limit: NumberArgument = 20,
    tag: TextArgument = "",
    observer: TextArgument = "",
) -> list[BridgePost]:
    """Posts in an order, behind a post: of everything, of a tag, of a community, of all (`all`), or of those that the observer
    subscribes to (`my`).
    """
    kept = COMMUNITIES.of(state)
    viewer = observer_argument(state, observer)
    demand(sort in SORTS, "invalid sort")
    author, permlink = account_argument(start_author, may_be_empty=True), permlink_argument(start_permlink, may_be_empty=True)
    most, name = limit_argument(limit, POSTS_MAX), tag_argument(tag)
    if name == "my" and not viewer:
        return []
    scope = social_posts_lists.scope_of(kept, name, viewer)
    demand(sort in scope.orders, f"unknown sort {sort}")
    is_gone, start = start_post(state, kept, author, permlink)
    if is_gone or not scope.names:
        return []
    found = social_posts_lists.ranked_posts(state, kept, scope, sort, most, start)
    return shown(state, kept, [state.comments.find(comment) for comment in found])


@method("bridge.get_account_posts", plugin=COMMUNITIES)
def get_account_posts(
    state: State,
    /,
    sort: TextArgument,
    account: TextArgument,
    start_author: TextArgument = "",
    start_permlink: TextArgument = "",
    limit: NumberArgument = 20,
    observer: TextArgument = "",
) -> list[BridgePost]:
    """An account's `blog`, `feed`, `posts`, `comments`, unpaid posts by `payout`, and the `replies` to it.

    A list goes on with the start post; by payout, behind it.
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
        demand(state.accounts.by_name.get(name) is not None, "account not found")
    is_gone, start = start_post(state, kept, author, permlink)
    if is_gone:
        return []
    match sort:
        case "blog" | "feed":
            return shown_entries(state, kept, sort, name, most, start)
        case "posts" | "comments":
            found: Iterable[Comment] = social_posts_lists.own_posts(state, kept, name, is_reply=sort == "comments", start=start)
        case "replies":
            found = social_posts_lists.replies_to(state, kept, name, start)
        case _:
            found = social_posts_lists.unpaid_posts(state, kept, name, start)
    return shown(state, kept, islice(found, most))


def shown(state: State, kept: Social, comments: Iterable[Comment]) -> list[Any]:
    """Posts as they are shown."""
    show = shower(state, kept)
    return [show.post(comment) for comment in comments]


def shown_entries(state: State, kept: Social, sort: str, account: str, limit: int, start: Comment | None) -> list[Any]:
    """The entries of a blog or a feed from a post on; those that were reblogged say by whom."""
    entries: Iterator[social_posts_lists.Shown]
    entries = social_posts_lists.blog(state, kept, account) if sort == "blog" else social_posts_lists.feed(state, kept, account)
    if start is not None:
        entries = dropwhile(lambda entry: entry.comment is not start, entries)
    show = shower(state, kept)
    posts = []
    for entry in islice(entries, limit):
        post = show.post(entry.comment)
        if entry.reblogged_by:
            post["reblogged_by"] = list(entry.reblogged_by)
        posts.append(post)
    return posts


@method("bridge.get_post", plugin=COMMUNITIES)
def get_post(state: State, /, author: TextArgument, permlink: TextArgument, observer: TextArgument = "") -> BridgePost:
    """A post or a reply."""
    observer_argument(state, observer)
    comment = existing_post(state, account_argument(author), permlink_argument(permlink))
    post: BridgePost = shown(state, COMMUNITIES.of(state), [comment])[0]
    return post


@method("bridge.get_discussion", plugin=COMMUNITIES)
def get_discussion(state: State, /, author: TextArgument, permlink: TextArgument, observer: TextArgument = "") -> dict[str, BridgePost]:
    """A post or a reply and all below it by author/permlink, at most 50 levels and 500 posts; each names its replies."""
    observer_argument(state, observer)
    kept, name, link = COMMUNITIES.of(state), account_argument(author), permlink_argument(permlink)
    top = state.comments.by_permlink.get(name, link)
    if top is None or top.author in kept.irredeemables:
        return {}
    show, found = shower(state, kept), {}
    for comment, replies in social_posts_lists.discussion(state, kept, top).items():
        row = state.comments.find(comment)
        post: Any = show.post(row)
        post["replies"] = [f"{one.author}/{one.permlink}" for one in replies]
        found[f"{row.author}/{row.permlink}"] = post
    return found


@method("bridge.get_post_header", plugin=COMMUNITIES)
def get_post_header(state: State, /, author: TextArgument, permlink: TextArgument) -> Header | None:
    """Author, permlink, category and depth of a post or a reply; null when there is none."""
    comment = state.comments.by_permlink.get(author, permlink) if isinstance(author, str) and isinstance(permlink, str) else None
    if comment is None:
        return None
    return {"author": comment.author, "permlink": comment.permlink, "category": comment.category, "depth": comment.depth}


@method("bridge.normalize_post", plugin=COMMUNITIES)
def normalize_post(state: State, /, post: ObjectArgument) -> NormalizedPost:
    """A post that get_content has told, as it is told here; of one that isn't known, by what was told."""
    demand(isinstance(post, dict), "post must be an object")
    author, permlink = account_argument(post.get("author")), permlink_argument(post.get("permlink"))
    comment = state.comments.by_permlink.get(author, permlink)
    found: Any = unknown_post(state, COMMUNITIES.of(state), post) if comment is None else shown(state, COMMUNITIES.of(state), [comment])[0]
    normalized: NormalizedPost = found
    return normalized


@method("bridge.get_payout_stats", plugin=COMMUNITIES)
def get_payout_stats(state: State, /, limit: NumberArgument = PAYOUT_ROWS_MAX) -> PayoutStats:
    """What waits for payout: by community, and by author outside of communities, most first; with the sums of all and of the latter."""
    rows = communities_lists.payout_rows(state, COMMUNITIES.of(state))
    most = limit_argument(limit, PAYOUT_ROWS_MAX)
    return {
        "items": [(row.url, row.label, number(row.payout), row.posts, row.authors) for row in rows[:most]],
        "total": number(sum(row.payout for row in rows)),
        "blogs": number(sum(row.payout for row in rows if row.authors is None)),
    }
