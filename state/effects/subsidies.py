"""Pools of subsidised accounts: their parameters, and how they fill and decay, in 1/10000 accounts.

A pool gets a fixed budget each block and loses a fraction of what it holds, so that without claims it approaches the
equilibrium budget / fraction, whatever it began with: unclaimed accounts don't pile up. The fraction is a fixed-point number,
decay / 2^36. There is one pool for all, which decides how many free accounts the chain gives away, and one for each elected
witness, so that none can use up all of it in its own blocks. Source: operations.md §2.12; block-processing.md §3.9.5, §3.18.
"""

from state.protocol.constants import (
    COIN_100_PERCENT,
    COIN_ACCOUNT_SUBSIDY_PRECISION,
    COIN_DECAY_BACKSTOP_PERCENT,
    COIN_RD_DECAY_DENOM_SHIFT,
    COIN_WITNESS_SUBSIDY_BUDGET_PERCENT,
    COIN_WITNESS_SUBSIDY_DECAY_PERCENT,
)
from state.protocol.values.integers import UINT32_MAX
from state.tables.globals import SubsidyParams

BUDGET_MAX = 2**31 - 1
DECAY_MAX = UINT32_MAX


def subsidy_params(budget: int, decay: int, min_decay: int = 0) -> SubsidyParams:
    """Return the parameters of a pool; its equilibrium, rounded up, is also its maximum."""
    size = -(-(budget << COIN_RD_DECAY_DENOM_SHIFT) // decay)
    return SubsidyParams(COIN_ACCOUNT_SUBSIDY_PRECISION, budget, size, size, decay, COIN_RD_DECAY_DENOM_SHIFT, min_decay)


def witness_params(budget: int, decay: int, min_decay: int = 0) -> SubsidyParams:
    """Return the parameters of the witnesses' own pools, from the budget and the decay of the common one.

    A witness's pool moves only in the blocks that it makes, every 21st or so: its budget, 125 % of the common one, is therefore
    a small part of it over time, and its decay of 2100 % makes up for the blocks in between.
    """
    budget = min(budget * COIN_WITNESS_SUBSIDY_BUDGET_PERCENT // COIN_100_PERCENT, BUDGET_MAX)
    decay = min(decay * COIN_WITNESS_SUBSIDY_DECAY_PERCENT // COIN_100_PERCENT, DECAY_MAX)
    return subsidy_params(budget, decay, min_decay)


def decay_of(params: SubsidyParams, pool: int) -> int:
    """Return what a pool loses in a block; of a negative pool, as much as of the positive one with the sign changed."""
    if pool < 0:
        return -decay_of(params, -pool)
    return min(pool, params.decay_per_time_unit * pool >> params.decay_per_time_unit_denom_shift)


def backstop_decay(params: SubsidyParams, median_pool: int) -> int:
    """Return the least decay of a witness's pool: nine tenths of what the median one loses.

    By itself a nearly empty pool hardly decays; with the backstop the pool of a witness that uses up its accounts is not
    refilled faster than the others.
    """
    return max(decay_of(params, median_pool), 0) * COIN_DECAY_BACKSTOP_PERCENT // COIN_100_PERCENT


def pool_after_block(params: SubsidyParams, pool: int) -> int:
    """Return a pool one block later, between 0 and its maximum."""
    decay = max(decay_of(params, pool), params.min_decay)
    return max(0, min(params.max_pool_size, pool + params.budget_per_time_unit - decay))
