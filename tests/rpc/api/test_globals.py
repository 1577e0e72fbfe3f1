"""Global properties of the chain."""

import pytest

from node.specs.builder import load_spec
from state.protocol.config import config_object
from state.protocol.values.asset import COIN, SBD, Asset, Price
from state.tables.globals import ChainProperties, RewardFund
from tests.helpers.api import ApiChain


@pytest.fixture
def api() -> ApiChain:
    """The chain at genesis."""
    return ApiChain()


def test_global_properties_in_both_forms(api: ApiChain) -> None:
    api.state.set_props(current_aslot=2**40, sps_interval_ledger=1234)
    named, old = api.call("database_api.get_dynamic_global_properties"), api.call("condenser_api.get_dynamic_global_properties")
    assert named["current_supply"] == {"amount": "250000000000", "precision": 3, "nai": "@@000000021"}
    assert old["current_supply"] == "250000000.000 COIN"
    assert old["sps_interval_ledger"] == "1.234 SBD"
    assert named["current_aslot"] == str(2**40)
    assert named["total_pow"] == str(2**64 - 1)
    assert named["recent_slots_filled"] == str(2**128 - 1)
    assert named["smt_creation_fee"] == {"amount": "1000", "precision": 3, "nai": "@@000000013"}
    assert (old["average_block_size"], old["current_reserve_ratio"]) == (0, 200_000_000)
    assert old["max_virtual_bandwidth"] == str(393216000 * 20000 * 1_000_000 * 604800 // 3)
    assert (named["id"], "id" in old) == (0, False)


def test_a_chain_without_tokens_has_no_fee_for_them() -> None:
    props = ApiChain("steem-mainnet").call("database_api.get_dynamic_global_properties")
    assert "smt_creation_fee" not in props
    assert props["total_vesting_fund_steem"]["amount"] == "0"


def test_config_is_the_same_in_both_groups(api: ApiChain) -> None:
    config = api.call("condenser_api.get_config")
    assert config == api.call("database_api.get_config") == config_object(load_spec("testnet"))
    assert config["COIN_CHAIN_ID"] == load_spec("testnet").chain_id.hex()


def test_version(api: ApiChain) -> None:
    named, old = api.call("database_api.get_version"), api.call("condenser_api.get_version")
    assert named["blockchain_version"] == old["blockchain_version"] == "0.24.0"
    assert named["chain_id"] == load_spec("testnet").chain_id.hex()
    assert old["coin_revision"] == old["fc_revision"] == "unknown"


def test_chain_properties_are_the_medians(api: ApiChain) -> None:
    medians = ChainProperties(account_creation_fee=3000, account_subsidy_budget=5)
    api.state.witness_schedules.modify(api.state.schedule, median_props=medians)
    props = api.call("condenser_api.get_chain_properties")
    assert props["account_creation_fee"] == "3.000 COIN"
    assert props["account_subsidy_limit"] == props["account_subsidy_budget"] == 5


def test_price_feed(api: ApiChain) -> None:
    price = Price(Asset(250, SBD), Asset(1000, COIN))
    api.state.feed_histories.modify(api.state.feed, current_median_history=price, price_history=(price,))
    old = {"base": "0.250 SBD", "quote": "1.000 COIN"}
    assert api.call("condenser_api.get_current_median_history_price") == old
    assert api.call("condenser_api.get_feed_history") == {"id": 0, "current_median_history": old, "price_history": [old]}
    named = api.call("database_api.get_current_price_feed")
    assert named["base"] == {"amount": "250", "precision": 3, "nai": "@@000000013"}
    assert api.call("database_api.get_feed_history")["price_history"] == [named]


def test_hardforks(api: ApiChain) -> None:
    genesis = api.call("database_api.get_hardfork_properties")
    assert (genesis["last_hardfork"], genesis["processed_hardforks"]) == (0, ["2016-01-01T00:00:00"])
    assert api.call("condenser_api.get_hardfork_version") == "0.0.0"
    api.start(1)
    hardforks = api.call("database_api.get_hardfork_properties")
    assert hardforks == api.call("debug_node_api.debug_get_hardfork_property_object")
    assert hardforks["last_hardfork"] == 24
    assert len(hardforks["processed_hardforks"]) == 25
    assert api.call("condenser_api.get_hardfork_version") == "0.24.0"
    scheduled = api.call("condenser_api.get_next_scheduled_hardfork")
    assert scheduled == {"hf_version": hardforks["next_hardfork"], "live_time": hardforks["next_hardfork_time"]}


def test_reward_funds(api: ApiChain) -> None:
    assert api.call("database_api.get_reward_funds") == {"funds": []}
    api.state.reward_funds.insert(RewardFund(name="post", reward_balance=5, recent_claims=2**70, author_reward_curve=4))
    (fund,) = api.call("database_api.get_reward_funds")["funds"]
    assert (fund["recent_claims"], fund["author_reward_curve"]) == (str(2**70), "convergent_linear")


def test_one_reward_fund(api: ApiChain) -> None:
    api.state.reward_funds.insert(RewardFund(name="post", reward_balance=1500, recent_claims=2**70))
    fund = api.call("condenser_api.get_reward_fund", "post")
    assert (fund["reward_balance"], fund["recent_claims"]) == ("1.500 COIN", str(2**70))
    unknown = "Assert Exception:fund != nullptr: Invalid reward fund name"
    assert api.refused("condenser_api.get_reward_fund", "none") == (-32003, unknown)


def test_reserve_ratio() -> None:
    api = ApiChain()
    api.state.set_props(average_block_size=5)
    assert api.call("witness_api.get_reserve_ratio") == {
        "id": 0,
        "average_block_size": 5,
        "current_reserve_ratio": 200_000_000,
        "max_virtual_bandwidth": str(393216000 * 20000 * 1_000_000 * 604800 // 3),
    }
