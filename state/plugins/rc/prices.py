"""The five resources: updates of their pools, and costs of usages.

A budget fills the pool of a resource with every block, and transactions empty it. The emptier the pool, the more a unit costs.
Source: block-processing.md §5.2, §5.4, §5.8.
"""

from msgspec import Struct

from state.effects.mana import wrapped
from state.plugins.rc.usage import Usage
from state.protocol.errors import DivisionByZero, require
from state.protocol.values.integers import INT64_MAX, WORD64
from state.tables.globals import SubsidyParams

NEW_ACCOUNTS = 1


Rates = tuple[tuple[int, int], ...]
"""The prices of a unit of each resource in credits, as numerator and denominator. Empty when everything is free."""


class Resource(Struct, frozen=True):
    """A resource with the parameters of its pool and of its price.

    With each block, the pool gains `budget` and loses the fraction `decay / 2**decay_shift` of its content. Without usage it converges to
    about `pool_eq`. One count of usage takes `unit` units of the pool. The price of a unit is `((regeneration * coeff_a >> shift) + 1) /
    (coeff_b + pool)`.
    """

    name: str
    unit: int
    budget: int
    pool_eq: int
    max_pool: int
    decay: int
    decay_shift: int
    coeff_a: int
    coeff_b: int
    shift: int
    min_decay: int = 0


RESOURCES = (
    Resource("resource_history_bytes", 1, 43403, 27050539251, 54101078501, 3613026481, 51, 14034213032882683904, 211332338, 52),
    Resource("resource_new_accounts", 10000, 797, 165575358, 331150715, 2709765513, 49, 17308862740555307008, 1293557, 51),
    Resource("resource_market_bytes", 10, 72338, 2003755169, 4007510337, 2540365427, 46, 9979884823383242752, 15654337, 56),
    Resource("resource_state_bytes", 1, 34722222, 21640431400373, 43280862800744, 3613026481, 51, 14034213032882683904, 169065870315, 52),
    Resource("resource_execution_time", 1, 10273973, 6403196140384, 12806392280766, 3613026481, 51, 14034213032882683904, 50024969847, 52),
)
NO_USAGE: Usage = (0, 0, 0, 0, 0)


def rates_of(resources: tuple[Resource, ...], pools: tuple[int, ...], regeneration: int) -> Rates:
    """Return the prices of all resources. `regeneration` is the number of credits that all accounts together regain per block. 0 makes
    everything free.
    """
    if regeneration <= 0:
        return ()
    return tuple(
        [
            (((regeneration * resource.coeff_a >> resource.shift) + 1) * resource.unit, resource.coeff_b + max(pool, 0))
            for resource, pool in zip(resources, pools, strict=True)
        ]
    )


def cost(rates: Rates, usage: Usage) -> int:
    """Return the cost of a transaction's usage, in credits."""
    if not rates:
        return 0
    (history, per_history), (accounts, per_accounts), (market, per_market), (state, per_state), (time, per_time) = rates
    total = 0
    # Unrolled, since most transactions use three of the five resources.
    history_used, accounts_used, market_used, state_used, time_used = usage
    try:
        if history_used > 0:
            total = history * history_used // per_history + 1
        if accounts_used > 0:
            total += accounts * accounts_used // per_accounts + 1
        if market_used > 0:
            total += market * market_used // per_market + 1
        if state_used > 0:
            total += state * state_used // per_state + 1
        if time_used > 0:
            total += time * time_used // per_time + 1
    except ZeroDivisionError:
        raise DivisionByZero from None
    return total if total <= INT64_MAX else wrapped_cost(rates, usage)


def wrapped_cost(rates: Rates, usage: Usage) -> int:
    """Return the cost of a usage that exceeds 64 bits, wrapped to 64 bits. Raises: Refused if one resource alone costs 2^64 or more."""
    total = 0
    for (numerator, denominator), count in zip(rates, usage, strict=False):
        if count > 0:
            part = numerator * count // denominator
            require(part < WORD64, condition="hi == 0")
            total += part + 1
    return wrapped(total)


def pool_after_block(resource: Resource, pool: int, taken: int) -> int:
    """Return the content of a pool one block later: less the usage `taken` and the decay, plus the budget.

    The result can be negative, and has no upper bound.
    """
    rest = pool - taken
    # A negative pool decays towards zero by the same rounded amount as a positive one.
    decay = min(abs(rest), resource.decay * abs(rest) >> resource.decay_shift)
    return rest - (decay if rest > 0 else -decay) + resource.budget


def priced(resource: Resource, subsidy: SubsidyParams) -> Resource:
    """Return the resource of new accounts with the pool parameters of `subsidy`, and the price curve computed from them.

    The coefficient is 37 / (1000 * decay), shifted left as far as it fits in 64 bits, first the numerator and then the quotient.
    """
    numerator, denominator = 37, 1000 * max(subsidy.decay_per_time_unit, 1)
    shift = 64 - numerator.bit_length()
    shift += 64 - ((numerator << shift) // denominator).bit_length()
    return Resource(
        resource.name,
        subsidy.resource_unit,
        subsidy.budget_per_time_unit,
        subsidy.pool_eq,
        subsidy.max_pool_size,
        subsidy.decay_per_time_unit,
        subsidy.decay_per_time_unit_denom_shift,
        (numerator << shift) // denominator,
        subsidy.pool_eq // 128,
        shift - subsidy.decay_per_time_unit_denom_shift,
        subsidy.min_decay,
    )
