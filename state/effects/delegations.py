"""Delegation of VESTS and its reduction: the delegable amount, and the changes of both accounts' manabars.

Delegated VESTS take their mana along: the delegator loses as much as the delegatee gains, so that the same VESTS can't vote twice.
Hardforks 20 to 22 had mistakes here, which have remained part of their rules. Source: operations.md §6.4.
"""

from state.effects.arithmetic import share
from state.effects.mana import manabar_changes, truncated, update_manabar, used, wrapped
from state.protocol.constants import COIN_100_PERCENT, TIME_MAX
from state.protocol.errors import require
from state.protocol.values.integers import INT64_MAX
from state.tables import State
from state.tables.accounts import Account, DelegationExpiration, VestingDelegation


def lendable(state: State, account: Account) -> tuple[int, int]:
    """Return the VESTS that an account can delegate, limited by its voting mana, and limited by its downvote mana. Updates both manabars.

    An account can delegate only its own VESTS that are not being powered down and whose mana is unspent. Spent mana counts against received
    VESTS first.
    """
    left = share(account.to_withdraw - account.withdrawn)
    if state.hardfork < 20:
        # Before hardfork 20 there were no manabars.
        free = share(account.vesting_shares - account.delegated_vesting_shares - left)
        return free, free
    own = account.effective_vests - account.received_vesting_shares
    update_manabar(state, account)
    voting = min(account.voting_mana, own)
    downvote = min(downvotable(state, account), own)
    if account.next_vesting_withdrawal < TIME_MAX and left > account.vesting_withdraw_rate:
        # effective_vests excludes only this week's payment of a power-down. The VESTS of later weeks can't be delegated either.
        later = account.vesting_withdraw_rate - left
        return share(voting + later), share(downvote + later)
    return voting, downvote


def downvotable(state: State, account: Account) -> int:
    """Return the VESTS that correspond to an account's downvote mana, rounded in the account's favour."""
    percent = state.props.downvote_pool_percent
    if percent == 0:
        return account.voting_mana
    rounding = COIN_100_PERCENT // percent - 1
    if state.hardfork >= 22:
        vests = account.downvote_mana * COIN_100_PERCENT // percent + rounding
        require(vests <= INT64_MAX, condition="lo <= uint64_t( std::numeric_limits<int64_t>::max() )")
        return vests
    # Under hardfork 21 the product wrapped at 64 bits.
    return truncated(wrapped(account.downvote_mana * COIN_100_PERCENT), percent) + rounding


def lend(state: State, delegator: Account, delegatee: Account, shares: int) -> None:
    """Delegate VESTS. `lendable` must have updated the delegator's manabars."""
    changes = {"delegated_vesting_shares": share(delegator.delegated_vesting_shares + shares)}
    if state.hardfork >= 20:
        changes["voting_mana"] = used(delegator.voting_mana, shares)
    if state.hardfork >= 21:
        # Hardfork 21 subtracted the whole amount from the downvote bar, which is smaller.
        mana = pool_part(state, shares) if state.hardfork >= 22 else shares
        changes["downvote_mana"] = used(delegator.downvote_mana, mana)
    state.accounts.modify(delegator, **changes)
    bars = manabar_changes(state, delegatee, shares) if state.hardfork >= 20 else {}
    state.accounts.modify(delegatee, received_vesting_shares=share(delegatee.received_vesting_shares + shares), **bars)


def take_back(state: State, delegation: VestingDelegation, delegatee: Account, shares: int) -> None:
    """Reduce a delegation to `shares`, or end it if `shares` is 0. The difference is unusable until it returns to the delegator.

    The delay equals the time in which a manabar fills. The mana of the same VESTS therefore can't be spent by both accounts.
    """
    less = delegation.vesting_shares - shares
    returns = max(state.head_time + state.props.delegation_return_period, delegation.min_delegation_time)
    state.delegation_expirations.insert(DelegationExpiration(delegator=delegation.delegator, vesting_shares=less, expiration=returns))
    state.accounts.modify(
        delegatee,
        received_vesting_shares=share(delegatee.received_vesting_shares - less),
        **bars_after_loss(state, delegatee, less, shares),
    )
    if shares > 0:
        state.vesting_delegations.modify(delegation, vesting_shares=shares)
    else:
        state.vesting_delegations.remove(delegation)


def bars_after_loss(state: State, delegatee: Account, less: int, rest: int) -> dict[str, int]:
    """Return a delegatee's new mana after a delegation to it was reduced by `less` VESTS. `rest` is the new size of the delegation."""
    if state.hardfork >= 22:
        bars = manabar_changes(state, delegatee)
        return bars | {"voting_mana": used(bars["voting_mana"], less), "downvote_mana": used(bars["downvote_mana"], pool_part(state, less))}
    # Before hardfork 22 the bars were not updated here. Hardfork 21 subtracted the rest of the delegation from the downvote bar instead
    # of the difference. Hardfork 22 corrected both.
    changes = {"voting_mana": used(delegatee.voting_mana, less)} if state.hardfork >= 20 else {}
    return changes | {"downvote_mana": used(delegatee.downvote_mana, rest)} if state.hardfork == 21 else changes


def pool_part(state: State, shares: int) -> int:
    """Return the downvote mana of an amount of VESTS, which is a percentage of the amount."""
    return shares * state.props.downvote_pool_percent // COIN_100_PERCENT
