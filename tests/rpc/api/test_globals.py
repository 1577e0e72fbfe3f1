"""Global properties of the chain."""

import pytest

from node.specs.builder import load_spec
from state.tables.globals import RewardFund
from tests.helpers.api import ApiChain


@pytest.fixture
def api() -> ApiChain:
    return ApiChain()


def test_a_chain_without_tokens_has_no_fee_for_them() -> None:
    props = ApiChain("steem-mainnet").call("database_api.get_dynamic_global_properties")
    assert "smt_creation_fee" not in props
    assert props["total_vesting_fund_steem"]["amount"] == "0"


def test_version(api: ApiChain) -> None:
    named, old = api.call("database_api.get_version"), api.call("condenser_api.get_version")
    assert named["blockchain_version"] == old["blockchain_version"] == "0.24.0"
    assert named["chain_id"] == load_spec("testnet").chain_id.hex()
    assert old["coin_revision"] == old["fc_revision"] == "unknown"


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
