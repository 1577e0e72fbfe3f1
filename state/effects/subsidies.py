"""Pools of subsidised accounts: their parameters, growth and decay, in 1/10000 accounts.

Each block adds a fixed budget to a pool and subtracts a fraction of its content. Without claims, any pool approaches the equilibrium budget
/ fraction, so unclaimed accounts don't accumulate. The fraction is the fixed-point number decay / 2^36. A common pool limits the free
accounts of the chain. A pool per elected witness ensures that no witness uses up the common one in its own blocks.
Source: operations.md §2.12; block-processing.md §3.9.5, §3.18.
"""

from state.protocol import constants
from state.protocol.values.integers import UINT32_MAX
from state.tables.globals import SubsidyParams

BUDGET_MAX = 2**31 - 1
DECAY_MAX = UINT32_MAX


def subsidy_params(budget: int, decay: int, min_decay: int = 0) -> SubsidyParams:
    """Return the parameters of a pool of free accounts. Its equilibrium, rounded up, is also its maximum."""
    size = -(-(budget << constants.COIN_RD_DECAY_DENOM_SHIFT) // decay)
    return SubsidyParams(
        constants.COIN_ACCOUNT_SUBSIDY_PRECISION, budget, size, size, decay, constants.COIN_RD_DECAY_DENOM_SHIFT, min_decay
    )


def witness_params(budget: int, decay: int, min_decay: int = 0) -> SubsidyParams:
    """Return the parameters of a witness's pool from the budget and decay of the common one.

    A witness's pool changes only in the witness's blocks, about every 21st. Its budget per block is 125 % of the common pool's, which over
    time is a small part of the common budget. Its decay per block is 2100 % of the common pool's, which makes up for the blocks in between.
    """
    budget = min(budget * constants.COIN_WITNESS_SUBSIDY_BUDGET_PERCENT // constants.COIN_100_PERCENT, BUDGET_MAX)
    decay = min(decay * constants.COIN_WITNESS_SUBSIDY_DECAY_PERCENT // constants.COIN_100_PERCENT, DECAY_MAX)
    return subsidy_params(budget, decay, min_decay)


def decay_of(params: SubsidyParams, pool: int) -> int:
    """Return the decay of a pool in a block. The decay of a negative pool is the negated decay of its absolute value."""
    if pool < 0:
        return -decay_of(params, -pool)
    return min(pool, params.decay_per_time_unit * pool >> params.decay_per_time_unit_denom_shift)


def backstop_decay(params: SubsidyParams, median_pool: int) -> int:
    """Return the minimum decay of a witness's pool: nine tenths of the median pool's decay.

    A nearly empty pool hardly decays. Without this minimum, the pool of a witness that uses up its accounts would grow faster than the
    others.
    """
    return max(decay_of(params, median_pool), 0) * constants.COIN_DECAY_BACKSTOP_PERCENT // constants.COIN_100_PERCENT


def pool_after_block(params: SubsidyParams, pool: int) -> int:
    """Return the content of a pool one block later, between 0 and its maximum."""
    decay = max(decay_of(params, pool), params.min_decay)
    return max(0, min(params.max_pool_size, pool + params.budget_per_time_unit - decay))
