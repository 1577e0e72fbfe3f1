"""The explorer's overview of a chain."""

import pytest

from tests.helpers.api import ApiChain


def test_the_overview_of_a_chain() -> None:
    api = ApiChain("dev")
    found = api.call("explorer_api.get_overview")
    properties = api.call("database_api.get_dynamic_global_properties")
    config = api.call("database_api.get_config")
    assert found["head_block_number"] == properties["head_block_number"]
    assert found["chain_id"] == config["COIN_CHAIN_ID"]
    assert [(token["symbol"], token["precision"]) for token in found["tokens"]] == [("COIN", 3), ("SBD", 3), ("VESTS", 6)]
    assert found["tokens"][0]["nai"] == properties["virtual_supply"]["nai"]
    assert (found["is_test"], found["pending"], found["brand"], found["community_prefix"]) == (True, 0, "coin", "coin-")


@pytest.mark.parametrize(("chain", "symbol", "is_test"), [("dev-tests", "TESTS", True), ("steem-mainnet", "STEEM", False)])
def test_names_are_those_of_the_chain(chain: str, symbol: str, is_test: bool) -> None:
    found = ApiChain(chain).call("explorer_api.get_overview")
    assert (found["chain"], found["tokens"][0]["symbol"], found["is_test"]) == (chain, symbol, is_test)
