"""Paying rewards to accounts: since hardfork 17 into balances that wait to be claimed, before into liquid ones and VESTS.
Source: operations.md §2.8; block-processing.md §3.2.
"""

from state.effects.arithmetic import share
from state.effects.balances import (
    add_vesting,
    adjust_balance,
    adjust_reward_balance,
    adjust_supply,
    coin_to_reward_vests,
    coin_to_vests,
    median_price,
    to_sbd,
)
from state.protocol.constants import COIN_100_PERCENT
from state.protocol.values.asset import COIN, NULL_PRICE, SBD
from state.tables import State
from state.tables.accounts import Account


def vests_of_reward(state: State, coin: int) -> int:
    """Return the VESTS that a reward of COIN becomes; before hardfork 17 there were no waiting rewards to count in the price."""
    return coin_to_reward_vests(state, coin) if state.hardfork >= 17 else coin_to_vests(state, coin)


def add_vesting_reward(state: State, to: Account, coin: int, vests: int) -> None:
    """Give an account a reward in VESTS: `vests`, which `vests_of_reward` has computed from `coin`.

    A reward too small for any VESTS waits as COIN, and its COIN counts as pending for the vesting fund all the same.
    """
    if state.hardfork < 17:
        add_vesting(state, to, coin, vests)
        return
    adjust_reward_balance(state, to, coin, COIN, vests)
    props = state.props
    state.set_props(
        pending_rewarded_vesting_shares=share(props.pending_rewarded_vesting_shares + vests),
        pending_rewarded_vesting_coin=share(props.pending_rewarded_vesting_coin + coin),
    )


def add_sbd_reward(state: State, to: Account, coin: int) -> tuple[int, int]:
    """Give an account a reward in SBD, as far as the print rate allows, and the rest in COIN; returns both amounts."""
    if coin == 0:
        return 0, 0
    if median_price(state) == NULL_PRICE:
        # Liquid even since hardfork 17: without a price the reference leaves out the waiting balances.
        adjust_balance(state, to, coin, COIN)
        return 0, coin
    printed = share(state.props.sbd_print_rate * coin) // COIN_100_PERCENT
    sbd, rest = to_sbd(state, printed), coin - printed
    add = adjust_reward_balance if state.hardfork >= 17 else adjust_balance
    add(state, to, sbd, SBD)
    add(state, to, rest, COIN)
    adjust_supply(state, -printed, COIN)
    adjust_supply(state, sbd, SBD)
    return sbd, rest
