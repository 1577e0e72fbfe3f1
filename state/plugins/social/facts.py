"""What the social index asks the chain: how accounts rank, what they think of each other, what posts earn. It knows nothing of
communities. Source: social.md §2.2, §2.4, §2.5.
"""

from collections.abc import Callable

from msgspec import Struct

from state.effects.comments import payout_time
from state.effects.curves import curve_value
from state.effects.voting import content_pot
from state.plugins.follow import plugin as follow
from state.plugins.reputation import known_reputations, reputation_of
from state.protocol.constants import TIME_MAX
from state.tables import State
from state.tables.accounts import Account
from state.tables.content import Comment

FUND_HARDFORK = 17

Worth = Callable[[int], int]
"""From what a post earns to its pending payout in SBD. The more it earns, the more it is worth."""


class Payout(Struct):
    """What a post is paid, in SBD."""

    is_paid: bool
    at: int
    total: int
    curators: int

    @property
    def pending(self) -> int:
        """What is still to come."""
        return 0 if self.is_paid else self.total

    @property
    def of_author(self) -> int:
        """What went to the author's side."""
        return self.total - self.curators if self.is_paid else 0

    @property
    def of_curators(self) -> int:
        """What went to those who voted."""
        return self.curators if self.is_paid else 0


class Facts:
    """The chain's own answers. Tests put others in their place."""

    def rank(self, state: State, account: Account) -> int | None:
        """The position of an account, from 1, among all by what their votes weigh; None would be for one without."""
        return state.accounts.by_vote_weight.position(account.vote_weight, account.id) + 1

    def earning(self, state: State, comment: Comment) -> int:
        """What a payout goes by: never negative."""
        return max(comment.net_rshares, 0)

    def worth(self, state: State) -> Worth:
        """What earnings are worth by the fund and the price of now; without a price the fund counts as SBD."""
        worth, claims, curve, constant = content_pot(state)

        def pending(earning: int) -> int:
            return curve_value(curve, earning, constant) * worth.amount // claims if claims and earning else 0

        return pending

    def reputation(self, state: State, name: str) -> int:
        """What votes have made of an account."""
        known = known_reputations(state)
        return 0 if known is None else reputation_of(known, name)


def payout_of(state: State, facts: Facts, comment: Comment, worth: Worth) -> Payout:
    """What a post is paid, or would be now."""
    at = payout_time(state, comment)
    paid = at == TIME_MAX
    banked = comment.total_payout_value + comment.curator_payout_value
    total = banked if paid else banked + worth(facts.earning(state, comment))
    return Payout(paid, comment.last_payout if paid else at, total, comment.curator_payout_value)


def rshares_of(state: State, comment: Comment) -> int:
    """The sum of all votes on a post. While it is unpaid the chain has it; its payout clears that."""
    if state.hardfork >= FUND_HARDFORK and comment.cashout_time != TIME_MAX:
        return comment.net_rshares
    return sum([vote.rshares for vote in state.comment_votes.by_comment_voter.equal(comment.id)])


def ignores(state: State, account: str, other: str) -> bool:
    """Whether an account doesn't want to hear of another."""
    if follow.NAME not in state.plugins:
        return False
    row = follow.plugin(state).follows.by_pair.get(account, other)
    return row is not None and bool(row.what & follow.IGNORE)


def follows(state: State, account: str, other: str) -> bool:
    """Whether an account follows another."""
    if follow.NAME not in state.plugins:
        return False
    row = follow.plugin(state).follows.by_pair.get(account, other)
    return row is not None and bool(row.what & follow.BLOG)
