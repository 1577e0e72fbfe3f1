"""Reputations of accounts, by each of the two plugins that count them."""

import pytest

from state.plugins import reputation
from state.plugins.follow.lists import known_reputations
from state.plugins.follow.plugin import FOLLOW
from state.plugins.reputation import REPUTATION
from tests.helpers.api import ApiChain


@pytest.mark.parametrize("plugin", [FOLLOW.name, REPUTATION.name])
def test_reputations(plugin: str) -> None:
    api = ApiChain(plugins=[plugin])
    known = known_reputations(api.state)
    assert known is not None
    known.insert(reputation.Reputation(account="miners", reputation=-(2**33)))
    known.insert(reputation.Reputation(account="temp", reputation=2**40))
    every = api.call("condenser_api.get_account_reputations", "")
    assert [item["account"] for item in every] == [row.name for row in api.state.accounts.by_name]
    assert {item["account"]: item["reputation"] for item in every if item["reputation"]} == {"miners": -(2**33), "temp": str(2**40)}
    assert api.call("condenser_api.get_account_reputations", "j", 1) == [{"account": "miners", "reputation": -(2**33)}]
    many = "Assert Exception:args.limit <= 1000: Cannot retrieve more than 1000 account reputations at a time."
    assert api.refused("condenser_api.get_account_reputations", "", 1001) == (-32003, many)
    if plugin == REPUTATION.name:
        assert api.call("reputation_api.get_account_reputations") == {"reputations": every}
        named = api.call("reputation_api.get_account_reputations", account_lower_bound="temp", limit=1)
        assert named == {"reputations": every[-1:]}


def test_reputations_without_both_plugins() -> None:
    text = "Neither follow_api_plugin nor reputation_api_plugin are enabled. One of these must be running."
    refused = (-32003, f"Assert Exception:_follow_api || _reputation_api: {text}")
    assert ApiChain(plugins=[]).refused("condenser_api.get_account_reputations", "") == refused
