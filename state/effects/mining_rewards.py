"""Early rewards for mining and market liquidity: yearly percentages of the supply, each with a minimum.

Source: operations.md §13, §17.8; block-processing.md §3.19.
"""

from state.protocol import constants
from state.protocol.values.integers import WORD128
from state.tables import State


def part_of_year(supply: int, percent: int, factor: int, shift: int) -> int:
    """Return a yearly percentage of the supply for `factor` / 2^`shift` of a year, rounded."""
    return (supply * percent * factor + (1 << (shift - 1))) % WORD128 >> shift


def pow_reward(state: State) -> int:
    """Return the reward of one proof of work in COIN.

    On the main build miners got nothing until 21 of them were in the queue or the vesting fund began to grow.
    """
    props = state.props
    few = props.num_pow_witnesses < constants.COIN_MAX_WITNESSES and props.head_block_number < constants.COIN_START_VESTING_BLOCK
    if few and not state.spec.is_test:
        return 0
    factor, shift = constants.COIN_APR_PERCENT_MULTIPLY_PER_ROUND, constants.COIN_APR_PERCENT_SHIFT_PER_ROUND
    return max(constants.COIN_MIN_POW_REWARD, part_of_year(props.virtual_supply, constants.COIN_POW_APR_PERCENT, factor, shift))


def liquidity_reward(state: State) -> int:
    """Return the hourly reward of the market maker with the most volume, in COIN."""
    factor, shift = constants.COIN_APR_PERCENT_MULTIPLY_PER_HOUR, constants.COIN_APR_PERCENT_SHIFT_PER_HOUR
    return max(
        constants.COIN_MIN_LIQUIDITY_REWARD, part_of_year(state.props.virtual_supply, constants.COIN_LIQUIDITY_APR_PERCENT, factor, shift)
    )
