"""Moves all property of an account to another one, as hardfork 23 did for a list of accounts.

The order of the steps is visible: each change of an SBD balance can pay interest first, and the sums in the virtual operation are read
before the balances move. Source: block-processing.md §3.27 `clear_account`.
"""

from state.effects.arithmetic import share
from state.effects.balances import adjust_balance, adjust_reward_balance, adjust_savings_balance, vests_to_coin
from state.effects.escrow import give_back_escrow
from state.effects.mana import regenerated, used
from state.effects.operation_events import emit
from state.effects.orders import cancel_order
from state.effects.votes import propagate
from state.protocol.constants import COIN_100_PERCENT, TIME_MAX
from state.protocol.values.asset import COIN, SBD, VESTS, Asset
from state.protocol.virtual import Hardfork23
from state.tables import State
from state.tables.accounts import Account


def clear_account(state: State, account: Account, treasury: Account) -> None:
    """Move all property of an account to `treasury`, and emit the virtual operation.

    `treasury` is not the account that pays proposals.
    """
    # The shares are read first, because vesting_shares are 0 when the rewards are counted.
    vesting_shares = account.vesting_shares
    vesting_coin = clear_vesting(state, account, treasury) if vesting_shares > 0 else 0
    cancel_everything(state, account)
    coin = share(account.savings_balance + account.balance + account.reward_coin_balance)
    sbd = share(account.savings_sbd_balance + account.sbd_balance + account.reward_sbd_balance)
    vests = share(vesting_shares + account.reward_vesting_balance)
    reward_coin = account.reward_vesting_coin
    move_balances(state, account, treasury)
    # The reference swaps the two amounts: the COIN sum is in sbd_transferred, and the SBD sum in coin_transferred.
    emit(
        state,
        Hardfork23(
            account=account.name,
            sbd_transferred=Asset(coin, COIN),
            coin_transferred=Asset(sbd, SBD),
            vests_converted=Asset(vests, VESTS),
            total_coin_from_vests=Asset(share(vesting_coin + reward_coin), COIN),
        ),
    )


def current_manas(state: State, account: Account) -> tuple[int, int]:
    """Return the voting and the downvote mana of an account at head time.

    The hardfork computes the size of the downvote bar without overflow at any block. The product in `downvote_maximum` wraps on test
    chains.
    """
    now, effective = state.head_time, account.effective_vests
    downvote = effective * state.props.downvote_pool_percent // COIN_100_PERCENT
    return (
        regenerated(account.voting_mana, account.voting_mana_time, effective, now),
        regenerated(account.downvote_mana, account.downvote_mana_time, downvote, now),
    )


def clear_vesting(state: State, account: Account, treasury: Account) -> int:
    """End the account's delegations, convert its VESTS to COIN of the treasury, and return that COIN.

    VESTS that are returning from ended delegations are already part of vesting_shares, so only their expirations are removed.
    """
    now, percent = state.head_time, state.props.downvote_pool_percent
    for delegation in list(state.vesting_delegations.by_delegation.equal(account.name)):
        delegatee, vests = state.account(delegation.delegatee), delegation.vesting_shares
        voting, downvote = current_manas(state, delegatee)
        state.accounts.modify(
            delegatee,
            voting_mana=used(voting, vests),
            voting_mana_time=now,
            downvote_mana=used(downvote, vests * percent // COIN_100_PERCENT),
            downvote_mana_time=now,
            received_vesting_shares=share(delegatee.received_vesting_shares - vests),
        )
        state.vesting_delegations.remove(delegation)
    for expiration in list(state.delegation_expirations.by_account_expiration.equal(account.name)):
        state.delegation_expirations.remove(expiration)
    vests = account.vesting_shares
    coin = vests_to_coin(state, vests)
    propagate(state, account, -vests)
    state.accounts.modify(
        account,
        voting_mana=0,
        voting_mana_time=now,
        downvote_mana=0,
        downvote_mana_time=now,
        vesting_shares=0,
        delegated_vesting_shares=0,
        vesting_withdraw_rate=0,
        next_vesting_withdrawal=TIME_MAX,
        to_withdraw=0,
        withdrawn=0,
    )
    adjust_balance(state, treasury, coin, COIN)
    state.set_props(
        total_vesting_fund_coin=share(state.props.total_vesting_fund_coin - coin),
        total_vesting_shares=share(state.props.total_vesting_shares - vests),
    )
    return coin


def cancel_everything(state: State, account: Account) -> None:
    """Cancel the account's escrows, orders, conversions and savings withdrawals, and credit their funds to its liquid balances.

    This includes savings withdrawals of other accounts to this account. A withdrawal from the account to itself is in both of the
    reference's lists, and is removed before the reference reads the second list.
    """
    for escrow in list(state.escrows.by_from_id.equal(account.name)):
        give_back_escrow(state, escrow)
    for order in list(state.limit_orders.by_account.equal(account.name)):
        cancel_order(state, order)
    for request in list(state.convert_requests.by_owner.equal(account.name)):
        adjust_balance(state, account, request.amount, SBD)
        state.convert_requests.remove(request)
    outgoing = list(state.savings_withdraws.by_from_rid.equal(account.name))
    incoming = [w for w in state.savings_withdraws.by_to_complete.equal(account.name) if w.from_ != account.name]
    for withdrawal in outgoing + incoming:
        adjust_balance(state, account, withdrawal.amount.amount, withdrawal.amount.symbol)
        sender = state.account(withdrawal.from_)
        state.accounts.modify(sender, savings_withdraw_requests=sender.savings_withdraw_requests - 1)
        state.savings_withdraws.remove(withdrawal)


def move_balances(state: State, account: Account, treasury: Account) -> None:
    """Move savings, liquid and reward balances, in the reference's order.

    All amounts are read first, so interest that is paid during a debit remains in the account.
    """
    for symbol, amount, take in (
        (COIN, account.savings_balance, adjust_savings_balance),
        (SBD, account.savings_sbd_balance, adjust_savings_balance),
        (COIN, account.balance, adjust_balance),
        (SBD, account.sbd_balance, adjust_balance),
        (COIN, account.reward_coin_balance, adjust_reward_balance),
        (SBD, account.reward_sbd_balance, adjust_reward_balance),
    ):
        adjust_balance(state, treasury, amount, symbol)
        take(state, account, -amount, symbol)
    adjust_balance(state, treasury, account.reward_vesting_coin, COIN)
    state.set_props(
        pending_rewarded_vesting_shares=share(state.props.pending_rewarded_vesting_shares - account.reward_vesting_balance),
        pending_rewarded_vesting_coin=share(state.props.pending_rewarded_vesting_coin - account.reward_vesting_coin),
    )
    state.accounts.modify(account, reward_vesting_coin=0, reward_vesting_balance=0)
