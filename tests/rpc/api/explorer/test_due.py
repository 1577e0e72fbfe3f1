"""What is due, compared with what the other methods say of the same things, and with what the chain then does."""

from typing import Any

import pytest

from rpc.api.explorer import due as due_api
from rpc.api.explorer.due import DUE_MAX, KINDS
from tests.helpers.api import Refusal, Site

START = 1_800_000_000


@pytest.fixture
def site() -> Site:
    """A chain dev on which something of nearly each kind waits."""
    site = Site("dev")
    site.now = START
    site.call("dev_api.reset")
    site.call("dev_api.faucet", account="alice", amount="100.000 SBD")
    send(site, "comment", author="alice", permlink="post", parent_author="", parent_permlink="x", title="T", body="B", json_metadata="")
    send(site, "convert", owner="alice", requestid=7, amount="1.000 SBD")
    send(site, "withdraw_vesting", account="bob", vesting_shares="1000.000000 VESTS")
    send(site, "transfer_to_savings", **{"from": "alice", "to": "alice", "amount": "5.000 COIN", "memo": ""})
    send(site, "transfer_from_savings", **{"from": "alice", "request_id": 3, "to": "carol", "amount": "2.000 COIN", "memo": ""})
    order = {"owner": "dave", "orderid": 9, "amount_to_sell": "1.000 COIN", "min_to_receive": "9.000 SBD", "fill_or_kill": False}
    send(site, "limit_order_create", **order, expiration="2027-01-20T00:00:00")
    send(site, "delegate_vesting_shares", delegator="erin", delegatee="frank", vesting_shares="9000.000000 VESTS")
    site.call("dev_api.mine", count=1)
    return site


def send(site: Site, name: str, **fields: Any) -> None:
    """Broadcast an operation, signed with what the node knows."""
    site.call("dev_api.broadcast_operations", operations=[[name, fields]])


def due(site: Site, **arguments: Any) -> list[dict[str, Any]]:
    """What is due."""
    found: list[dict[str, Any]] = site.call("explorer_api.list_due", **arguments)
    return found


def test_all_that_waits_is_there_in_the_order_of_time(site: Site) -> None:
    found = due(site, limit=DUE_MAX)
    assert [entry["time"] for entry in found] == sorted(entry["time"] for entry in found)
    kinds = {entry["kind"] for entry in found}
    assert {"payout", "conversion", "power_down", "savings", "order_expiration", "median_price"} <= kinds
    by_kind = {entry["kind"]: entry for entry in found}
    post = site.call("database_api.find_comments", comments=[["alice", "post"]])["comments"][0]
    assert (by_kind["payout"]["time"], by_kind["payout"]["permlink"]) == (post["cashout_time"], "post")
    request = site.call("database_api.find_sbd_conversion_requests", account="alice")["requests"][0]
    assert (by_kind["conversion"]["time"], by_kind["conversion"]["id"]) == (request["conversion_date"], 7)
    assert by_kind["conversion"]["amount"] == "1.000 SBD"
    bob = site.call("database_api.find_accounts", accounts=["bob"])["accounts"][0]
    assert by_kind["power_down"]["time"] == bob["next_vesting_withdrawal"]
    saved = site.call("database_api.find_savings_withdrawals", account="alice")["withdrawals"][0]
    told = {"account": "alice", "other": "carol", "id": 3, "permlink": None, "amount": "2.000 COIN"}
    assert by_kind["savings"] == {"time": saved["complete"], "kind": "savings", **told}
    assert by_kind["order_expiration"]["time"] == "2027-01-20T00:00:00"


def test_those_of_an_account_are_the_ones_with_its_name(site: Site) -> None:
    everything = due(site, limit=DUE_MAX)
    for name in ("alice", "bob", "dave", "nobody"):
        assert due(site, account=name) == [entry for entry in everything if entry["account"] == name]


def test_kinds_start_and_limit_choose(site: Site) -> None:
    everything = due(site, limit=DUE_MAX)
    assert due(site, kinds=["savings", "payout"]) == [entry for entry in everything if entry["kind"] in ("savings", "payout")]
    later = everything[2]["time"]
    assert due(site, start=later, limit=DUE_MAX) == [entry for entry in everything if entry["time"] >= later]
    assert due(site, limit=2) == everything[:2]
    assert due(site, kinds=[]) == []


def test_what_was_due_happens_and_is_gone(site: Site) -> None:
    first, before = due(site, kinds=["savings"])[0], balance(site)
    site.call("dev_api.set_next_block_time", time=first["time"])
    site.call("dev_api.mine", count=1)
    assert due(site, kinds=["savings"]) == []
    assert balance(site) == before + 2000


def test_what_cannot_be_meant_is_refused(site: Site) -> None:
    for arguments in ({"kinds": ["payouts"]}, {"limit": DUE_MAX + 1}):
        with pytest.raises(Refusal):
            due(site, **arguments)
    with pytest.raises(Refusal) as refused:
        due(site, kinds=["x" * 100_000])
    assert len(str(refused.value)) < 2000


def test_each_kind_stands_in_the_description(site: Site) -> None:
    description = " ".join(str(site.call("rpc.discover")["methods"]).split())
    assert all(kind in description for kind in KINDS)


def balance(site: Site) -> int:
    """The liquid COIN of carol."""
    return int(site.call("database_api.find_accounts", accounts=["carol"])["accounts"][0]["balance"]["amount"])


def test_of_one_account_so_many_rows_are_looked_at(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    order = {"owner": "dave", "amount_to_sell": "1.000 COIN", "min_to_receive": "9.000 SBD", "fill_or_kill": False}
    for number in range(10, 14):
        send(site, "limit_order_create", **order, orderid=number, expiration="2027-01-20T00:00:00")
    assert [entry["id"] for entry in due(site, account="dave")] == [9, 10, 11, 12, 13]
    monkeypatch.setattr(due_api, "ROWS_SEEN_MAX", 3)
    assert [entry["id"] for entry in due(site, account="dave")] == [9, 10, 11]
