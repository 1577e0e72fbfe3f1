"""Accounts by name, lists of accounts, and methods that are always refused."""

from typing import Any

import pytest

from rpc.declare.record_encoder import LETTERS_OF_UNIT
from rpc.records.accounts import KEYS_OF_UNIT
from state.protocol.authority import Authority
from state.protocol.constants import TIME_MAX
from tests.helpers.api import ApiChain, Refusal

GENESIS = ["coin.dao", "initminer", "miners", "null", "temp"]


@pytest.fixture
def api() -> ApiChain:
    """A chain with three accounts, in addition to those that every chain has at genesis."""
    api = ApiChain()
    api.account("alice", balance=1500, sbd_balance=2, vesting_shares=5_000_000_000_000_000, proxied_vsf_votes=(2**40, 3, 0, 0))
    api.account("bob", proxy="alice", next_vesting_withdrawal=1_500_000_000)
    api.account("carol", proxy="alice", reward_coin_balance=7)
    return api


def names(accounts: list[dict[str, str]]) -> list[str]:
    return [account["name"] for account in accounts]


def test_find_accounts_takes_a_thousand_names(api: ApiChain) -> None:
    assert api.call("database_api.find_accounts", accounts=["alice"] * 1000)["accounts"][999]["name"] == "alice"
    limit = "Assert Exception:args.accounts.size() <= DATABASE_API_SINGLE_QUERY_LIMIT: "
    assert api.refused("database_api.find_accounts", accounts=["alice"] * 1001) == (-32003, limit)


def test_a_client_can_ask_for_a_thousand_accounts(api: ApiChain) -> None:
    assert len(api.call("condenser_api.get_accounts", ["alice", "carol"] * 500, local=False)) == 1000


def test_texts_and_authority_members_count_as_work(api: ApiChain) -> None:
    state, spent = api.state, list[int]()
    many = Authority(1, (), tuple((bytes((2, number)) * 16 + b"k", 1) for number in range(40)))
    state.account_authorities.modify(state.account_authorities.by_account.find("bob"), posting=many)
    carol = state.account_metadata.by_account.find(state.accounts.by_name.find("carol").id)
    state.account_metadata.modify(carol, json_metadata="x" * 10 * LETTERS_OF_UNIT)
    for name in ("alice", "bob", "carol"):
        before = state.work.spent
        api.call("condenser_api.get_accounts", [name])
        spent.append(state.work.spent - before)
    assert spent == [spent[0], spent[0] + 42 // KEYS_OF_UNIT - 3 // KEYS_OF_UNIT, spent[0] + 10]
    with pytest.raises(Refusal, match="Ask for less in each call"):
        api.call("condenser_api.get_accounts", ["carol"] * 500, local=False)


def test_voting_power_is_that_of_the_last_vote(api: ApiChain) -> None:
    hardfork_20 = api.state.spec.hardfork_times[20]

    def power(**fields: int) -> int:
        api.state.accounts.modify(api.state.account("bob"), vesting_shares=1000, next_vesting_withdrawal=TIME_MAX, **fields)
        return int(api.call("condenser_api.lookup_account_names", ["bob"])[0]["voting_power"])

    assert power(voting_mana=9700, voting_mana_time=hardfork_20 - 1) == 9700
    assert power(voting_mana=500, voting_mana_time=hardfork_20, last_vote_time=hardfork_20) == 5000
    # One day has passed since the vote. Full voting power takes five days to regenerate.
    assert power(voting_mana=500, voting_mana_time=hardfork_20 + 86400, last_vote_time=hardfork_20) == 3000
    assert power(voting_mana=2000, voting_mana_time=hardfork_20, last_vote_time=hardfork_20) == 10000
    assert power(voting_mana=5, voting_mana_time=hardfork_20, delegated_vesting_shares=1000) == 0


def test_list_accounts_by_name(api: ApiChain) -> None:
    def listed(**params: Any) -> list[str]:
        return names(api.call("database_api.list_accounts", **params)["accounts"])

    everybody = sorted([*GENESIS, "alice", "bob", "carol"])
    assert listed() == everybody
    assert listed(start="", limit=1000, order="by_name") == everybody
    assert listed(start="bob", limit="2", order="by_name") == ["bob", "carol"]
    assert listed(start=["bob"], limit=1) == ["bob"]
    assert listed(start=None, limit=1) == ["alice"]
    assert listed(start="bob", limit=0) == []
    assert listed(start="bob", limit=1, order=0) == ["bob"]


def test_list_accounts_refuses(api: ApiChain) -> None:
    def refused(**params: Any) -> tuple[int, str]:
        return api.refused("database_api.list_accounts", **params)

    limit = (-32003, "Assert Exception:args.limit <= DATABASE_API_SINGLE_QUERY_LIMIT: ")
    assert refused(start="", limit=1001, order="by_name") == limit
    assert refused(start="", limit=-1, order="by_name") == limit
    assert refused(start="", limit=1, order="by_account") == (-32003, "Assert Exception:false: Unknown or unsupported sort order")
    enum = "coin::plugins::database_api::sort_order_type"
    assert refused(start="", limit=1, order="by_id") == (-32000, f"Bad Cast:invalid name 'by_id' in enum '{enum}'")
    assert refused(start=None, limit=1, order="by_proxy") == (-32000, "Bad Cast:Invalid cast from null_type to Array")
    assert refused(start=[1], limit=1, order="by_name") == (-32000, "Bad Cast:Invalid cast from array_type to string")
    assert refused(start="alice", limit=1, order="by_proxy") == (-32000, "Bad Cast:Invalid cast from string_type to Array")


def test_methods_that_are_always_refused(api: ApiChain) -> None:
    text = "Assert Exception:false: condenser_api::get_account_references --- Needs to be refactored for Coin."
    assert api.refused("condenser_api.get_account_references", 4) == (-32003, text)
    missing = "Assert Exception:method_itr != api_itr->second.end(): Could not find method get_account_bandwidth"
    assert api.refused("condenser_api.get_account_bandwidth", "alice", "forum") == (-32002, missing)


def test_names_are_spelled_for_the_chain() -> None:
    api = ApiChain("steem-testnet")
    api.account("alice", balance=1500)
    (alice,) = api.call("condenser_api.get_accounts", ["alice"])
    assert (alice["balance"], alice["reward_steem_balance"], alice["sbd_balance"]) == ("1.500 TESTS", "0.000 TESTS", "0.000 TBD")


def test_bandwidth_is_not_served() -> None:
    text = "Assert Exception:method_itr != api_itr->second.end(): Could not find method get_account_bandwidth"
    assert ApiChain().refused("witness_api.get_account_bandwidth", account="temp", type="forum") == (-32002, text)
