"""Witness votes: their weight in VESTS, its propagation through proxies, and the witnesses' schedule in virtual time.

Witnesses run laps in virtual time at the speed votes + 1. The first to finish a lap gets the next slot that isn't a top witness's
(state.chain.steps.schedule), so each produces in proportion to its votes. Positions and times are unsigned 128-bit numbers that wrap,
as in the reference. Source: operations.md §2.10; block-processing.md §3.2, §3.9.1.
"""

from state.effects.arithmetic import quotient, share
from state.protocol.constants import COIN_MAX_PROXY_RECURSION_DEPTH
from state.protocol.errors import require
from state.protocol.values.integers import INT64_MIN, UINT64_MAX, UINT128_MAX, WORD128
from state.tables import State
from state.tables.accounts import Account
from state.tables.witnesses import Witness

VOTE_UNITS = 1


def lap_length(state: State) -> int:
    """Return the length of a lap: the largest 128-bit number, before hardfork 2 the largest 64-bit number."""
    return UINT128_MAX if state.hardfork >= 2 else UINT64_MAX


def time_for(distance: int, votes: int) -> int:
    """Return the virtual time in which a witness covers a distance at the speed votes + 1.

    Before hardfork 3 votes could be negative: hardfork 1 multiplied VESTS by a million, so a power-down subtracted more votes from the
    account's witnesses than it had added. As an unsigned number such a speed is huge, and the time 0. With -1 votes the speed is 0, and the
    reference's division by zero refuses the transaction or block.
    """
    return quotient(distance, (votes + 1) % WORD128)


def scheduled_after(state: State, start: int, position: int, votes: int) -> int:
    """Return the time at which a witness at `position` at time `start` finishes its lap."""
    return (start + time_for((lap_length(state) - position) % WORD128, votes)) % WORD128


def adjust_witness_vote(state: State, witness: Witness, delta: int) -> None:
    """Change a witness's votes. Its position in the lap is first advanced to now at the old speed, then its arrival is computed at the new
    speed.
    """
    state.work.spend(VOTE_UNITS, "witness votes")
    now = state.schedule.current_virtual_time
    position = (witness.virtual_position + witness.votes * (now - witness.virtual_last_update)) % WORD128
    votes, most = witness.votes + delta, state.props.total_vesting_shares
    if not INT64_MIN <= votes <= most:
        share(votes)
        if state.spec.is_partial and votes > most:
            votes -= drop_outside_votes(state, witness, votes - most)
        require(votes <= most, condition="w.votes <= get_dynamic_global_properties().total_vesting_shares.amount")
    scheduled = scheduled_after(state, now, position, votes)
    if state.hardfork >= 4 and scheduled < now:
        # The time of a slow witness can wrap, which puts it first. Since hardfork 4 it is last instead.
        scheduled = UINT128_MAX
    state.witnesses.set_votes(witness, votes, position, now, scheduled)


def drop_outside_votes(state: State, witness: Witness, weight: int) -> int:
    """Drop outside votes for a witness, at most `weight`, on a partial chain. Return the weight that was dropped.

    Among them can be the weight of an account that is here, but whose proxy's votes aren't. If such an account loses its VESTS, the votes
    remain, and a witness can get more votes than there are VESTS.
    """
    row = state.outside_witness_votes.by_witness.get(witness.owner)
    if row is None:
        return 0
    dropped = min(row.weight, weight)
    state.outside_witness_votes.modify(row, weight=row.weight - dropped)
    return dropped


def voted_witnesses(state: State, account: Account) -> list[Witness]:
    """Return the witnesses that an account votes for, in arbitrary order, since callers change each witness independently."""
    return [state.witness(vote.witness) for vote in state.witness_votes.of_account.of(account.name)]


def propagate(state: State, account: Account, delta: int) -> None:
    """Add weight to the witnesses that an account votes for, or that its proxy votes for, up to four proxies away.

    Even a `delta` of 0 has an effect: it advances the witnesses' positions in virtual time to now, and recomputes the times at which they
    finish their laps, which rounds these times again.
    """
    for depth in range(COIN_MAX_PROXY_RECURSION_DEPTH + 1):
        if not account.proxy:
            for witness in voted_witnesses(state, account):
                adjust_witness_vote(state, witness, delta)
            return
        if depth == COIN_MAX_PROXY_RECURSION_DEPTH:
            return
        account = state.account(account.proxy)
        votes = list(account.proxied_vsf_votes)
        votes[depth] = share(votes[depth] + delta)
        state.accounts.modify(account, proxied_vsf_votes=tuple(votes))


def own_and_proxied(account: Account) -> tuple[int, ...]:
    """Return the parts of an account's vote weight: its own VESTS, then the VESTS of accounts that reach it through one to four proxies."""
    return (account.vesting_shares, *account.proxied_vsf_votes)


def propagate_all(state: State, account: Account, deltas: tuple[int, ...]) -> None:
    """Add weights by distance (see `own_and_proxied`) to the witnesses that an account or its proxies vote for.

    Each proxy increases all distances by one. Weights more than four proxies away are dropped.
    """
    for depth in range(COIN_MAX_PROXY_RECURSION_DEPTH + 1):
        if not account.proxy:
            total = share(sum(deltas[: COIN_MAX_PROXY_RECURSION_DEPTH - depth + 1]))
            for witness in voted_witnesses(state, account):
                adjust_witness_vote(state, witness, total)
            return
        if depth == COIN_MAX_PROXY_RECURSION_DEPTH:
            return
        account = state.account(account.proxy)
        votes = list(account.proxied_vsf_votes)
        for i in range(COIN_MAX_PROXY_RECURSION_DEPTH - depth):
            votes[i + depth] = share(votes[i + depth] + deltas[i])
        state.accounts.modify(account, proxied_vsf_votes=tuple(votes))


def clear_witness_votes(state: State, account: Account) -> None:
    """Remove all witness votes of an account. The caller must have subtracted their weight from the witnesses."""
    for vote in state.witness_votes.of_account.of(account.name):
        state.work.spend(VOTE_UNITS, "witness votes")
        state.witness_votes.remove(vote)
    if state.hardfork >= 6:
        # Before hardfork 6 the counter included removed votes. Hardforks 6 and 8 recounted.
        state.accounts.modify(account, witnesses_voted_for=0)
