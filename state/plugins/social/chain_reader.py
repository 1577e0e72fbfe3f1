"""Chain data that the social index needs: ranks and relations of accounts, payouts of posts.

The reference's indexer is a separate program that computes these values from a node's replies. Here they are read from the chain's state.
Source: social.md §2.2, §2.4, §2.5.
"""

from collections.abc import Callable

from msgspec import Struct

from state.effects.comments import payout_time
from state.effects.curves import curve_value
from state.effects.voting import payable_reward_pool
from state.plugins.follow.lists import has_relation, known_reputations
from state.plugins.follow.rows import BLOG, IGNORE
from state.plugins.reputation import reputation_of
from state.protocol.constants import TIME_MAX
from state.tables import State
from state.tables.accounts import Account
from state.tables.content import Comment

FUND_HARDFORK = 17
RANKS = (200, 1000, 6500, 25_000, 100_000)
BELOW_RANKS = tuple(rank - 1 for rank in RANKS)

Worth = Callable[[int], int]
"""A monotonic function from the rshares that a post earns to its pending payout in SBD."""


class Payout(Struct):
    """The payout of a post in SBD, pending or paid."""

    is_paid: bool
    at: int
    total: int
    curators: int

    @property
    def pending(self) -> int:
        """The pending payout in SBD, 0 for a paid post."""
        return 0 if self.is_paid else self.total

    @property
    def of_author(self) -> int:
        """The payout of a paid post to its author and beneficiaries; 0 if unpaid."""
        return self.total - self.curators if self.is_paid else 0

    @property
    def of_curators(self) -> int:
        """The payout of a paid post to its curators; 0 if unpaid."""
        return self.curators if self.is_paid else 0


class ChainReader:
    """Reader of values that the chain determines. Tests replace it with an object that returns the values recorded from the reference's
    indexer.
    """

    def rank(self, state: State, account: Account) -> int | None:
        """Return the rank of an account by vote weight, from 1. None means that the indexer hasn't ranked the account."""
        return state.accounts.by_vote_weight.position(account.vote_weight, account.id) + 1

    def rank_class(self, state: State, account: Account) -> int:
        """Return the number of RANKS that are at most the rank of an account."""
        return state.accounts.by_vote_weight.class_of(BELOW_RANKS, account.vote_weight, account.id)

    def earning(self, state: State, comment: Comment) -> int:
        """Return the rshares from which the payout of a post is computed, at least 0."""
        return max(comment.net_rshares, 0)

    def worth(self, state: State) -> Worth:
        """Return the function that converts earnings to SBD with the current reward fund and price feed. Without a price, the fund counts
        as SBD.
        """
        worth, claims, curve, constant = payable_reward_pool(state)

        def pending(earning: int) -> int:
            return curve_value(curve, earning, constant) * worth.amount // claims if claims and earning else 0

        return pending

    def reputation(self, state: State, name: str) -> int:
        """Return the raw reputation of an account, 0 if no plugin for reputations is enabled."""
        known = known_reputations(state)
        return 0 if known is None else reputation_of(known, name)


def payout_of(state: State, facts: ChainReader, comment: Comment, worth: Worth) -> Payout:
    """Return the payout of a post. For an unpaid post, this is the payout that it would get now."""
    at = payout_time(state, comment)
    paid = at == TIME_MAX
    banked = comment.total_payout_value + comment.curator_payout_value
    total = banked if paid else banked + worth(facts.earning(state, comment))
    return Payout(paid, comment.last_payout if paid else at, total, comment.curator_payout_value)


def rshares_of(state: State, comment: Comment) -> int:
    """Return the sum of the rshares of all votes on a post.

    Since hardfork 17 this is net_rshares while the post is unpaid. The payout resets that field but not the votes.
    """
    if state.hardfork >= FUND_HARDFORK and comment.cashout_time != TIME_MAX:
        return comment.net_rshares
    votes = state.comment_votes
    return sum([vote.rshares for vote in map(votes.peek, votes.of_comment.ids(comment.id)) if vote is not None])


def ignores(state: State, account: str, other: str) -> bool:
    """Whether an account ignores another account. Always False without the plugin `follow`."""
    return has_relation(state, account, other, IGNORE)


def follows(state: State, account: str, other: str) -> bool:
    """Whether an account follows another account. Always False without the plugin `follow`."""
    return has_relation(state, account, other, BLOG)
