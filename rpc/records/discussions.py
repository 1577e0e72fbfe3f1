"""Records of discussions: posts and replies with payouts, votes and tags. Source: rpc-api.md §2.3, §2.4, §4.5."""

from collections.abc import Iterable
from functools import cached_property
from itertools import islice
from operator import attrgetter
from typing import Annotated, ClassVar

from msgspec import Struct

from rpc.declare.record_fields import Big, BigText, CoinAmount, DebtAmount, FieldPath, OptionalFieldPath
from rpc.records.comments import NO_COMMENT, NO_CONTENT, CommentRecord, CommentView
from state.effects.comments import payout_time
from state.effects.curves import curve_value
from state.effects.voting import ContentRewardPool, content_reward_pool
from state.plugins.follow.lists import known_reputations
from state.plugins.reputation import Reputations, reputation_of
from state.plugins.tags.lists import promotion_of
from state.plugins.tags.plugin import TAGS
from state.protocol.codec.kinds import AccountName, Bounded, Int16, Many, String, Text, Time, UInt32, UInt128
from state.protocol.values import text
from state.protocol.values.asset import COIN, SBD, Asset
from state.protocol.values.integers import INT64_MAX, WORD64
from state.tables import State, content

VOTES_SHOWN_MAX = 10_000
VOTES_OF_UNIT = 8
POST_BYTES_MAX, REPLY_BYTES_MAX = 128 * 1024, 16 * 1024
PRUNED_POST, PRUNED_REPLY = "body pruned due to size", "comment pruned due to size"
NO_COIN, NO_DEBT = Asset(0, COIN), Asset(0, SBD)


class VoteStateView(Struct):
    """The object from which `VoteStateRecord` is read: the vote's row, and the voter's name and reputation."""

    row: content.CommentVote
    voter: str
    reputation: int


class VoteStateRecord(Struct):
    """A vote on a discussion (R-vote-state), read from a `VoteStateView`."""

    ROOT: ClassVar[str] = "row"

    voter: Annotated[str, FieldPath("voter", AccountName)]
    weight: BigText
    rshares: BigText
    percent: Annotated[int, FieldPath("row.vote_percent", Int16)]
    reputation: Annotated[int, FieldPath("reputation", Big)]
    time: Annotated[int, FieldPath("row.last_update", Time)]


class AccountVoteView(Struct):
    """The object from which `AccountVoteRecord` is read: the vote's row, and the comment that was voted on."""

    row: content.CommentVote
    comment: content.Comment

    @property
    def authorperm(self) -> str:
        """The comment's identifier, author/permlink."""
        return f"{self.comment.author}/{self.comment.permlink}"


class AccountVoteRecord(Struct):
    """An account's vote (R-account-vote), read from an `AccountVoteView`."""

    ROOT: ClassVar[str] = "row"

    authorperm: Annotated[str, FieldPath("authorperm", Text)]
    weight: BigText
    rshares: BigText
    percent: Annotated[int, FieldPath("row.vote_percent", Int16)]
    time: Annotated[int, FieldPath("row.last_update", Time)]


class DiscussionView(CommentView):
    """The object from which discussion records are read. `body` can be truncated. `pending_payout` is in COIN while there is no median
    price.
    """

    body: str
    cashout_time: int
    url: str
    root_title: str = ""
    pending_payout: Asset = NO_COIN
    author_reputation: int = 0
    promoted: Asset = NO_DEBT
    body_length: int = 0
    active_votes: tuple[VoteStateView, ...] = ()
    replies: tuple[str, ...] = ()
    reblogged_by: tuple[str, ...] = ()
    first_reblogged_by: str | None = None
    first_reblogged_on: int | None = None

    @property
    def total_pending_payout(self) -> int:
        """Always 0: the reference has this member but never fills it."""
        return 0

    @property
    def name(self) -> str:
        """The comment's identifier, author/permlink."""
        return f"{self.row.author}/{self.row.permlink}"


class DiscussionRecord(CommentRecord):
    """A post or reply with its payout, its votes and the identifiers of its replies (R-discussion), read from a `DiscussionView`."""

    body: Annotated[str, FieldPath("body", Text)]
    cashout_time: Annotated[int, FieldPath("cashout_time", Time)]
    url: Annotated[str, FieldPath("url", Text)]
    root_title: Annotated[str, FieldPath("root_title", Text)]
    pending_payout_value: Annotated[Asset, FieldPath("pending_payout", Asset)]
    total_pending_payout_value: Annotated[int, FieldPath("total_pending_payout", CoinAmount)]
    active_votes: Annotated[tuple[VoteStateView, ...], FieldPath("active_votes", Many(VoteStateRecord))]
    replies: Annotated[tuple[str, ...], FieldPath("replies", Many(String()))]
    author_reputation: Annotated[int, FieldPath("author_reputation", Big)]
    promoted: Annotated[Asset, FieldPath("promoted", Asset)]
    body_length: Annotated[int, FieldPath("body_length", UInt32)]
    reblogged_by: Annotated[tuple[str, ...], FieldPath("reblogged_by", Many(Bounded(16)))]
    first_reblogged_by: Annotated[str | None, OptionalFieldPath("first_reblogged_by", AccountName)]
    first_reblogged_on: Annotated[int | None, OptionalFieldPath("first_reblogged_on", Time)]


class AbsentAmountsRecord(Struct):
    """The amounts in the empty record that represents a missing discussion. As in the reference, they are in COIN."""

    total_payout_value: CoinAmount = 0
    curator_payout_value: CoinAmount = 0
    max_accepted_payout: CoinAmount = 0


class TagRecord(Struct):
    """A tag with its totals (R-tag), read from the row that holds them."""

    name: Annotated[str, FieldPath("tag", Text)]
    total_payouts: Annotated[int, FieldPath("total_payout", DebtAmount)]
    net_votes: UInt32
    top_posts: UInt32
    comments: UInt32
    trending: Annotated[int, FieldPath("total_trending", UInt128)]


class TagCountRecord(Struct):
    """A tag, and the number of an author's comments that have the tag."""

    tag: Text
    count: Annotated[int, FieldPath("total_posts", UInt32)]


# ------------------------------------------------------------------ views


class PayoutContext(Struct, dict=True):
    """Data that all discussions in a reply share: the reward pool, reputations, and whether the plugin `tags` is enabled."""

    state: State
    reputations: Reputations | None
    has_tags: bool

    @cached_property
    def pot(self) -> ContentRewardPool:
        """The reward pool. It is computed on first use, so that a failure affects only replies with payouts. Raises ChainError."""
        return content_reward_pool(self.state)

    def reputation(self, account: str) -> int:
        """Return an account's reputation, or 0 if no reputation plugin is enabled."""
        return 0 if self.reputations is None else reputation_of(self.reputations, account)


def shared(state: State) -> PayoutContext:
    """Return the data that all discussions in a reply share, as of the current head."""
    return PayoutContext(state, known_reputations(state), TAGS.is_on(state))


def discussion_view(known: PayoutContext, row: content.Comment, unpromoted: Asset = NO_DEBT) -> DiscussionView:
    """Return the view of a comment, without its votes. `unpromoted` is the promotion of a comment without tags."""
    state = known.state
    texts = state.comment_contents.by_comment.get(row.id) or NO_CONTENT
    root = row if row.root_comment == row.id else state.comments.get(row.root_comment) or NO_COMMENT
    view = DiscussionView(row, texts, root, shown_body(row, texts.body), payout_time(state, row), url_of(row, root))
    view.root_title = texts.title if root is row else title_of(state, root)
    promoted = promotion_of(state, row.id) if known.has_tags else None
    view.promoted = unpromoted if promoted is None else Asset(promoted, SBD)
    if known.pot.claims:
        view.pending_payout = pending_payout(known.pot, row.net_rshares)
        view.author_reputation = known.reputation(row.author)
    return view


def with_votes(known: PayoutContext, view: DiscussionView) -> DiscussionView:
    """Return the view with the comment's votes."""
    view.active_votes = vote_views(known, view.row)
    return view


def listed_view(known: PayoutContext, row: content.Comment, body_bytes: int = 0) -> DiscussionView:
    """Return the view of a comment in a list, with its votes and body length. The body is truncated to `body_bytes` (0: no limit)."""
    view = with_votes(known, discussion_view(known, row))
    view.body_length = text.size(view.body)
    if body_bytes:
        view.body = text.encode(view.body)[:body_bytes].decode("utf-8", "ignore")
    return view


def votes_on(state: State, comment: int) -> Iterable[content.CommentVote]:
    """Return the votes on a comment, ordered by the age of the voters' accounts. With many votes, this can sort those on all comments."""
    table = state.comment_votes
    if len(table.of_comment.ids(comment)) > VOTES_SHOWN_MAX:
        return table.by_comment_voter.equal(comment)
    return sorted(table.of_comment.of(comment), key=attrgetter("voter"))


def vote_views(known: PayoutContext, row: content.Comment) -> tuple[VoteStateView, ...]:
    """Return at most VOTES_SHOWN_MAX votes on a comment, ordered by the age of the voters' accounts, oldest first."""
    find = known.state.accounts.find
    votes = []
    for vote in islice(votes_on(known.state, row.id), VOTES_SHOWN_MAX):
        voter = find(vote.voter).name
        votes.append(VoteStateView(vote, voter, known.reputation(voter)))
    known.state.work.spend(len(votes) // VOTES_OF_UNIT, "votes")
    return tuple(votes)


def pending_payout(pot: ContentRewardPool, net_rshares: int) -> Asset:
    """Return the share of the current reward pool that a comment with these rshares would get. The amount wraps at 64 bits.

    Nothing is pending without claims on the pool.
    """
    if net_rshares <= 0 or not pot.claims:
        return Asset(0, pot.worth.symbol)
    value = curve_value(pot.curve, net_rshares, pot.constant) * pot.worth.amount // pot.claims % WORD64
    return Asset(value if value <= INT64_MAX else value - WORD64, pot.worth.symbol)


def shown_body(row: content.Comment, body: str) -> str:
    """Return a comment's body. If it is too large, return the reference's replacement text instead."""
    size = text.size(body)
    if row.parent_author and size > REPLY_BYTES_MAX and size <= POST_BYTES_MAX:
        return PRUNED_REPLY
    return PRUNED_POST if size > POST_BYTES_MAX else body


def url_of(row: content.Comment, root: content.Comment) -> str:
    """Return the path of a comment on the website. A reply is shown on the page of its discussion's root post."""
    url = f"/{root.category}/@{root.author}/{root.permlink}"
    return url if root.id == row.id else f"{url}#@{row.author}/{row.permlink}"


def title_of(state: State, row: content.Comment) -> str:
    """Return the comment's title."""
    return (state.comment_contents.by_comment.get(row.id) or NO_CONTENT).title


NO_DISCUSSION = DiscussionView(
    content.Comment(
        id=0,
        max_cashout_time=0,
        max_accepted_payout=0,
        percent_coin_dollars=0,
        allow_replies=False,
        allow_votes=False,
        allow_curation_rewards=False,
    ),
    NO_CONTENT,
    NO_COMMENT,
    body="",
    cashout_time=0,
    url="",
)
"""The view of a discussion that doesn't exist."""
