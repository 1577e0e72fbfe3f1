"""Records of posts in lists: identifiers, counts and payouts. Bodies and votes are omitted to keep a page of posts small."""

from collections.abc import Iterable
from typing import Annotated

from msgspec import Struct

from rpc.declare.record_encoder import Json, RecordEncoder
from rpc.declare.record_fields import FieldPath
from rpc.records.comments import NO_CONTENT
from rpc.records.discussions import pending_payout
from state.effects.comments import payout_time
from state.effects.voting import payable_reward_pool
from state.plugins.social.plugin import COMMUNITIES
from state.protocol.codec.kinds import AccountName, Bool, Int32, Text, Time, UInt32
from state.protocol.constants import TIME_MAX
from state.protocol.values.asset import SBD, Asset
from state.tables import State
from state.tables.content import Comment


class PostSummaryView(Struct):
    """The object from which `PostSummaryRecord` is read: the row of a post or reply, its title, its community, and its total or pending
    payout.
    """

    row: Comment
    title: str
    cashout_time: int
    is_paid: bool
    payout: Asset
    community: str = ""
    community_title: str = ""
    is_pinned: bool = False


class PostSummaryRecord(Struct):
    """A post or reply in a list, read from a `PostSummaryView`.

    `payout` is the amount paid to author and curators, or the pending payout before that. It is in COIN if there is no price feed.
    """

    author: Annotated[str, FieldPath("row.author", AccountName)]
    permlink: Annotated[str, FieldPath("row.permlink", Text)]
    title: Text
    category: Annotated[str, FieldPath("row.category", Text)]
    community: AccountName
    community_title: Text
    is_pinned: Bool
    depth: Annotated[int, FieldPath("row.depth", UInt32)]
    created: Annotated[int, FieldPath("row.created", Time)]
    last_update: Annotated[int, FieldPath("row.last_update", Time)]
    active: Annotated[int, FieldPath("row.active", Time)]
    cashout_time: Time
    is_paid: Bool
    payout: Asset
    net_votes: Annotated[int, FieldPath("row.net_votes", Int32)]
    children: Annotated[int, FieldPath("row.children", UInt32)]


def summaries(state: State, show: RecordEncoder, comments: Iterable[Comment]) -> list[Json]:
    """Encode posts and replies as summaries."""
    pot = payable_reward_pool(state)
    kept = COMMUNITIES.of(state) if COMMUNITIES.is_on(state) else None
    views = []
    for row in comments:
        texts, cashout = state.comment_contents.by_comment.get(row.id) or NO_CONTENT, payout_time(state, row)
        is_paid = cashout == TIME_MAX
        pending = pending_payout(pot, row.net_rshares)
        view = PostSummaryView(
            row, texts.title, cashout, is_paid, Asset(row.total_payout_value + row.curator_payout_value, SBD) if is_paid else pending
        )
        post = None if kept is None else kept.posts.by_comment.get(row.id)
        if kept is not None and post is not None and post.community:
            community = kept.community(post.community)
            view.community, view.is_pinned = post.community, post.is_pinned
            view.community_title = "" if community is None else community.title
        views.append(view)
    return show.each(PostSummaryRecord, views)
