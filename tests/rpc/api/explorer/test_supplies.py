"""The history of supplies, in the form in which the explorer requests it."""

from tests.helpers.api import ApiChain


def test_the_series_of_a_chain() -> None:
    api = ApiChain()
    empty = api.call("explorer_api.get_series")
    assert (empty["stride"], empty["block_num"]) == (1, [])
    api.start(4)
    found = api.call("explorer_api.get_series")
    properties = api.call("database_api.get_dynamic_global_properties")
    assert found["block_num"] == [1, 2, 3, 4]
    assert found["time"][-1] == properties["time"]
    for name in ("current_supply", "virtual_supply", "current_sbd_supply", "total_vesting_fund_coin", "total_vesting_shares"):
        assert found[name][-1] == properties[name]["amount"], name
    assert found["accounts"] == [len(api.state.accounts)] * 4
    assert {len(column) for name, column in found.items() if name != "stride"} == {4}


def test_a_limit_selects_the_last_samples() -> None:
    api = ApiChain()
    api.start(4)
    assert api.call("explorer_api.get_series", limit=2)["block_num"] == [3, 4]
    assert api.call("explorer_api.get_series", limit=0)["block_num"] == []
    assert api.refused("explorer_api.get_series", limit=1001)[1].startswith("Assert Exception:args.limit <= 1000")
