"""Pools of subsidised accounts: how they are set up, fill and decay, in 1/10000 accounts.
Source: operations.md §2.12; block-processing.md §3.9.5, §3.18.
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
    """The parameters of a pool; its equilibrium is also its maximum."""
    size = -(-(budget << COIN_RD_DECAY_DENOM_SHIFT) // decay)
    return SubsidyParams(COIN_ACCOUNT_SUBSIDY_PRECISION, budget, size, size, decay, COIN_RD_DECAY_DENOM_SHIFT, min_decay)


def witness_params(budget: int, decay: int, min_decay: int = 0) -> SubsidyParams:
    """The parameters of each witness's own pool, from the same budget and decay."""
    budget = min(budget * COIN_WITNESS_SUBSIDY_BUDGET_PERCENT // COIN_100_PERCENT, BUDGET_MAX)
    decay = min(decay * COIN_WITNESS_SUBSIDY_DECAY_PERCENT // COIN_100_PERCENT, DECAY_MAX)
    return subsidy_params(budget, decay, min_decay)


def decay_of(params: SubsidyParams, pool: int) -> int:
    """What a pool loses in a block; an odd function for negative pools."""
    if pool < 0:
        return -decay_of(params, -pool)
    return min(pool, params.decay_per_time_unit * pool >> params.decay_per_time_unit_denom_shift)


def backstop_decay(params: SubsidyParams, median_pool: int) -> int:
    """The least decay of a witness's pool: nine tenths of what the median one loses."""
    return max(decay_of(params, median_pool), 0) * COIN_DECAY_BACKSTOP_PERCENT // COIN_100_PERCENT


def pool_after_block(params: SubsidyParams, pool: int) -> int:
    """A pool one block later."""
    decay = max(decay_of(params, pool), params.min_decay)
    return max(0, min(params.max_pool_size, pool + params.budget_per_time_unit - decay))
