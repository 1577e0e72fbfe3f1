"""What the social index reads of the chain: ranks and relations of accounts, and what posts earn. It knows nothing of communities.

The indexer of the reference is a program of its own, which computes these from what a node answers it; here the chain's own values count.
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

Worth = Callable[[int], int]
"""A function from what a post earns, in rshares, to its pending payout in SBD; it never falls as the earning grows."""


class Payout(Struct):
    """The payout of a post in SBD, pending or paid."""

    is_paid: bool
    at: int
    total: int
    curators: int

    @property
    def pending(self) -> int:
        """The payout that is still to come."""
        return 0 if self.is_paid else self.total

    @property
    def of_author(self) -> int:
        """The part of a paid post that went to its author and beneficiaries."""
        return self.total - self.curators if self.is_paid else 0

    @property
    def of_curators(self) -> int:
        """The part of a paid post that went to its curators."""
        return self.curators if self.is_paid else 0


class ChainReader:
    """The values of the chain; an object, so that tests can put the indexer's recorded values in their place."""

    def rank(self, state: State, account: Account) -> int | None:
        """Return the position of an account, from 1, among all by vote weight. None is an account without one, as the indexer has."""
        return state.accounts.by_vote_weight.position(account.vote_weight, account.id) + 1

    def earning(self, state: State, comment: Comment) -> int:
        """Return the rshares from which the payout of a post is computed; never negative."""
        return max(comment.net_rshares, 0)

    def worth(self, state: State) -> Worth:
        """Return the worth of earnings by the reward fund and the price feed of now; without a price the fund counts as SBD."""
        worth, claims, curve, constant = payable_reward_pool(state)

        def pending(earning: int) -> int:
            return curve_value(curve, earning, constant) * worth.amount // claims if claims and earning else 0

        return pending

    def reputation(self, state: State, name: str) -> int:
        """Return the raw reputation of an account, 0 where no plugin keeps reputations."""
        known = known_reputations(state)
        return 0 if known is None else reputation_of(known, name)


def payout_of(state: State, facts: ChainReader, comment: Comment, worth: Worth) -> Payout:
    """Return the payout of a post: the paid one, or what it would be paid now."""
    at = payout_time(state, comment)
    paid = at == TIME_MAX
    banked = comment.total_payout_value + comment.curator_payout_value
    total = banked if paid else banked + worth(facts.earning(state, comment))
    return Payout(paid, comment.last_payout if paid else at, total, comment.curator_payout_value)


def rshares_of(state: State, comment: Comment) -> int:
    """Return the sum of the rshares of all votes on a post.

    While the post is unpaid this is the chain's own net_rshares, since hardfork 17; its payout clears that field, not the votes.
    """
    if state.hardfork >= FUND_HARDFORK and comment.cashout_time != TIME_MAX:
        return comment.net_rshares
    return sum([vote.rshares for vote in state.comment_votes.by_comment_voter.equal(comment.id)])


def ignores(state: State, account: str, other: str) -> bool:
    """Whether an account ignores another; never without the plugin `follow`."""
    return has_relation(state, account, other, IGNORE)


def follows(state: State, account: str, other: str) -> bool:
    """Whether an account follows another; never without the plugin `follow`."""
    return has_relation(state, account, other, BLOG)
