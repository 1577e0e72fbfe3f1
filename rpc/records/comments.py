"""Records of posts, replies and their votes. Source: rpc-api.md §2.3, §2.4."""

from typing import Annotated, ClassVar

from msgspec import Struct

from rpc.declare.record_fields import Big, BigText, DebtAmount, FieldPath
from state.operations.content import Beneficiary
from state.protocol.codec.kinds import AccountName, Bool, Many, Text, Time, UInt32
from state.tables import State, content
from state.tables.texts import CommentContent

NO_COMMENT = content.Comment()
NO_CONTENT = CommentContent()


class CommentView(Struct):
    """The object from which comment records are read: the comment's row, its title and body, and the root post of its discussion."""

    row: content.Comment
    texts: CommentContent
    root: content.Comment


def comment_view(state: State, row: content.Comment) -> CommentView:
    """Return the view from which `CommentRecord` is read."""
    texts = state.comment_contents.by_comment.get(row.id)
    return CommentView(row, texts or NO_CONTENT, state.comments.get(row.root_comment) or NO_COMMENT)


class CommentRecord(Struct):
    """A post or a reply with its title, body and metadata (R-comment), read from a `CommentView`."""

    ROOT: ClassVar[str] = "row"

    id: UInt32
    author: AccountName
    permlink: Text
    category: Text
    parent_author: AccountName
    parent_permlink: Text
    title: Annotated[str, FieldPath("texts.title", Text)]
    body: Annotated[str, FieldPath("texts.body", Text)]
    json_metadata: Annotated[str, FieldPath("texts.json_metadata", Text)]
    last_update: Time
    created: Time
    active: Time
    last_payout: Time
    depth: UInt32
    children: UInt32
    net_rshares: Big
    abs_rshares: Big
    vote_rshares: Big
    children_abs_rshares: Big
    cashout_time: Time
    max_cashout_time: Time
    total_vote_weight: Big
    reward_weight: UInt32
    total_payout_value: DebtAmount
    curator_payout_value: DebtAmount
    author_rewards: Big
    net_votes: UInt32
    root_author: Annotated[str, FieldPath("root.author", AccountName)]
    root_permlink: Annotated[str, FieldPath("root.permlink", Text)]
    max_accepted_payout: DebtAmount
    percent_coin_dollars: UInt32
    allow_replies: Bool
    allow_votes: Bool
    allow_curation_rewards: Bool
    beneficiaries: Annotated[tuple[Beneficiary, ...], Many(Beneficiary)]


class VoteView(Struct):
    """The object from which vote records are read: the vote's row, the voter's name, and the comment."""

    row: content.CommentVote
    voter: str
    comment: content.Comment


def vote_view(state: State, row: content.CommentVote) -> VoteView:
    """Return the view from which `VoteRecord` is read."""
    return VoteView(row, state.accounts.find(row.voter).name, state.comments.find(row.comment))


class VoteRecord(Struct):
    """A vote on a comment (R-vote), read from a `VoteView`."""

    ROOT: ClassVar[str] = "row"

    id: UInt32
    voter: Annotated[str, FieldPath("voter", AccountName)]
    author: Annotated[str, FieldPath("comment.author", AccountName)]
    permlink: Annotated[str, FieldPath("comment.permlink", Text)]
    weight: BigText
    rshares: BigText
    vote_percent: UInt32
    last_update: Time
    num_changes: UInt32
