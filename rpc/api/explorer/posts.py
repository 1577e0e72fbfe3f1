"""Lists of post summaries, page by page. Other methods that list posts return all bodies and votes."""

from itertools import islice
from typing import Annotated, TypedDict

from rpc.api.discussions import as_tag, latest_replies
from rpc.declare.arguments import AccountName, MaxValue, Text, UInt32
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder, ShowsRecord
from rpc.records.summaries import PostSummaryRecord, summaries
from state.effects.comments import comment_of
from state.plugins.social.plugin import COMMUNITIES
from state.plugins.social.posts import lists as posts_lists
from state.plugins.tags.lists import ORDERS, discussions
from state.plugins.tags.plugin import TAGS
from state.protocol.errors import require
from state.tables import State
from state.tables.content import Comment

TAGS_OFF = ("_tags_api", "This node doesn't index posts by tag. Enable its plugin tags.")
COMMUNITIES_OFF = ("_communities", "This node doesn't index communities. Enable its plugin communities.")
OVERDUE_SECONDS = 3600
COMMUNITY_SORTS = ("trending", "hot", "created", "promoted", "payout", "muted")

PostsLimit = Annotated[UInt32, MaxValue(100)]
SummaryJson = Annotated[Json, ShowsRecord(PostSummaryRecord)]


class PostList(TypedDict):
    """A page of a list of posts. `has_more` is true if more posts follow."""

    posts: list[SummaryJson]
    has_more: bool


@method("explorer_api.list_posts", plugin=TAGS, not_enabled=TAGS_OFF)
def list_posts(
    state: State,
    show: RecordEncoder,
    /,
    order: Text = "trending",
    tag: Text = "",
    start_author: AccountName = "",
    start_permlink: Text = "",
    limit: PostsLimit = 20,
) -> PostList:
    """List posts with a tag, or all posts if the tag is empty. The list starts after the start post.

    `order` is `trending`, `hot`, `created`, `active`, `votes`, `children`, `promoted`, `cashout` or `post_payout`. `comment_payout` lists
    replies instead of posts.
    """
    require(order in ORDERS, "There is no order ${o}", condition="order", o=order)
    start = start_post(state, start_author, start_permlink)
    entries = discussions(
        state, order, as_tag(tag), limit + 2, start=None if start is None else start.id, since=max(0, state.head_time - OVERDUE_SECONDS)
    )
    found = [entry.comment for entry in entries]
    # The list contains the start post, unless it has left the list in the meantime.
    if start is not None and found and found[0] == start.id:
        del found[0]
    return page_of(state, show, [state.comments.find(comment) for comment in found], limit)


@method("explorer_api.list_updated_posts")
def list_updated_posts(
    state: State, show: RecordEncoder, /, start_author: AccountName = "", start_permlink: Text = "", limit: PostsLimit = 20
) -> PostList:
    """List all posts, last changed first, without requiring a plugin. The list starts after the post that the two start arguments name."""
    start = start_post(state, start_author, start_permlink)
    require(start is None or not start.parent_author, "The start must be a post", condition="!start.parent_author")
    order = state.comments.by_last_update
    rows = latest_replies(state, "") if start is None else islice(order.starting("", start.last_update, start.id), 1, None)
    found = []
    for row in islice(rows, limit + 1):
        if row.parent_author:
            break
        found.append(row)
    return page_of(state, show, found, limit)


@method("explorer_api.list_community_posts", plugin=COMMUNITIES, not_enabled=COMMUNITIES_OFF)
def list_community_posts(
    state: State,
    show: RecordEncoder,
    /,
    community: AccountName,
    sort: Text = "trending",
    start_author: AccountName = "",
    start_permlink: Text = "",
    limit: PostsLimit = 20,
) -> PostList:
    """List the posts of a community. The list starts after the start post. Pinned posts come first in `trending` and `created`.

    `sort` is `trending`, `hot`, `created`, `promoted`, `payout` or `muted`.
    """
    kept = COMMUNITIES.of(state)
    require(kept.community(community) is not None, "There is no community ${c}", condition="community", c=community)
    require(sort in COMMUNITY_SORTS, "There is no order ${o}", condition="sort", o=sort)
    start = start_post(state, start_author, start_permlink)
    found = posts_lists.ranked_posts(state, kept, posts_lists.scope_of(kept, community, ""), sort, limit + 1, start)
    pins = 0 if start is not None or sort not in posts_lists.PINNED_ORDERS else len(found) - min(len(found), limit + 1)
    return page_of(state, show, [state.comments.find(comment) for comment in found], limit + pins)


def start_post(state: State, author: str, permlink: str) -> Comment | None:
    """Return the post that precedes a page, or None for the first page. Refuse an unknown post."""
    return comment_of(state, author, permlink) if author or permlink else None


def page_of(state: State, show: RecordEncoder, rows: list[Comment], limit: int) -> PostList:
    """Return a page of the first `limit` rows. If there are more rows, `has_more` is true."""
    return {"posts": summaries(state, show, rows[:limit]), "has_more": len(rows) > limit}
