"""The small groups: resource credits, reputations, where transactions are, simulated payouts, chain_api, witness_api."""

from typing import Any

import pytest

from state.effects.curves import CONTENT_CONSTANT
from state.operations.transfers import Transfer
from state.plugins import PLUGINS, follow, rc, reputation, transaction_status
from state.plugins.rc_prices import RESOURCES
from state.protocol.asset import COIN, Asset
from state.protocol.constants import TIME_MAX
from state.protocol.text import time_text
from state.protocol.transaction import SignedTransaction
from state.tables.content import Comment
from state.tables.globals import RewardFund
from tests.api_site import INIT_SECRET, NOW, Site

QUADRATIC, LINEAR = 0, 2


@pytest.fixture
def site() -> Site:
    """The chain at genesis, with every plugin."""
    return Site(plugins=[*PLUGINS, "rewards_api"])


def transfer(site: Site, amount: int = 1000) -> SignedTransaction:
    """A transaction of the first witness."""
    operation = Transfer(from_="initminer", to="null", amount=Asset(amount, COIN), memo="")
    return site.transaction(operation, signers=(INIT_SECRET,))


# ------------------------------------------------------------------ rc_api


def test_resources(site: Site) -> None:
    site.start(1)
    reply = site.call("rc_api.get_resource_params")
    assert reply["resource_names"] == [resource.name for resource in RESOURCES] == list(reply["resource_params"])
    history = reply["resource_params"]["resource_history_bytes"]
    assert history["resource_dynamics_params"]["pool_eq"] == "27050539251"
    assert history["resource_dynamics_params"]["decay_params"] == {
        "decay_per_time_unit": 3613026481,
        "decay_per_time_unit_denom_shift": 51,
    }
    assert history["price_curve_params"] == {"coeff_a": "14034213032882683904", "coeff_b": 211332338, "shift": 52}
    sizes = reply["size_info"]
    assert sizes["resource_state_bytes"]["STATE_BYTES_SCALE"] == 10000
    assert sizes["resource_execution_time"]["vote_operation_exec_time"] == 26500
    assert sizes["resource_execution_time"]["smt_create_operation_exec_time"] == 0
    of_mainnet = Site("steem-mainnet", plugins=[rc.NAME]).call("rc_api.get_resource_params")["size_info"]["resource_execution_time"]
    assert not [name for name in of_mainnet if name.startswith("smt_") or "balance2" in name]
    assert len(of_mainnet) == len(sizes["resource_execution_time"]) - 7


def test_pools_and_credits(site: Site) -> None:
    site.start(1)
    begun = site.state.head_time
    site.generate()
    pools = site.call("rc_api.get_resource_pool")["resource_pool"]
    assert {name: int(pool["pool"]) for name, pool in pools.items()} == dict(
        zip([resource.name for resource in RESOURCES], rc.pools(site.state), strict=True)
    )
    temp, miner = site.call("rc_api.find_rc_accounts", accounts=["temp", "nobody", "initminer"])["rc_accounts"]
    assert (temp["account"], miner["account"]) == ("temp", "initminer")
    assert temp["max_rc_creation_adjustment"] == {"amount": "2020748973", "precision": 6, "nai": "@@000000037"}
    assert temp["rc_manabar"] == {"current_mana": 2020748973, "last_update_time": begun}
    assert temp["max_rc"] == 2020748973
    assert int(miner["max_rc"]) > 2020748973
    assert site.call("rc_api.find_rc_accounts") == {"rc_accounts": []}
    limit = "Assert Exception:args.accounts.size() <= RC_API_SINGLE_QUERY_LIMIT: "
    assert site.refused("rc_api.find_rc_accounts", accounts=["null"] * 1001) == (-32003, limit)


# ------------------------------------------------------------------ reputations


@pytest.mark.parametrize("plugin", [follow.NAME, reputation.NAME])
def test_reputations(plugin: str) -> None:
    site = Site(plugins=[plugin])
    known = reputation.known_reputations(site.state)
    assert known is not None
    known.insert(reputation.Reputation(account="miners", reputation=-(2**33)))
    known.insert(reputation.Reputation(account="temp", reputation=2**40))
    every = site.call("condenser_api.get_account_reputations", "")
    assert [item["account"] for item in every] == [row.name for row in site.state.accounts.by_name]
    assert {item["account"]: item["reputation"] for item in every if item["reputation"]} == {"miners": -(2**33), "temp": str(2**40)}
    assert site.call("condenser_api.get_account_reputations", "j", 1) == [{"account": "miners", "reputation": -(2**33)}]
    many = "Assert Exception:args.limit <= 1000: Cannot retrieve more than 1000 account reputations at a time."
    assert site.refused("condenser_api.get_account_reputations", "", 1001) == (-32003, many)
    if plugin == reputation.NAME:
        assert site.call("reputation_api.get_account_reputations") == {"reputations": every}
        named = site.call("reputation_api.get_account_reputations", account_lower_bound="temp", limit=1)
        assert named == {"reputations": every[-1:]}


def test_reputations_without_both_plugins() -> None:
    text = "Neither follow_api_plugin nor reputation_api_plugin are enabled. One of these must be running."
    refused = (-32003, f"Assert Exception:_follow_api || _reputation_api: {text}")
    assert Site(plugins=[]).refused("condenser_api.get_account_reputations", "") == refused


# ------------------------------------------------------------------ where a transaction is


def test_where_a_transaction_is() -> None:
    site = Site(plugins=[transaction_status.NAME])
    site.start(2)
    trx = transfer(site)
    find = "transaction_status_api.find_transaction"
    assert site.call(find, transaction_id=trx.id.hex()) == {"status": "unknown"}
    site.chain.push_transaction(trx)
    assert site.call(find, transaction_id=trx.id.hex()) == {"status": "within_mempool"}
    site.generate()
    found = site.call(find, transaction_id=trx.id.hex())
    assert found in ({"status": f"within_{kind}_block", "block_num": 3} for kind in ("irreversible", "reversible"))
    assert site.call(find, transaction_id="ff", expiration=time_text(NOW))["status"] == "too_old"
    assert site.call(find, transaction_id="ff", expiration=time_text(site.state.head_time + 10**6)) == {"status": "unknown"}


# ------------------------------------------------------------------ chain_api


def test_pushing_transactions_and_blocks() -> None:
    site = Site()
    site.start(2)
    fields = site.wire.transaction_to_json(transfer(site))
    assert site.call("chain_api.push_transaction", **fields) == {"success": True}
    site.generate()
    assert len(site.call("condenser_api.get_block", 3)["transactions"]) == 1
    refused = site.call("chain_api.push_transaction", **fields | {"signatures": []})
    assert refused["success"] is False
    assert "Duplicate transaction" in refused["error"]
    other = Site()
    blocks = [site.call("block_api.get_block", block_num=number)["block"] for number in (1, 2, 3)]
    assert other.call("chain_api.push_block", block=blocks[0]) == {"success": True}
    assert other.call("chain_api.push_block", block=blocks[2], currently_syncing=True)["error"].startswith("unlinkable block")
    assert other.call("chain_api.push_block", block=blocks[1], currently_syncing=True) == {"success": True}
    assert other.state.props.head_block_number == 2


# ------------------------------------------------------------------ witness_api


def test_reserve_ratio(site: Site) -> None:
    site.state.set_props(average_block_size=5)
    assert site.call("witness_api.get_reserve_ratio") == {
        "id": 0,
        "average_block_size": 5,
        "current_reserve_ratio": 200_000_000,
        "max_virtual_bandwidth": str(393216000 * 20000 * 1_000_000 * 604800 // 3),
    }


def test_bandwidth_is_not_served(site: Site) -> None:
    text = "Assert Exception:method_itr != api_itr->second.end(): Could not find method get_account_bandwidth"
    assert site.refused("witness_api.get_account_bandwidth", account="temp", type="forum") == (-32002, text)


# ------------------------------------------------------------------ simulated payouts


def comment(site: Site, permlink: str, rshares: int, cashout: int = NOW) -> None:
    """A post that waits for its payout."""
    site.state.comments.insert(Comment(author="temp", permlink=permlink, net_rshares=rshares, cashout_time=cashout))


def simulate(site: Site, curve: Any, constant: int = CONTENT_CONSTANT) -> Any:
    """Simulated amounts by permlink, and the claims."""
    reply = site.call("rewards_api.simulate_curve_payouts", curve=curve, var1=str(constant))
    return {item["permlink"]: int(item["payout"]["amount"]) for item in reply["payouts"]}, int(reply["recent_claims"])


def test_simulated_payouts(site: Site) -> None:
    assert site.call("rewards_api.simulate_curve_payouts", curve="linear", var1="0") == {"recent_claims": "0", "payouts": []}
    site.state.reward_funds.insert(
        RewardFund(name="post", reward_balance=1000, recent_claims=600, content_constant=CONTENT_CONSTANT, author_reward_curve=LINEAR)
    )
    comment(site, "later", 300, NOW + 1)
    comment(site, "sooner", 100)
    comment(site, "hated", -100)
    comment(site, "unloved", 0)
    comment(site, "paid", 100, TIME_MAX)
    payouts, claims = simulate(site, "linear")
    assert (list(payouts.items()), claims) == ([("sooner", 100), ("later", 300)], 600)
    # 100² : 300², and the claims so far grow as those of the comments do
    payouts, claims = simulate(site, "quadratic", 0)
    assert (payouts, claims) == ({"sooner": 40, "later": 360}, 150_000)


def test_payouts_that_cannot_be_simulated(site: Site) -> None:
    site.state.reward_funds.insert(RewardFund(name="post", reward_balance=1000, author_reward_curve=QUADRATIC))
    comment(site, "only", 10)
    method = "rewards_api.simulate_curve_payouts"
    code, message = site.refused(method, curve="convergent_square_root", var1=str(10**10))
    assert (code, message.split(": ")[1]) == (-32003, "The pending comments would have no claims on the fund")
    name = "Bad Cast:invalid name 'steep' in enum 'coin::protocol::curve_id'"
    assert site.refused(method, curve="steep", var1="1") == (-32000, name)
    index = "Bad Cast:invalid index '9' in enum 'coin::protocol::curve_id'"
    assert site.refused(method, curve=9, var1="1") == (-32000, index)
    assert site.refused(method, curve=[], var1="1") == (-32000, "Bad Cast:Invalid cast from array_type to int64")


def test_a_curve_comes_by_its_number_in_any_form(site: Site) -> None:
    site.state.reward_funds.insert(
        RewardFund(name="post", reward_balance=1000, recent_claims=600, content_constant=CONTENT_CONSTANT, author_reward_curve=LINEAR)
    )
    comment(site, "sooner", 100)
    comment(site, "later", 300)
    by_name = [simulate(site, curve, 0) for curve in ("quadratic", "bounded_curation", "linear")]
    assert by_name[0] != by_name[1] != by_name[2] != by_name[0]
    for curve, number in ((None, 0), (False, 0), (True, 1), (1.0, 1), (2, 2), (2.9, 2), ("2", 2)):
        assert simulate(site, curve, 0) == by_name[number]


def test_payouts_are_simulated_on_test_chains_only() -> None:
    code, message = Site(plugins=[]).refused("rewards_api.simulate_curve_payouts", curve="linear", var1="0")
    assert (code, message.split(": ")[1]) == (-32002, "Could not find API rewards_api")
    served = {name: "rewards_api" in Site(name).state.spec.plugins for name in ("dev", "testnet", "steem-testnet", "steem-mainnet")}
    assert served == {"dev": True, "testnet": True, "steem-testnet": True, "steem-mainnet": False}
