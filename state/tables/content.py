"""Posts and replies and the votes on them. Source: state-objects.md §6."""

from typing import Any

from state.protocol.constants import COIN_100_PERCENT, TIME_MAX
from state.store import GroupedIds, Ordered, Packed, Row, Setter, Table


class Comment(Row):
    """A post or a reply. Payout values are in SBD, author_rewards in COIN; rshares have no unit.

    The row contains the net, absolute and positive sums of its votes' rshares, so that a payout doesn't read the votes.
    """

    author: str = ""
    permlink: str = ""
    category: str = ""
    parent_author: str = ""
    parent_permlink: str = ""
    last_update: int = 0
    created: int = 0
    active: int = 0
    last_payout: int = 0
    depth: int = 0
    children: int = 0
    net_rshares: int = 0
    abs_rshares: int = 0
    vote_rshares: int = 0
    children_abs_rshares: int = 0
    cashout_time: int = 0
    max_cashout_time: int = TIME_MAX
    total_vote_weight: int = 0
    reward_weight: int = 0
    total_payout_value: int = 0
    curator_payout_value: int = 0
    beneficiary_payout_value: int = 0
    author_rewards: int = 0
    net_votes: int = 0
    root_comment: int = 0
    max_accepted_payout: int = 1_000_000_000
    percent_coin_dollars: int = COIN_100_PERCENT
    allow_replies: bool = True
    allow_votes: bool = True
    allow_curation_rewards: bool = True
    beneficiaries: tuple[Any, ...] = ()
    allowed_vote_assets: tuple[Any, ...] = ()


def is_unpaid(cashout_time: int) -> bool:
    """Whether the comment has a payout time. Before hardfork 17 a reply has none: it is paid with its root."""
    return cashout_time != TIME_MAX


def is_paid(cashout_time: int) -> bool:
    """Whether the comment has no payout time."""
    return cashout_time == TIME_MAX


class Comments(Table[Comment]):
    """All posts and replies.

    No rule since hardfork 17 iterates over lazy indices. Rules look up `by_permlink` by complete keys, which needs no sorting. Most
    comments are paid, so `by_due_payout`, which the rules read, excludes them: an entry takes 72 bytes.
    """

    packed = Packed(where=(is_paid, "cashout_time"))
    by_permlink = Ordered("author", "permlink", unique=True, lazy=True)
    by_cashout_time = Ordered("cashout_time", lazy=True)
    by_due_payout = Ordered("cashout_time", where=(is_unpaid, "cashout_time"))
    by_root = Ordered("root_comment", lazy=True)
    by_parent = Ordered("parent_author", "parent_permlink", lazy=True)
    by_last_update = Ordered("parent_author", "-last_update", lazy=True)
    by_author_last_update = Ordered("author", "-last_update", lazy=True)
    set_activity = Setter("children", "active")
    set_votes = Setter("net_rshares", "abs_rshares", "vote_rshares", "total_vote_weight", "net_votes")
    set_children_abs_rshares = Setter("children_abs_rshares")
    set_payout_values = Setter("total_payout_value", "curator_payout_value", "beneficiary_payout_value")


class CommentVote(Row):
    """An account's vote on a comment. `voter` and `comment` are row ids."""

    voter: int = 0
    comment: int = 0
    weight: int = 0
    rshares: int = 0
    vote_percent: int = 0
    last_update: int = 0
    num_changes: int = 0


class CommentVotes(Table[CommentVote]):
    """All votes on comments."""

    packed = Packed()
    by_comment_voter = Ordered("comment", "voter", unique=True, lazy=True)  # only queries read its order
    by_voter_comment = Ordered("voter", "comment", lazy=True)
    of_comment = GroupedIds("comment")
