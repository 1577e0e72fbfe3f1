"""Block steps that pay requested withdrawals: power-downs and withdrawals from savings. Source: block-processing.md §3.16, §3.17."""

from state.effects.arithmetic import share
from state.effects.balances import adjust_balance, vests_to_coin
from state.effects.operation_events import announce, complete, emit
from state.effects.votes import propagate
from state.protocol.constants import COIN_100_PERCENT, COIN_VESTING_WITHDRAW_INTERVAL_SECONDS, TIME_MAX
from state.protocol.errors import require
from state.protocol.transaction import SignedBlock
from state.protocol.values.asset import COIN, VESTS, Asset
from state.protocol.virtual import FillTransferFromSavings, FillVestingWithdraw
from state.tables import State
from state.tables.accounts import Account, WithdrawRoute

SAVINGS_UNITS = 2


def process_vesting_withdrawals(state: State, block: SignedBlock) -> None:
    """Pay the weekly part of every due power-down."""
    due = state.accounts.by_due_withdrawal
    account = due.first()
    while account is not None and account.next_vesting_withdrawal <= state.head_time:
        # The next account is found before this one is rescheduled by a week, because it can still be due then, after a long gap.
        following = next(due.after(account.next_vesting_withdrawal, account.name), None)
        pay_withdrawal(state, account)
        account = following


def pay_withdrawal(state: State, account: Account) -> None:
    """Pay one week's part of a power-down: to the account's routes as VESTS or COIN, and the rest to the account itself as COIN.

    Routes in VESTS come first. Each conversion uses the current price, which earlier conversions have changed.
    """
    amount = due_amount(account)
    routes = list(state.withdraw_routes.by_withdraw_route.equal(account.name))
    rest = amount
    for route in routes:
        if route.auto_vest:
            rest -= pay_out(state, route, amount)
    for route in routes:
        if not route.auto_vest:
            rest -= pay_route(state, route, amount)
    require(rest >= 0, "Deposited more vests than were supposed to be withdrawn", condition="to_convert >= 0")
    coin = vests_to_coin(state, rest)
    notice = fill(account.name, account.name, rest, Asset(coin, COIN))
    announce(state, notice)
    settle(state, account, amount, coin)
    leave_fund(state, coin, rest)
    if amount > 0:
        propagate(state, account, -amount)
    complete(state, notice)


def due_amount(account: Account) -> int:
    """Return the VESTS to pay this week: the rate, or in the last week the remainder, but at most the account's VESTS."""
    rate = account.vesting_withdraw_rate
    if account.to_withdraw - account.withdrawn < rate:
        return min(account.vesting_shares, account.to_withdraw % rate)
    return min(account.vesting_shares, rate)


def pay_out(state: State, route: WithdrawRoute, amount: int) -> int:
    """Pay a route's part of the week's VESTS to its target account as VESTS, and return the part.

    As in the reference, manabars are not updated here.
    """
    part = amount * route.percent // COIN_100_PERCENT
    if part > 0:
        target = state.account(route.to_account)
        notice = fill(route.from_account, target.name, part, Asset(part, VESTS))
        announce(state, notice)
        state.accounts.modify(target, vesting_shares=share(target.vesting_shares + part))
        propagate(state, target, part)
        complete(state, notice)
    return part


def pay_route(state: State, route: WithdrawRoute, amount: int) -> int:
    """Pay a route's part of the week's VESTS to its target account as COIN at the current price. Return the part in VESTS."""
    part = amount * route.percent // COIN_100_PERCENT
    if part > 0:
        target = state.account(route.to_account)
        coin = vests_to_coin(state, part)
        notice = fill(route.from_account, target.name, part, Asset(coin, COIN))
        announce(state, notice)
        state.accounts.modify(target, balance=share(target.balance + coin))
        leave_fund(state, coin, part)
        complete(state, notice)
    return part


def fill(source: str, target: str, vests: int, deposited: Asset) -> FillVestingWithdraw:
    """Return the virtual operation of one payment."""
    return FillVestingWithdraw(from_account=source, to_account=target, withdrawn=Asset(vests, VESTS), deposited=deposited)


def settle(state: State, account: Account, amount: int, coin: int) -> None:
    """Subtract the week's VESTS, credit the account with its own part in COIN, and end the power-down or schedule the next week."""
    shares, withdrawn = share(account.vesting_shares - amount), share(account.withdrawn + amount)
    if withdrawn >= account.to_withdraw or shares == 0:
        going_on = {"vesting_withdraw_rate": 0, "next_vesting_withdrawal": TIME_MAX}
    else:
        going_on = {"next_vesting_withdrawal": account.next_vesting_withdrawal + COIN_VESTING_WITHDRAW_INTERVAL_SECONDS}
    state.accounts.modify(account, vesting_shares=shares, balance=share(account.balance + coin), withdrawn=withdrawn, **going_on)


def leave_fund(state: State, coin: int, vests: int) -> None:
    """Remove converted VESTS and their COIN from the vesting fund."""
    props = state.props
    state.set_props(
        total_vesting_fund_coin=share(props.total_vesting_fund_coin - coin), total_vesting_shares=share(props.total_vesting_shares - vests)
    )


def process_savings_withdraws(state: State, block: SignedBlock) -> None:
    """Pay the withdrawals from savings whose three-day delay is over."""
    withdrawals = state.savings_withdraws
    while (withdrawal := withdrawals.by_complete_from_rid.first()) is not None and withdrawal.complete <= state.head_time:
        state.work.spend(SAVINGS_UNITS, "withdrawals from savings")
        adjust_balance(state, state.account(withdrawal.to), withdrawal.amount.amount, withdrawal.amount.symbol)
        source = state.account(withdrawal.from_)
        state.accounts.modify(source, savings_withdraw_requests=source.savings_withdraw_requests - 1)
        emit(
            state,
            FillTransferFromSavings(
                from_=withdrawal.from_, to=withdrawal.to, amount=withdrawal.amount, request_id=withdrawal.request_id, memo=withdrawal.memo
            ),
        )
        withdrawals.remove(withdrawal)
