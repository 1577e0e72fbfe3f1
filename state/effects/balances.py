"""Balances, supply and prices: conversion between COIN, SBD and VESTS, and the changes of an account's balances.

Amounts are plain numbers in the smallest unit, with their symbol beside them. Divisions are those of the reference, in its
order: each one cuts, so two formulas that are equal in algebra can lead to different chains.
Source: operations.md §2.5, §2.7, §2.8; block-processing.md §3.2.
"""

from state.effects.arithmetic import narrowed, share
from state.effects.mana import update_manabar
from state.effects.operation_events import emit
from state.effects.smt_balances import adjust_token_balance, adjust_token_rewards, adjust_token_supply, create_token_vesting, token_balance
from state.effects.tokens import symbol_text
from state.effects.votes import propagate
from state.protocol.constants import (
    COIN_100_PERCENT,
    COIN_SBD_INTEREST_COMPOUND_INTERVAL_SEC,
    COIN_SECONDS_PER_YEAR,
    COIN_START_VESTING_BLOCK,
)
from state.protocol.errors import Refused, require
from state.protocol.values.asset import COIN, NULL_PRICE, SBD, VESTS, Asset, Price, convert, is_smt, is_vesting, ratio
from state.protocol.values.integers import WORD128
from state.protocol.virtual import Interest
from state.tables import State
from state.tables.accounts import Account

EMPTY_VESTING_PRICE = Price(Asset(1000, COIN), Asset(1_000_000, VESTS))


# ------------------------------------------------------------------ prices


def median_price(state: State) -> Price:
    """Return the current median price, SBD for COIN; null before there is one."""
    return state.feed.current_median_history


def to_sbd(state: State, coin: int) -> int:
    """Convert an amount of COIN to SBD at the median price; 0 without a price."""
    price = median_price(state)
    return 0 if price == NULL_PRICE else convert(Asset(coin, COIN), price).amount


def to_coin(state: State, sbd: int) -> int:
    """Convert an amount of SBD to COIN at the median price; 0 without a price."""
    price = median_price(state)
    return 0 if price == NULL_PRICE else convert(Asset(sbd, SBD), price).amount


def vests_to_coin(state: State, vests: int) -> int:
    """Convert VESTS to COIN at the price of the vesting fund; a thousand to one while the fund is empty."""
    props = state.props
    if props.total_vesting_fund_coin == 0 or props.total_vesting_shares == 0:
        return ratio(vests, 1000, 1_000_000)
    return ratio(vests, props.total_vesting_fund_coin, props.total_vesting_shares)


def coin_to_vests(state: State, coin: int) -> int:
    """Convert COIN to VESTS at the price of the vesting fund; one to a thousand while the fund is empty."""
    props = state.props
    if props.total_vesting_fund_coin == 0 or props.total_vesting_shares == 0:
        return ratio(coin, 1_000_000, 1000)
    return ratio(coin, props.total_vesting_shares, props.total_vesting_fund_coin)


def coin_to_reward_vests(state: State, coin: int) -> int:
    """Convert a reward of COIN to VESTS: rewards that wait to be claimed count in the price. Refused while the fund is empty.

    Claiming moves both sides of the pending rewards into the fund at this price, so that it changes nobody else's share.
    """
    props = state.props
    shares = share(props.total_vesting_shares + props.pending_rewarded_vesting_shares)
    fund = share(props.total_vesting_fund_coin + props.pending_rewarded_vesting_coin)
    if shares <= 0 or fund <= 0:
        raise Refused("", condition="base.amount > share_type(0)")
    return ratio(coin, shares, fund)


# ------------------------------------------------------------------ liquid balances


def balance_of(state: State, account: Account, symbol: int) -> int:
    """Return the liquid balance of COIN, SBD or a token; VESTS are refused."""
    if symbol == COIN:
        return account.balance
    if symbol == SBD:
        return account.sbd_balance
    if symbol == VESTS:
        condition = "symbol.space() == asset_symbol_type::smt_nai_space"
        raise Refused("Invalid symbol: ${s}", condition=condition, s=symbol_text(symbol))
    return token_balance(state, account.name, symbol)


def adjust_balance_of(state: State, name: str, delta: int, symbol: int) -> None:
    """Credit the account of a name; a token's balance is kept by name and needs no account."""
    if is_smt(symbol):
        adjust_token_balance(state, name, delta, symbol)
    else:
        adjust_balance(state, state.account(name), delta, symbol)


def adjust_balance(state: State, account: Account, delta: int, symbol: int) -> None:
    """Change a liquid balance (VESTS: vesting_shares); refused where it would become negative. SBD earns interest first.

    A debit is checked twice, as in the reference: against the balance as it is, for every era, and after the change, where
    interest has been added and hardfork 20 has ruled out negative balances.
    """
    if delta < 0:
        available = balance_of(state, account, symbol)
        if available < -delta:
            raise Refused(
                "Account ${acc} does not have sufficient funds for balance adjustment. Required: ${r}, Available: ${a}",
                condition="available >= -delta",
                acc=account.name,
                r=Asset(delta, symbol),
                a=Asset(available, symbol),
            )
    accounts = state.accounts
    if symbol == COIN:
        balance = share(account.balance + delta)
        if balance < 0:
            require_funds(state, "Insufficient COIN funds")
        accounts.modify(account, balance=balance)
    elif symbol == SBD:
        changes = interest(state, account)
        balance = share(changes.get("sbd_balance", account.sbd_balance) + delta)
        if balance < 0:
            require_funds(state, "Insufficient SBD funds")
        accounts.modify(account, **changes | {"sbd_balance": balance})
    elif symbol == VESTS:
        balance = share(account.vesting_shares + delta)
        if balance < 0:
            require_funds(state, "Insufficient VESTS funds")
        accounts.modify(account, vesting_shares=balance)
    else:
        adjust_token_balance(state, account.name, delta, symbol)


def require_funds(state: State, text: str) -> None:
    """Refuse a balance that has become negative; before hardfork 20 it was stored."""
    require(state.hardfork < 20, text, condition="balance.amount.value >= 0")


def accrued(state: State, balance: int, seconds: int, since: int, paid: int) -> tuple[int, int, bool]:
    """Return the interest due on an SBD balance: (its new seconds, the interest, whether it is paid now).

    "Seconds" are the balance summed over time since the last payment. Interest is paid 30 days after it at the earliest, so
    an account whose last payment is the time 0 is paid on the first change of its balance.
    """
    now = state.head_time
    seconds = (seconds + balance * (now - since)) % WORD128
    if seconds > 0 and now - paid > COIN_SBD_INTEREST_COMPOUND_INTERVAL_SEC:
        due = seconds // COIN_SECONDS_PER_YEAR * state.props.sbd_interest_rate // COIN_100_PERCENT
        return 0, narrowed(due), True
    return seconds, 0, False


def pay_interest(state: State, owner: str, due: int) -> None:
    """Report earned interest, and add it to the supply."""
    if due > 0:
        emit(state, Interest(owner=owner, interest=Asset(due, SBD)))
    props = state.props
    # Not to_coin: without a price the reference fails here, even for interest of 0.
    value = convert(Asset(due, SBD), median_price(state)).amount
    state.set_props(current_sbd_supply=share(props.current_sbd_supply + due), virtual_supply=share(props.virtual_supply + value))


def interest(state: State, account: Account) -> dict[str, int]:
    """Return the changes of an account by the interest on its liquid SBD up to now; pays what is due."""
    now = state.head_time
    if account.sbd_seconds_last_update == now:
        return {}
    seconds, due, paid = accrued(
        state, account.sbd_balance, account.sbd_seconds, account.sbd_seconds_last_update, account.sbd_last_interest_payment
    )
    changes = {"sbd_seconds": seconds, "sbd_seconds_last_update": now}
    if paid:
        changes |= {"sbd_balance": share(account.sbd_balance + due), "sbd_last_interest_payment": now}
        pay_interest(state, account.name, due)
    return changes


# ------------------------------------------------------------------ savings and rewards


def savings_of(account: Account, symbol: int) -> int:
    """Return the balance of COIN or SBD in an account's savings."""
    return account.savings_balance if symbol == COIN else account.savings_sbd_balance


def adjust_savings_balance(state: State, account: Account, delta: int, symbol: int) -> None:
    """Change a balance of the savings; callers check that there is enough (before hardfork 20 nothing is checked here)."""
    if symbol == COIN:
        balance = share(account.savings_balance + delta)
        if balance < 0:
            require_funds(state, "Insufficient savings COIN funds")
        state.accounts.modify(account, savings_balance=balance)
        return
    require(symbol == SBD, condition="invalid symbol")
    changes = savings_interest(state, account)
    balance = share(changes.get("savings_sbd_balance", account.savings_sbd_balance) + delta)
    if balance < 0:
        require_funds(state, "Insufficient savings SBD funds")
    state.accounts.modify(account, **changes | {"savings_sbd_balance": balance})


def savings_interest(state: State, account: Account) -> dict[str, int]:
    """Return the changes of an account by the interest on the SBD of its savings up to now; pays what is due."""
    now = state.head_time
    if account.savings_sbd_seconds_last_update == now:
        return {}
    seconds, due, paid = accrued(
        state,
        account.savings_sbd_balance,
        account.savings_sbd_seconds,
        account.savings_sbd_seconds_last_update,
        account.savings_sbd_last_interest_payment,
    )
    changes = {"savings_sbd_seconds": seconds, "savings_sbd_seconds_last_update": now}
    if paid:
        changes |= {"savings_sbd_balance": share(account.savings_sbd_balance + due), "savings_sbd_last_interest_payment": now}
        pay_interest(state, account.name, due)
    return changes


def adjust_reward_balance(state: State, account: Account, value: int, symbol: int, vests: int = 0) -> None:
    """Change rewards that wait to be claimed: COIN or SBD, or VESTS together with the COIN that they stand for."""
    if is_vesting(symbol):
        raise Refused("", condition="value_delta.symbol.is_vesting() == false && share_delta.symbol.is_vesting()")
    if symbol == COIN and vests == 0:
        balance = share(account.reward_coin_balance + value)
        if balance < 0:
            require_funds(state, "Insufficient reward COIN funds")
        state.accounts.modify(account, reward_coin_balance=balance)
    elif symbol == COIN:
        balance = share(account.reward_vesting_balance + vests)
        if balance < 0:
            require_funds(state, "Insufficient reward VESTS funds")
        state.accounts.modify(account, reward_vesting_coin=share(account.reward_vesting_coin + value), reward_vesting_balance=balance)
    elif symbol == SBD:
        if vests != 0:
            raise Refused("", condition="share_delta.amount.value == 0")
        balance = share(account.reward_sbd_balance + value)
        if balance < 0:
            require_funds(state, "Insufficient reward SBD funds")
        state.accounts.modify(account, reward_sbd_balance=balance)
    else:
        adjust_token_rewards(state, account.name, value, symbol, vests)


# ------------------------------------------------------------------ supply, vesting, SBD


def adjust_supply(state: State, delta: int, symbol: int, adjust_vesting: bool = False) -> None:
    """Change the supply of COIN, SBD or a token.

    With `adjust_vesting`, for the rewards before hardfork 16, nine times the new COIN goes into the vesting fund as well: the
    inflation of the first year paid nine tenths to those who had powered up.
    """
    props = state.props
    if symbol == COIN:
        new_vesting = 9 * delta if adjust_vesting and delta > 0 and props.head_block_number >= COIN_START_VESTING_BLOCK else 0
        supply = share(props.current_supply + delta + new_vesting)
        require(supply >= 0 or state.hardfork < 20, condition="props.current_supply.amount.value >= 0")
        state.set_props(
            current_supply=supply,
            virtual_supply=share(props.virtual_supply + delta + new_vesting),
            total_vesting_fund_coin=share(props.total_vesting_fund_coin + new_vesting),
        )
        return
    if symbol != SBD:
        require(symbol != VESTS, "invalid symbol", condition="false")
        adjust_token_supply(state, delta, symbol)
        return
    supply = share(props.current_sbd_supply + delta)
    # A negative supply has no worth: this refuses it under any hardfork.
    worth = convert(Asset(supply, SBD), median_price(state)).amount
    state.set_props(current_sbd_supply=supply, virtual_supply=share(worth + props.current_supply))


def add_vesting(state: State, to: Account, coin: int, vests: int) -> None:
    """Credit VESTS, and add the COIN that became them to the vesting fund; mana and witness votes follow.

    The caller has taken the COIN from where it was, or made it.
    """
    if state.hardfork >= 20:
        # Before the balance changes: the bar regenerates up to now by the VESTS that the account had until now.
        update_manabar(state, to, vests)
    adjust_balance(state, to, vests, VESTS)
    props = state.props
    state.set_props(
        total_vesting_fund_coin=share(props.total_vesting_fund_coin + coin),
        total_vesting_shares=share(props.total_vesting_shares + vests),
    )
    propagate(state, to, vests)


def create_vesting(state: State, to: Account, liquid: int, symbol: int = COIN) -> int:
    """Turn COIN (or a token) into VESTS (or the token's vesting shares) of an account at the current price; returns these."""
    if symbol != COIN:
        return create_token_vesting(state, to.name, liquid, symbol)
    vests = coin_to_vests(state, liquid)
    add_vesting(state, to, liquid, vests)
    return vests
