"""Payment of rewards: since hardfork 17 to unclaimed balances, and before to liquid balances and VESTS.

Source: operations.md §2.8; block-processing.md §3.2.
"""

from state.effects import balances
from state.effects.arithmetic import share
from state.protocol.constants import COIN_100_PERCENT
from state.protocol.values.asset import COIN, NULL_PRICE, SBD
from state.tables import State
from state.tables.accounts import Account


def vests_of_reward(state: State, coin: int) -> int:
    """Convert a reward of COIN to VESTS. Since hardfork 17 the price includes unclaimed rewards."""
    return balances.coin_to_reward_vests(state, coin) if state.hardfork >= 17 else balances.coin_to_vests(state, coin)


def add_vesting_reward(state: State, to: Account, coin: int, vests: int) -> None:
    """Pay a reward in VESTS. `vests` is the result of `vests_of_reward` for `coin`.

    A reward too small for any VESTS is unclaimed COIN, which still counts as pending for the vesting fund.
    """
    if state.hardfork < 17:
        balances.add_vesting(state, to, coin, vests)
        return
    balances.adjust_reward_balance(state, to, coin, COIN, vests)
    props = state.props
    shares = share(props.pending_rewarded_vesting_shares + vests)
    state.global_properties.set_pending_vesting(props, share(props.pending_rewarded_vesting_coin + coin), shares)


def add_sbd_reward(state: State, to: Account, coin: int) -> tuple[int, int]:
    """Pay a reward in SBD up to the print rate, and the rest in COIN. Return both amounts."""
    if coin == 0:
        return 0, 0
    if balances.median_price(state) == NULL_PRICE:
        # This reward is liquid even since hardfork 17: as in the reference, it need not be claimed if there is no price.
        balances.adjust_balance(state, to, coin, COIN)
        return 0, coin
    printed = share(state.props.sbd_print_rate * coin) // COIN_100_PERCENT
    sbd, rest = balances.to_sbd(state, printed), coin - printed
    add = balances.adjust_reward_balance if state.hardfork >= 17 else balances.adjust_balance
    add(state, to, sbd, SBD)
    add(state, to, rest, COIN)
    balances.adjust_supply(state, -printed, COIN)
    balances.adjust_supply(state, sbd, SBD)
    return sbd, rest
