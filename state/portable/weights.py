"""Vote weights on a partial chain.

Accounts that aren't on the chain vote, too, directly or by proxies that are on the chain. The source shows only the sums of their votes.
Tables of the state keep these sums as outside votes, and the row of `all others` corrects the total (others.py). When such an account is
imported, its own part is subtracted from the sums, so that the sums that methods show stay the same.
"""

from collections import Counter

from msgspec import Struct

from state.effects.votes import adjust_witness_vote
from state.portable.others import grow, others
from state.protocol.constants import COIN_MAX_PROXY_RECURSION_DEPTH
from state.protocol.values.asset import VESTS
from state.tables import State
from state.tables.accounts import Account
from state.tables.partial import OutsideProposalVotes, OutsideWitnessVotes

PROXY_CHAIN_MAX = 2 * COIN_MAX_PROXY_RECURSION_DEPTH
Proxied = tuple[int, int, int, int]


class Weight(Struct, frozen=True):
    """An account's part of the weight of all votes, the weight of its own votes, and the witnesses and proposals that it votes for."""

    part: int = 0
    votes: int = 0
    witnesses: tuple[str, ...] = ()
    proposals: tuple[int, ...] = ()


def weight_of(state: State, account: Account) -> Weight:
    """Return an account's current weight."""
    votes = 0 if account.proxy else account.witness_vote_weight
    return Weight(
        part=account.proxied_vsf_votes[3] if account.proxy else votes,
        votes=votes,
        witnesses=tuple(vote.witness for vote in state.witness_votes.of_account.of(account.name)),
        proposals=tuple(vote.proposal_id for vote in state.proposal_votes.by_voter_proposal.equal(account.name)),
    )


class Weights:
    """Compares the weights of accounts before and after an import.

    Call `note` before an account or its votes change. `settle` then corrects the sums.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._before: dict[str, Weight] = {}
        row, props = others(state), state.props
        self._others, self._total = row.vesting_shares, props.total_vesting_shares

    def note(self, name: str) -> None:
        """Remember the weight of an account, which needn't exist."""
        if name not in self._before:
            account = self._state.accounts.by_name.get(name)
            self._before[name] = Weight() if account is None else weight_of(self._state, account)

    def left(self) -> int:
        """Return the weight that `all others` has beyond the weights of the accounts that are here; negative if it lacks weight."""
        state, row = self._state, others(self._state)
        change = sum(weight_of(state, state.account(name)).part - before.part for name, before in self._before.items())
        return self._others + row.proxied_vsf_votes[0] + state.props.total_vesting_shares - self._total - change

    def settle(self) -> None:
        """Correct the row of `all others`, and the weights of outside votes."""
        state, left = self._state, self.left()
        if left < 0:
            grow(state, Counter({VESTS: -left}))
            state.accounts.modify(others(state), vesting_shares=others(state).vesting_shares - left)
        row = others(state)
        state.accounts.modify(row, proxied_vsf_votes=(max(left, 0) - row.vesting_shares, 0, 0, 0))
        known: Counter[str] = Counter()
        proposed: Counter[int] = Counter()
        for name, before in self._before.items():
            for weight, sign in ((before, -1), (weight_of(state, state.account(name)), 1)):
                for witness in weight.witnesses:
                    known[witness] += sign * weight.votes
                for proposal in weight.proposals:
                    proposed[proposal] += sign * weight.votes
        for witness, change in sorted(known.items()):
            take_witness_votes(state, witness, change)
        for proposal, change in sorted(proposed.items()):
            take_proposal_votes(state, proposal, change)


def take_witness_votes(state: State, owner: str, change: int) -> None:
    """Subtract the weight of imported votes from the outside votes for a witness. If it is larger, the witness gets more votes."""
    table, witness = state.outside_witness_votes, state.witness(owner)
    row = table.by_witness.get(owner) or table.insert(OutsideWitnessVotes(witness=owner))
    weight = row.weight - change
    table.modify(row, weight=max(weight, 0))
    if weight < 0:
        adjust_witness_vote(state, witness, -weight)


def take_proposal_votes(state: State, proposal_id: int, change: int) -> None:
    """Subtract the weight of imported votes from the outside votes for a proposal."""
    table = state.outside_proposal_votes
    row = table.by_proposal_id.get(proposal_id) or table.insert(OutsideProposalVotes(proposal_id=proposal_id))
    table.modify(row, weight=max(row.weight - change, 0))


# ------------------------------------------------------------------ proxies


def known_proxied(state: State, name: str) -> Proxied:
    """Return the weights that an account has, by distance, from the accounts here that use it as their proxy."""
    first = second = third = fourth = 0
    for client in state.accounts.by_proxy.equal(name):
        one, two, three, _ = client.proxied_vsf_votes
        first, second, third, fourth = first + client.vesting_shares, second + one, third + two, fourth + three
    return first, second, third, fourth


def proxy_chain(state: State, name: str) -> list[str]:
    """Return an account and its proxies, in the order in which they pass on its votes."""
    chain = [name]
    while (proxy := state.account(chain[-1]).proxy) and len(chain) <= PROXY_CHAIN_MAX and proxy not in chain:
        chain.append(proxy)
    return chain


def set_proxied(state: State, weights: Weights, given: dict[str, Proxied]) -> None:
    """Set the weights that proxies have from their clients. `given` are the source's weights of the imported accounts.

    Weight beyond that of the clients on this chain comes from accounts that aren't here, at most as much as `all others` has. An account
    that was here before keeps its weight, or gets more if its clients here have more.
    """
    depths: dict[str, int] = {}
    for name in given:
        chain = proxy_chain(state, name)
        for distance, proxy in enumerate(reversed(chain)):
            depths[proxy] = max(depths.get(proxy, 0), distance)
    order = sorted(depths, key=lambda name: (-depths[name], name))
    for name in order:
        weights.note(name)
    _propagate(state, order, given, 0)
    _propagate(state, order, given, max(weights.left(), 0))


def _propagate(state: State, order: list[str], given: dict[str, Proxied], left: int) -> None:
    """Set the weights of accounts, first those furthest from the account that votes for them. `left` is the weight of `all others`."""
    for name in order:
        account, known = state.account(name), known_proxied(state, name)
        proxied = []
        for at, weight in enumerate(known):
            if name in given:
                outside = min(max(given[name][at] - weight, 0), left)
                left -= outside
                proxied.append(weight + outside)
            else:
                partial = state.partial_accounts.by_account.get(name)
                cover = partial.vests if partial is not None and not at else 0
                proxied.append(max(account.proxied_vsf_votes[at], weight - cover))
        if tuple(proxied) != account.proxied_vsf_votes:
            state.accounts.modify(account, proxied_vsf_votes=tuple(proxied))
