"""Prices and pools of the five resources (block-processing.md §8 E9)."""

from state.operations.content import Vote
from state.operations.transfers import Transfer
from state.plugins.rc.prices import NEW_ACCOUNTS, RESOURCES, cost, pool_after_block, priced, rates_of
from state.plugins.rc.usage import usage_of
from state.tables.globals import SubsidyParams
from tests.state.plugins.rc.test_usage import sized

EQUILIBRIUM = tuple(resource.pool_eq for resource in RESOURCES)
FULL = tuple(resource.max_pool for resource in RESOURCES)
REGENERATION = 394 * 10**15 // 144_000
SUBSIDY = SubsidyParams(10_000, 797, 157691079, 157691079, 347321, 36)


def test_the_cost_of_transactions() -> None:
    equilibrium, full = rates_of(RESOURCES, EQUILIBRIUM, REGENERATION), rates_of(RESOURCES, FULL, REGENERATION)
    transfer, vote = usage_of(sized(150, Transfer())), usage_of(sized(120, Vote()))
    assert transfer == (150, 0, 150, 174 * 185, 9600)
    history, accounts, market, state_bytes, time = transfer
    alone = [(history, 0, 0, 0, 0), (0, accounts, 0, 0, 0), (0, 0, market, 0, 0), (0, 0, 0, state_bytes, 0), (0, 0, 0, 0, time)]
    assert [cost(equilibrium, usage) for usage in alone] == [
        46_913_476,
        0,
        281_479_237,
        12_584_540,
        12_684_014,
    ]
    assert (cost(equilibrium, transfer), cost(full, transfer)) == (353_661_267, 177_518_692)
    assert vote == (120, 0, 0, 26970 + 24675, 26500)
    assert cost(equilibrium, vote) == 92_734_333


def test_nothing_costs_anything_while_nothing_regenerates() -> None:
    assert cost(rates_of(RESOURCES, EQUILIBRIUM, 0), (10**6,) * 5) == 0


def test_an_empty_pool_is_the_dearest() -> None:
    usage = usage_of(sized(150, Transfer()))
    empty, negative = (rates_of(RESOURCES, (pool,) * 5, REGENERATION) for pool in (0, -(10**9)))
    assert cost(empty, usage) == cost(negative, usage) > cost(rates_of(RESOURCES, EQUILIBRIUM, REGENERATION), usage)


def test_the_price_of_new_accounts_follows_the_subsidy() -> None:
    resource = priced(RESOURCES[NEW_ACCOUNTS], SUBSIDY)
    assert (resource.coeff_a, resource.shift, resource.coeff_b) == (16484671763857882971, 51, 1231961)
    claim = (0, 1, 0, 0, 0)
    resources = (*RESOURCES[:NEW_ACCOUNTS], resource, *RESOURCES[NEW_ACCOUNTS + 1 :])
    pools = tuple(resource.pool_eq for resource in resources)
    assert cost(rates_of(resources, pools, 4 * 10**17 // 144_000), claim) == 1_279_561_488_492
    assert cost(rates_of(resources, pools, REGENERATION), claim) == 1_260_368_066_165


def test_a_pool_decays_and_is_filled_up() -> None:
    history = RESOURCES[0]
    assert pool_after_block(history, 27050539251, 5000) == 27050534252
    assert pool_after_block(history, 0, 5000) == 43403 - 5000
    assert pool_after_block(history, 0, 27050539251) == -27050539251 + 43403 + 43402
    assert pool_after_block(history, -(10**9), 10**6) == -(10**9) - 10**6 + 43403 + 1606
