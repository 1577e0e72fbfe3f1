"""explorer_api.list_due, compared with other methods and with the chain's behaviour at the due time."""

from typing import Any

import pytest

from rpc.api.explorer import due as due_api
from rpc.api.explorer.due import DUE_MAX, KINDS
from state.tables.proposals import Proposal
from tests.helpers.api import ApiChain, Refusal

START = 1_800_000_000


@pytest.fixture
def api() -> ApiChain:
    """A dev chain on which items of almost every kind are due later."""
    api = ApiChain("dev")
    api.now = START
    api.call("dev_api.reset")
    api.call("dev_api.faucet", account="alice", amount="100.000 SBD")
    send(api, "comment", author="alice", permlink="post", parent_author="", parent_permlink="x", title="T", body="B", json_metadata="")
    send(api, "convert", owner="alice", requestid=7, amount="1.000 SBD")
    send(api, "withdraw_vesting", account="bob", vesting_shares="1000.000000 VESTS")
    send(api, "transfer_to_savings", **{"from": "alice", "to": "alice", "amount": "5.000 COIN", "memo": ""})
    send(api, "transfer_from_savings", **{"from": "alice", "request_id": 3, "to": "carol", "amount": "2.000 COIN", "memo": ""})
    order = {"owner": "dave", "orderid": 9, "amount_to_sell": "1.000 COIN", "min_to_receive": "9.000 SBD", "fill_or_kill": False}
    send(api, "limit_order_create", **order, expiration="2027-01-20T00:00:00")
    amounts = {"sbd_amount": "1.000 SBD", "coin_amount": "3.000 COIN", "fee": "0.100 SBD", "agent": "carol", "json_meta": ""}
    times = {"ratification_deadline": "2027-01-18T00:00:00", "escrow_expiration": "2027-01-19T00:00:00"}
    send(api, "escrow_transfer", **{"from": "alice", "to": "bob", "escrow_id": 4}, **amounts, **times)
    send(api, "delegate_vesting_shares", delegator="erin", delegatee="frank", vesting_shares="9000.000000 VESTS")
    api.call("dev_api.mine", count=1)
    return api


def send(api: ApiChain, name: str, **fields: Any) -> None:
    """Broadcast an operation that the node signs."""
    api.call("dev_api.broadcast_operations", operations=[[name, fields]])


def due(api: ApiChain, **arguments: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.call("explorer_api.list_due", **arguments)
    return found


def test_all_due_items_are_listed_by_time(api: ApiChain) -> None:
    found = due(api, limit=DUE_MAX)
    assert [entry["time"] for entry in found] == sorted(entry["time"] for entry in found)
    kinds = {entry["kind"] for entry in found}
    assert {"payout", "conversion", "power_down", "savings", "order_expiration", "median_price"} <= kinds
    by_kind = {entry["kind"]: entry for entry in found}
    post = api.call("database_api.find_comments", comments=[["alice", "post"]])["comments"][0]
    assert (by_kind["payout"]["time"], by_kind["payout"]["permlink"]) == (post["cashout_time"], "post")
    request = api.call("database_api.find_sbd_conversion_requests", account="alice")["requests"][0]
    assert (by_kind["conversion"]["time"], by_kind["conversion"]["id"]) == (request["conversion_date"], 7)
    assert by_kind["conversion"]["amount"] == "1.000 SBD"
    escrow = {"account": "alice", "other": "bob", "id": 4, "permlink": None, "amount": "1.000 SBD, 3.000 COIN"}
    assert by_kind["escrow_ratification"] == {"time": "2027-01-18T00:00:00", "kind": "escrow_ratification", **escrow}
    bob = api.call("database_api.find_accounts", accounts=["bob"])["accounts"][0]
    assert by_kind["power_down"]["time"] == bob["next_vesting_withdrawal"]
    saved = api.call("database_api.find_savings_withdrawals", account="alice")["withdrawals"][0]
    fields = {"account": "alice", "other": "carol", "id": 3, "permlink": None, "amount": "2.000 COIN"}
    assert by_kind["savings"] == {"time": saved["complete"], "kind": "savings", **fields}
    assert by_kind["order_expiration"]["time"] == "2027-01-20T00:00:00"


def test_a_payout_has_the_amount_that_is_pending(api: ApiChain) -> None:
    assert [one["amount"] for one in due(api, kinds=["payout"])] == ["0.000 SBD"]
    send(api, "vote", voter="bob", author="alice", permlink="post", weight=10000)
    api.call("dev_api.mine", count=1)
    pending = api.call("condenser_api.get_content", "alice", "post")["pending_payout_value"]
    assert [one["amount"] for one in due(api, kinds=["payout"])] == [pending]


def test_items_of_an_account_are_those_with_its_name(api: ApiChain) -> None:
    everything = due(api, limit=DUE_MAX)
    for name in ("alice", "bob", "dave", "nobody"):
        assert due(api, account=name) == [entry for entry in everything if entry["account"] == name]


def test_kinds_start_and_limit_filter_the_list(api: ApiChain) -> None:
    everything = due(api, limit=DUE_MAX)
    assert due(api, kinds=["savings", "payout"]) == [entry for entry in everything if entry["kind"] in ("savings", "payout")]
    later = everything[2]["time"]
    assert due(api, start=later, limit=DUE_MAX) == [entry for entry in everything if entry["time"] >= later]
    assert due(api, limit=2) == everything[:2]
    assert due(api, kinds=[]) == []


def test_a_due_item_is_executed_and_removed(api: ApiChain) -> None:
    first, before = due(api, kinds=["savings"])[0], balance(api)
    api.call("dev_api.set_next_block_time", time=first["time"])
    api.call("dev_api.mine", count=1)
    assert due(api, kinds=["savings"]) == []
    assert balance(api) == before + 2000


def test_a_proposal_begins_once(api: ApiChain) -> None:
    api.state.proposals.insert(Proposal(creator="alice", receiver="alice", start_date=START + 3600, end_date=START + 86400))
    kinds = ["proposal_start", "proposal_removal"]
    for account in ("", "alice"):
        assert [entry["kind"] for entry in due(api, kinds=kinds, account=account)] == kinds
    api.call("dev_api.advance_time", seconds=3600)
    for account in ("", "alice"):
        assert [entry["kind"] for entry in due(api, kinds=kinds, account=account)] == kinds[1:]


def test_invalid_arguments_are_refused(api: ApiChain) -> None:
    for arguments in ({"kinds": ["payouts"]}, {"limit": DUE_MAX + 1}):
        with pytest.raises(Refusal):
            due(api, **arguments)
    with pytest.raises(Refusal) as refused:
        due(api, kinds=["x" * 100_000])
    assert len(str(refused.value)) < 2000


def test_each_kind_is_documented(api: ApiChain) -> None:
    description = " ".join(str(api.call("rpc.discover")["methods"]).split())
    assert all(kind in description for kind in KINDS)


def balance(api: ApiChain) -> int:
    """Return carol's liquid COIN balance."""
    return int(api.call("database_api.find_accounts", accounts=["carol"])["accounts"][0]["balance"]["amount"])


def test_the_number_of_rows_read_for_an_account_is_bounded(api: ApiChain, monkeypatch: pytest.MonkeyPatch) -> None:
    order = {"owner": "dave", "amount_to_sell": "1.000 COIN", "min_to_receive": "9.000 SBD", "fill_or_kill": False}
    for number in range(10, 14):
        send(api, "limit_order_create", **order, orderid=number, expiration="2027-01-20T00:00:00")
    assert [entry["id"] for entry in due(api, account="dave")] == [9, 10, 11, 12, 13]
    monkeypatch.setattr(due_api, "ROWS_SEEN_MAX", 3)
    assert [entry["id"] for entry in due(api, account="dave")] == [9, 10, 11]
