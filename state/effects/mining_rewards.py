"""What mining and making the market liquid once earned: yearly percentages of the supply, with a minimum each.
Source: operations.md §13, §17.8; block-processing.md §3.19.
"""

from state.protocol.constants import (
    COIN_APR_PERCENT_MULTIPLY_PER_HOUR,
    COIN_APR_PERCENT_MULTIPLY_PER_ROUND,
    COIN_APR_PERCENT_SHIFT_PER_HOUR,
    COIN_APR_PERCENT_SHIFT_PER_ROUND,
    COIN_LIQUIDITY_APR_PERCENT,
    COIN_MAX_WITNESSES,
    COIN_MIN_LIQUIDITY_REWARD,
    COIN_MIN_POW_REWARD,
    COIN_POW_APR_PERCENT,
    COIN_START_VESTING_BLOCK,
)
from state.tables import State


def part_of_year(supply: int, percent: int, factor: int, shift: int) -> int:
    """A yearly percentage of the supply for a part of the year that a fixed-point factor stands for, rounded, in unsigned 128 bits."""
    return (supply * percent * factor + (1 << (shift - 1))) % 2**128 >> shift


def pow_reward(state: State) -> int:
    """What one proof of work brings, in COIN. On the main build the first miners got nothing."""
    props = state.props
    few = props.num_pow_witnesses < COIN_MAX_WITNESSES and props.head_block_number < COIN_START_VESTING_BLOCK
    if few and not state.spec.is_test:
        return 0
    factor, shift = COIN_APR_PERCENT_MULTIPLY_PER_ROUND, COIN_APR_PERCENT_SHIFT_PER_ROUND
    return max(COIN_MIN_POW_REWARD, part_of_year(props.virtual_supply, COIN_POW_APR_PERCENT, factor, shift))


def liquidity_reward(state: State) -> int:
    """What the most liquid market maker gets each hour, in COIN."""
    factor, shift = COIN_APR_PERCENT_MULTIPLY_PER_HOUR, COIN_APR_PERCENT_SHIFT_PER_HOUR
    return max(COIN_MIN_LIQUIDITY_REWARD, part_of_year(state.props.virtual_supply, COIN_LIQUIDITY_APR_PERCENT, factor, shift))
