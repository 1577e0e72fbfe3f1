"""Witness votes and what moves them: the weight of VESTS, along proxies. Source: operations.md §2.10."""

from state.effects.arithmetic import share
from state.protocol.asset import INT64_MIN
from state.protocol.constants import COIN_MAX_PROXY_RECURSION_DEPTH
from state.protocol.errors import DivisionByZero, require
from state.tables import State
from state.tables.accounts import Account
from state.tables.witnesses import Witness

WORD = 2**128


def lap_length(state: State) -> int:
    """The length of a lap in virtual time; 64 bits before hardfork 2."""
    return 2**128 - 1 if state.hardfork >= 2 else 2**64 - 1


def scheduled_after(state: State, start: int, position: int, votes: int) -> int:
    """When a witness that has come so far will have finished its lap. Votes can be negative before hardfork 3."""
    try:
        return (start + (lap_length(state) - position) % WORD // ((votes + 1) % WORD)) % WORD
    except ZeroDivisionError:
        raise DivisionByZero from None


def adjust_witness_vote(state: State, witness: Witness, delta: int) -> None:
    """Change a witness's votes and move it in virtual time."""
    now = state.schedule.current_virtual_time
    position = (witness.virtual_position + witness.votes * (now - witness.virtual_last_update)) % WORD
    votes, most = witness.votes + delta, state.props.total_vesting_shares
    if not INT64_MIN <= votes <= most:
        share(votes)
        require(votes <= most, condition="w.votes <= get_dynamic_global_properties().total_vesting_shares.amount")
    scheduled = scheduled_after(state, now, position, votes)
    if state.hardfork >= 4 and scheduled < now:
        # Since hardfork 4 a time that has wrapped is put at the end.
        scheduled = WORD - 1
    state.witnesses.modify(witness, votes=votes, virtual_position=position, virtual_last_update=now, virtual_scheduled_time=scheduled)


def voted_witnesses(state: State, account: Account) -> list[Witness]:
    """The witnesses that an account votes for, by name."""
    return [state.witness(vote.witness) for vote in state.witness_votes.by_account_witness.equal(account.name)]


def propagate(state: State, account: Account, delta: int) -> None:
    """Add weight to what an account votes for, or to its proxy's, up to four steps away; even none moves witnesses in time."""
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
    """What an account's votes weigh, by distance: its own VESTS, and those proxied to it from one to four steps away."""
    return (account.vesting_shares, *account.proxied_vsf_votes)


def propagate_all(state: State, account: Account, deltas: tuple[int, ...]) -> None:
    """Move an account's own weight and what is proxied to it (five numbers, by distance) to what it votes for."""
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
    """Forget all witness votes of an account, without touching the witnesses."""
    for vote in list(state.witness_votes.by_account_witness.equal(account.name)):
        state.witness_votes.remove(vote)
    if state.hardfork >= 6:
        # Before hardfork 6 the counter was left as it was.
        state.accounts.modify(account, witnesses_voted_for=0)
