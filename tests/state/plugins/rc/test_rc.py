"""Plugin rc: recorded credits, pools and prices; worked examples; who pays; what changes a bar; undo."""

from typing import Any

import pytest

from state.chain.chain import Chain
from state.operations.accounts import AccountCreate, ClaimAccount
from state.operations.authorities import RecoverAccount
from state.operations.content import Vote
from state.operations.custom import Custom, CustomJson
from state.operations.transfers import Transfer
from state.operations.vesting import TransferToVesting, WithdrawVesting
from state.operations.witnesses import WitnessSetProperties
from state.plugins.rc import plugin as rc
from state.plugins.rc.prices import NEW_ACCOUNTS, RESOURCES, cost, pool_after_block, priced, rates_of
from state.plugins.rc.usage import EXECUTION_TIMES, SIZES, added, usage_of
from state.protocol.errors import PluginRefused
from state.protocol.keys.authority import Authority
from state.protocol.operation import OPERATIONS, Operation
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import Asset
from state.protocol.virtual import Hardfork
from state.tables import State
from state.tables.globals import SubsidyParams
from tests.conformance.play import Player
from tests.conftest import CASES
from tests.helpers.chains import BLOCK, add_account, apply, chain_at, move_to, push, refused, set_median
from tests.helpers.operations import SAMPLES, sample
from tests.helpers.snapshots import pieces, snapshot

EQUILIBRIUM = tuple(resource.pool_eq for resource in RESOURCES)
FULL = tuple(resource.max_pool for resource in RESOURCES)
REGENERATION = 394 * 10**15 // 144_000
SUBSIDY = SubsidyParams(10_000, 797, 157691079, 157691079, 347321, 36)


def sized(size: int, *operations: Operation) -> SignedTransaction:
    """A transaction of this size, whatever it holds."""
    return SignedTransaction(operations=operations, size=size)


def chain_with_credits(hardfork: int = 23) -> Chain:
    """A chain on which credits have just started, with one account that has VESTS and one that has none."""
    chain = chain_at(hardfork, plugins=[rc.NAME])
    state = chain.state
    add_account(state, "alice", balance=1000, vesting_shares=10**12)
    add_account(state, "bob")
    state.set_props(head_block_number=state.spec.constants.RC_START_BLOCK)
    rc.after_block(state, BLOCK)
    return chain


def bar(state: State, name: str) -> rc.RcAccount:
    """The bar of an account."""
    row = rc.find_rc_account(state, name)
    assert row is not None
    return row


def set_bar(state: State, name: str, **values: int) -> None:
    """Give a bar other values."""
    rc.plugin(state).accounts.modify(bar(state, name), **values)


# ------------------------------------------------------------------ recordings


def answer(state: State, method: str, params: Any) -> Any:
    """What rc_api tells, as plain texts."""
    if method == "rc_api.get_resource_pool":
        return {resource.name: str(pool) for resource, pool in zip(rc.resources(state), rc.pools(state), strict=True)}
    if method == "rc_api.get_resource_params":
        return {resource.name: [str(n) for n in (resource.pool_eq, resource.coeff_a, resource.coeff_b)] for resource in rc.resources(state)}
    rows = [row for name in params.get("accounts", []) if (row := rc.find_rc_account(state, name))]
    return [
        [row.account, str(row.mana), row.mana_time, str(rc.maximum_rc(state.account(row.account), row.adjustment)), str(row.adjustment)]
        for row in rows
    ]


def recorded(result: Any) -> Any:
    """The same of a recorded result."""
    if "resource_pool" in result:
        return {name: str(pool["pool"]) for name, pool in result["resource_pool"].items()}
    if "resource_params" in result:
        return {
            name: [
                str(n)
                for n in (
                    one["resource_dynamics_params"]["pool_eq"],
                    one["price_curve_params"]["coeff_a"],
                    one["price_curve_params"]["coeff_b"],
                )
            ]
            for name, one in result["resource_params"].items()
        }
    return [
        [
            row["account"],
            str(row["rc_manabar"]["current_mana"]),
            row["rc_manabar"]["last_update_time"],
            str(row["max_rc"]),
            row["max_rc_creation_adjustment"]["amount"],
        ]
        for row in result["rc_accounts"]
    ]


def test_credits_and_verdicts_are_the_recorded_ones() -> None:
    player = Player(CASES / "rc_limits")
    asked = broadcast = 0
    for event in player.events():
        player.advance(event["height"])
        if "trx" in event:
            assert player.broadcast(event) is None
            broadcast += 1
        elif event["method"].startswith("rc_api.") and "result" in event and event["params"] is not None:
            assert answer(player.chain.state, event["method"], event["params"]) == recorded(event["result"])
            asked += 1
    assert (broadcast, asked) == (88, 46)


def test_sizes_and_times_are_the_recorded_ones() -> None:
    events = (event for event in Player(CASES / "rc_limits").events() if event.get("method") == "rc_api.get_resource_params")
    told = next(events)["result"]["size_info"]
    assert told["resource_state_bytes"] == SIZES | {"STATE_BYTES_SCALE": 10_000}
    assert {f"{name}_operation_exec_time": time for name, time in EXECUTION_TIMES.items()} == told["resource_execution_time"]


def test_undone_and_applied_again_it_is_the_same() -> None:
    player = Player(CASES / "rc_limits")
    chain, plugin = player.chain, rc.plugin(player.chain.state)
    for block in player.blocks():
        before = snapshot(plugin)
        chain.push_block(block)
        after = snapshot(plugin)
        assert before != after
        if block.number > 1:
            chain.pop_block()
            chain.clear_pending()
            assert snapshot(plugin) == before
            chain.push_block(block)
            assert snapshot(plugin) == after
    assert pieces(snapshot(plugin)) == 3


# ------------------------------------------------------------------ usage and prices (block-processing.md §8 E9)


def test_what_transactions_cost() -> None:
    equilibrium, full = rates_of(RESOURCES, EQUILIBRIUM, REGENERATION), rates_of(RESOURCES, FULL, REGENERATION)
    transfer, vote = usage_of(sized(150, Transfer())), usage_of(sized(120, Vote()))
    assert transfer == (150, 0, 150, 174 * 185, 9600)
    assert [cost((rate,), (count, 0, 0, 0, 0)) for rate, count in zip(equilibrium, transfer, strict=True)] == [
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


@pytest.mark.parametrize(
    ("operation", "accounts", "market", "state", "time"),
    [
        (ClaimAccount(creator="alice"), 1, 0, 0, 10000),
        (ClaimAccount(creator="alice", fee=Asset(1)), 0, 0, 0, 10000),
        (CustomJson(id="follow"), 0, 0, 0, 228_000),
        (CustomJson(id="follower"), 0, 0, 0, 11400),
        (Custom(), 0, 0, 0, 11400),
        (TransferToVesting(), 0, 100, 0, 44400),
        (
            AccountCreate(owner=Authority(1, (("bob", 1),), ((b"", 1), (b"", 1)))),
            0,
            0,
            5_200_000 + 3 * 40_000 + 180_000 + 2 * 350_000,
            57700,
        ),
    ],
)
def test_what_operations_use(operation: Operation, accounts: int, market: int, state: int, time: int) -> None:
    assert usage_of(sized(100, operation)) == (100, accounts, market, 174 * 135 + state, time)


def test_operations_of_a_transaction_add_up() -> None:
    one, other = Transfer(), CustomJson(id="follow")
    alone = usage_of(sized(100, one)), usage_of(sized(100, other))
    both = usage_of(sized(100, one, other))
    assert both == (100, 0, 100, alone[0][3], alone[0][4] + alone[1][4])
    assert added((1, 2, 3, 4, 5), (10, 20, 30, 40, 50)) == (11, 22, 33, 44, 55)


# ------------------------------------------------------------------ who pays


@pytest.mark.parametrize(
    "name", sorted(name for name in SAMPLES if any(name == cls.NAME and not cls.VIRTUAL for cls in OPERATIONS.values()))
)
def test_the_short_way_finds_the_same_payer(name: str) -> None:
    operation = sample(name)
    if not isinstance(operation, WitnessSetProperties):
        assert rc.payer((operation,)) == rc.payer_of(operation)


def test_special_payers() -> None:
    bob, carol = Authority(1, (("bob", 1),)), Authority(1, (("carol", 1),))
    assert rc.payer((RecoverAccount(account_to_recover="alice", new_owner_authority=bob, recent_owner_authority=carol),)) == "bob"
    assert rc.payer((RecoverAccount(account_to_recover="alice", recent_owner_authority=carol),)) == "carol"
    assert rc.payer((RecoverAccount(account_to_recover="alice"),)) == "alice"
    assert rc.payer((WitnessSetProperties(owner="bob"),)) == "bob"
    assert rc.payer((CustomJson(required_auths=("zoe",), required_posting_auths=("amy",)),)) == "zoe"
    assert rc.payer((CustomJson(), Transfer(from_="bob"))) == "bob"
    assert rc.payer((CustomJson(),)) == ""


# ------------------------------------------------------------------ charging


def test_who_has_too_little_is_refused_on_the_way_in_and_only_there() -> None:
    chain = chain_with_credits()
    state = chain.state
    gift = Transfer(from_="alice", to="bob", amount=Asset(1))
    push(chain, gift)
    assert bar(state, "alice").mana < bar(state, "alice").last_max
    chain.clear_pending()
    set_bar(state, "alice", mana=1)
    needed = rc.transaction_cost(state, chain.state.wire.seal(SignedTransaction(operations=(gift,))))
    assert needed > 1
    text = refused(chain, gift, by=push)
    assert text == f"plugin exception:Account: alice has 1 RC, needs {needed} RC. Please wait to transact, or power up COIN.rethrow"
    apply(chain, gift)
    assert bar(state, "alice").mana == 1 - needed


def test_before_hardfork_20_nobody_is_refused() -> None:
    chain = chain_with_credits(hardfork=19)
    set_bar(chain.state, "alice", mana=1)
    push(chain, Transfer(from_="alice", to="bob", amount=Asset(1)))
    assert bar(chain.state, "alice").mana < 1


def test_a_bar_goes_only_a_little_below_zero() -> None:
    chain = chain_with_credits()
    state, row, account = chain.state, bar(chain.state, "alice"), chain.state.account("alice")
    most = rc.maximum_rc(account, row.adjustment)
    assert most == 10**12 + rc.FIRST_ADJUSTMENT
    rc.take(state, rc.plugin(state), row, account, 10**15)
    assert row.mana == -(166 * most // 10000)
    state.set_props(time=rc.NEGATIVE_SINCE)
    set_bar(state, "alice", mana=5, mana_time=rc.NEGATIVE_SINCE)
    rc.take(state, rc.plugin(state), row, account, 10**15)
    assert row.mana == 5, "long ago what couldn't be paid cost nothing"


def test_what_costs_nothing_is_never_refused() -> None:
    chain = chain_with_credits()
    state, row, account = chain.state, bar(chain.state, "alice"), chain.state.account("alice")
    set_bar(state, "alice", mana=-10)
    with state.pushing():
        rc.take(state, rc.plugin(state), row, account, 0)
        with pytest.raises(PluginRefused):
            rc.take(state, rc.plugin(state), row, account, 1)
    assert row.mana == -10


def test_a_bar_regenerates_in_five_days() -> None:
    chain = chain_with_credits()
    state, row, account = chain.state, bar(chain.state, "alice"), chain.state.account("alice")
    most = rc.maximum_rc(account, row.adjustment)
    set_bar(state, "alice", mana=0)
    move_to(state, state.head_time + 43_200)
    rc.take(state, rc.plugin(state), row, account, 0)
    assert row.mana == most // 10
    move_to(state, state.head_time + 432_000)
    rc.take(state, rc.plugin(state), row, account, 0)
    assert row.mana == most


def test_a_transaction_that_nobody_pays_is_refused_on_the_way_in() -> None:
    chain = chain_with_credits()
    trx = sized(100, CustomJson())
    rc.charge(chain.state, trx)
    with chain.state.pushing(), pytest.raises(PluginRefused, match="no resource user"):
        rc.charge(chain.state, trx)


# ------------------------------------------------------------------ bars


def test_powering_up_brings_credits_at_once_and_powering_down_takes_none() -> None:
    chain = chain_with_credits()
    state = chain.state
    set_bar(state, "bob", mana=7)
    apply(chain, TransferToVesting(from_="alice", to="bob", amount=Asset(1000)))
    gained = state.account("bob").vesting_shares
    assert gained > 0
    assert bar(state, "bob").mana == 7 + gained
    assert bar(state, "bob").last_max == rc.FIRST_ADJUSTMENT + gained
    apply(chain, WithdrawVesting(account="bob", vesting_shares=Asset(gained, 3200000070)))
    smaller = bar(state, "bob").last_max
    assert smaller < rc.FIRST_ADJUSTMENT + gained
    before = bar(state, "bob").mana
    apply(chain, WithdrawVesting(account="bob", vesting_shares=Asset(0, 3200000070)))
    assert bar(state, "bob").last_max > smaller
    assert bar(state, "bob").mana <= before, "nothing comes back, and the operation costs"


def test_a_new_account_counts_the_fee_of_its_creation() -> None:
    chain = chain_with_credits()
    state = chain.state
    set_median(state, account_creation_fee=500)
    price = state.props.total_vesting_shares, state.props.total_vesting_fund_coin
    apply(chain, AccountCreate(fee=Asset(500), creator="alice", new_account_name="carol", owner=Authority(1), active=Authority(1)))
    row = bar(state, "carol")
    assert row.adjustment == row.mana == row.last_max == 500 * price[0] // price[1]


def test_hardfork_20_fills_the_pools() -> None:
    chain = chain_with_credits()
    rc.fill_pools(chain.state, Hardfork(hardfork_id=19))
    before = rc.pools(chain.state)
    rc.fill_pools(chain.state, Hardfork(hardfork_id=20))
    assert before != rc.pools(chain.state) == tuple([0 if n == NEW_ACCOUNTS else r.max_pool for n, r in enumerate(RESOURCES)])


def test_credits_start_at_their_block() -> None:
    chain = chain_at(plugins=[rc.NAME])
    state = chain.state
    rc.after_block(state, BLOCK)
    assert rc.find_rc_account(state, "initminer") is None
    assert (rc.resources(state), rc.pools(state), rc.transaction_cost(state, sized(100, Transfer()))) == (RESOURCES, (0,) * 5, 0)
    state.set_props(head_block_number=state.spec.constants.RC_START_BLOCK, total_vesting_shares=1)
    rc.after_block(state, BLOCK)
    assert all(bar(state, account.name).adjustment == rc.FIRST_ADJUSTMENT for account in state.accounts)
    assert rc.resources(state)[NEW_ACCOUNTS] != RESOURCES[NEW_ACCOUNTS]
