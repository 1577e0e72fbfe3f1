"""Records of `bridge` for posts and replies. Source: social.md §3.2-§3.4."""

from typing import Annotated, ClassVar

from msgspec import Struct

from rpc.declare.record_encoder import Json
from rpc.declare.record_fields import BigText, FieldPath, OptionalFieldPath
from rpc.records.bridge.kinds import FreeObject, Number, RoleName, SbdNumber, SbdText, TextList
from rpc.records.comments import NO_COMMENT, NO_CONTENT
from rpc.records.discussions import VOTES_OF_UNIT, title_of, votes_on
from state.operations.content import Beneficiary
from state.plugins.social.chain_reader import Payout, Worth, payout_of
from state.plugins.social.community_payloads import GUEST
from state.plugins.social.index import Social
from state.plugins.social.post_metadata import blacklists, flag_weight, is_gray, shown_metadata
from state.plugins.social.scores import shown_reputation
from state.protocol.codec.kinds import AccountName, Bool, Many, Text, Time, UInt32
from state.tables import State
from state.tables.content import Comment

NO_CATEGORY = "undefined"


class BridgeVoteRecord(Struct, gc=False):
    """A vote on a post."""

    voter: AccountName
    rshares: BigText


class PostStatsRecord(Struct, gc=False):
    """Whether a post is hidden, grayed out or pinned, and the number and total weight of its votes.

    `total_votes` excludes votes with weight 0. The member `is_pinned` is omitted if it is false.
    """

    hide: Bool
    gray: Bool
    total_votes: UInt32
    flag_weight: UInt32
    is_pinned: Bool | None = None


class BridgePostView(Struct, gc=False):
    """The object from which `BridgePostRecord` is read: the row of a post or reply, and data of other tables and plugins.

    `parent_author` and `parent_permlink` are None for posts. The members from `community` on are None outside of communities.
    `reblogged_by` is None outside of blogs and feeds. Views are never part of a reference cycle, so the garbage collector needn't track
    them.
    """

    comment: Comment
    category: str
    title: str
    body: str
    metadata: Json
    payout: Payout
    promoted: int
    votes: list[BridgeVoteRecord]
    net_rshares: int
    reputation: float
    stats: PostStatsRecord
    url: str
    blacklists: list[str]
    parent_author: str | None = None
    parent_permlink: str | None = None
    replies: list[str] = []
    reblogged_by: list[str] | None = None
    community: str | None = None
    community_title: str | None = None
    author_role: int | None = None
    author_title: str | None = None


class BridgePostRecord(Struct):
    """A post or a reply, read from a `BridgePostView`. `net_rshares` can exceed 64 bits.

    Only replies have `parent_author` and `parent_permlink`. Only posts in communities have `community`, `community_title`, `author_role`
    and `author_title`. Only reblogged posts in a blog or feed have `reblogged_by`.
    """

    ROOT: ClassVar[str] = "comment"

    post_id: Annotated[int, FieldPath("comment.id", UInt32)]
    author: AccountName
    permlink: Text
    category: Annotated[str, FieldPath("category", Text)]
    title: Annotated[str, FieldPath("title", Text)]
    body: Annotated[str, FieldPath("body", Text)]
    json_metadata: Annotated[Json, FieldPath("metadata", FreeObject())]
    created: Time
    updated: Annotated[int, FieldPath("comment.last_update", Time)]
    depth: UInt32
    children: UInt32
    net_rshares: Annotated[int, FieldPath("net_rshares", Number())]
    is_paidout: Annotated[bool, FieldPath("payout.is_paid", Bool)]
    payout_at: Annotated[int, FieldPath("payout.at", Time)]
    payout: Annotated[int, FieldPath("payout.total", SbdNumber())]
    pending_payout_value: Annotated[int, FieldPath("payout.pending", SbdText())]
    author_payout_value: Annotated[int, FieldPath("payout.of_author", SbdText())]
    curator_payout_value: Annotated[int, FieldPath("payout.of_curators", SbdText())]
    promoted: Annotated[int, FieldPath("promoted", SbdText())]
    replies: Annotated[list[str], FieldPath("replies", TextList)]
    active_votes: Annotated[list[BridgeVoteRecord], FieldPath("votes", Many(BridgeVoteRecord))]
    author_reputation: Annotated[float, FieldPath("reputation", Number())]
    stats: Annotated[PostStatsRecord, FieldPath("stats", PostStatsRecord)]
    beneficiaries: Annotated[tuple[Beneficiary, ...], Many(Beneficiary)]
    max_accepted_payout: Annotated[int, SbdText()]
    percent_coin_dollars: UInt32
    url: Annotated[str, FieldPath("url", Text)]
    blacklists: Annotated[list[str], FieldPath("blacklists", TextList)]
    parent_author: Annotated[str | None, OptionalFieldPath("parent_author", AccountName)]
    parent_permlink: Annotated[str | None, OptionalFieldPath("parent_permlink", Text)]
    community: Annotated[str | None, OptionalFieldPath("community", AccountName)]
    community_title: Annotated[str | None, OptionalFieldPath("community_title", Text)]
    author_role: Annotated[int | None, OptionalFieldPath("author_role", RoleName())]
    author_title: Annotated[str | None, OptionalFieldPath("author_title", Text)]
    reblogged_by: Annotated[list[str] | None, OptionalFieldPath("reblogged_by", TextList)]


class PostHeaderRecord(Struct):
    """Author, permlink, category and depth of a post or reply, read from its row."""

    author: AccountName
    permlink: Text
    category: Text
    depth: UInt32


class PostReader(Struct):
    """Builds the views of the posts in one reply. Each reply needs a new PostReader, since payouts depend on the current reward fund and
    price.
    """

    state: State
    kept: Social
    worth: Worth

    def view(self, comment: Comment) -> BridgePostView:
        """Return the view of a post or a reply."""
        state, kept = self.state, self.kept
        row = kept.posts.by_comment.get(comment.id)
        texts = state.comment_contents.by_comment.get(comment.id) or NO_CONTENT
        root = state.comments.get(comment.root_comment) or NO_COMMENT
        accounts = state.accounts
        votes = [BridgeVoteRecord(accounts.find(vote.voter).name, vote.rshares) for vote in votes_on(state, comment.id)]
        state.work.spend(len(votes) // VOTES_OF_UNIT, "votes")
        rshares = [vote.rshares for vote in votes]
        reputation = shown_reputation(kept.facts.reputation(state, comment.author))
        is_bad = comment.author in kept.irredeemables
        lists = blacklists(reputation, is_bad)
        category = comment.category or NO_CATEGORY
        path = f"@{comment.author}/{comment.permlink}"
        is_reply = bool(comment.parent_author)
        in_community = row is not None and bool(row.community)
        gray = row.is_muted if row is not None and in_community else is_gray(is_bad, lists)
        view = BridgePostView(
            comment,
            category,
            f"RE: {title_of(state, root)}" if is_reply else texts.title,
            texts.body.replace("\0", "[NUL]"),
            shown_metadata(texts.json_metadata),
            payout_of(state, kept.facts, comment, self.worth),
            0 if row is None else row.promoted,
            votes,
            sum(rshares),
            reputation,
            PostStatsRecord(is_bad, gray, sum([value != 0 for value in rshares]), flag_weight(rshares)),
            f"/{category}/@{root.author}/{root.permlink}#{path}" if is_reply else f"/{category}/{path}",
            lists,
        )
        if is_reply:
            view.parent_author, view.parent_permlink = comment.parent_author, comment.parent_permlink
        if row is not None and in_community:
            view.stats.is_pinned = row.is_pinned or None
            self.add_place(view, row.community)
        return view

    def add_place(self, view: BridgePostView, name: str) -> None:
        """Set a post's community, and its author's role in that community, in the post's view. An author without a role is a guest."""
        community, role = self.kept.community(name), self.kept.role_row(name, view.comment.author)
        view.community = name
        view.community_title = name if community is None else community.title or name
        view.author_role, view.author_title = (GUEST, "") if role is None else (role.role, role.title)


def post_reader(state: State, kept: Social) -> PostReader:
    """Return a builder of post views, which uses the reward fund and price of the current head."""
    return PostReader(state, kept, kept.facts.worth(state))
