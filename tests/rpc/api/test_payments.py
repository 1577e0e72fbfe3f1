"""Escrows, withdrawals from savings and conversions, in both groups and all orders."""

from typing import Any

import pytest

from state.protocol.values.asset import COIN, SBD, Asset
from state.tables.market import ConvertRequest
from state.tables.payments import Escrow, SavingsWithdraw
from tests.helpers.api import ApiChain

EPOCH = "1970-01-01T00:00:00"
LIMIT = "Assert Exception:args.limit <= DATABASE_API_SINGLE_QUERY_LIMIT: "


@pytest.fixture
def api() -> ApiChain:
    """Three escrows, three withdrawals, three conversions."""
    api = ApiChain()
    for owner, number, deadline, approved in (("alice", 30, 300, False), ("alice", 20, 100, True), ("bob", 7, 200, False)):
        fields: dict[str, Any] = {"from_": owner, "to": "carol", "agent": "dan", "escrow_id": number, "ratification_deadline": deadline}
        fields |= {"sbd_balance": 5, "coin_balance": 1500, "pending_fee": Asset(7, SBD)}
        api.state.escrows.insert(Escrow(**fields, to_approved=approved, agent_approved=approved))
    for owner, to, number, complete in (("alice", "bob", 9, 50), ("alice", "alice", 3, 60), ("bob", "bob", 1, 50)):
        row = SavingsWithdraw(from_=owner, to=to, memo="a memo", request_id=number, amount=Asset(1000, COIN), complete=complete)
        api.state.savings_withdraws.insert(row)
    for owner, number, date in (("alice", 8, 70), ("alice", 2, 90), ("bob", 5, 80)):
        api.state.convert_requests.insert(ConvertRequest(owner=owner, requestid=number, amount=2500, conversion_date=date))
    return api


def ids(rows: list[dict[str, Any]]) -> list[int]:
    return [row["id"] for row in rows]


def test_escrows_of_a_sender(api: ApiChain) -> None:
    sender: dict[str, Any] = {"from": "alice"}
    first, second = api.call("database_api.find_escrows", **sender)["escrows"]
    assert (first["escrow_id"], second["escrow_id"]) == (20, 30)
    assert (first["to_approved"], second["to_approved"]) == (True, False)
    assert first["coin_balance"] == {"amount": "1500", "precision": 3, "nai": "@@000000021"}
    assert first["pending_fee"] == {"amount": "7", "precision": 3, "nai": "@@000000013"}
    assert api.call("database_api.find_escrows") == {"escrows": []}


def test_one_escrow(api: ApiChain) -> None:
    escrow = api.call("condenser_api.get_escrow", "alice", 30)
    assert (escrow["agent"], escrow["coin_balance"], escrow["sbd_balance"]) == ("dan", "1.500 COIN", "0.005 SBD")
    assert escrow["pending_fee"] == "0.007 SBD"
    assert api.call("condenser_api.get_escrow", "alice", 21) is None
    assert api.call("condenser_api.get_escrow", "bob", 20) is None
    assert api.refused("condenser_api.get_escrow", "bob")[1] == "Assert Exception:args.size() == 2: Expected #s argument(s), was 1"


@pytest.mark.parametrize(
    ("order", "start", "wanted"),
    [
        ("by_from_id", [], [1, 0, 2]),
        ("by_from_id", ["alice", 21], [0, 2]),
        ("by_from_id", ["b"], [2]),
        ("by_ratification_deadline", [False, EPOCH, 0], [2, 0, 1]),
        ("by_ratification_deadline", [False, "1970-01-01T00:05:00", 0], [0, 1]),
        ("by_ratification_deadline", [True, "1970-01-01T00:01:40", 2], []),
    ],
)
def test_list_escrows(api: ApiChain, order: str, start: list[Any], wanted: list[int]) -> None:
    assert ids(api.call("database_api.list_escrows", start=start, order=order)["escrows"]) == wanted


def test_withdrawals_from_savings(api: ApiChain) -> None:
    first, second = api.call("database_api.find_savings_withdrawals", account="alice")["withdrawals"]
    assert (first["request_id"], second["request_id"]) == (3, 9)
    assert (second["from"], second["to"], second["memo"], second["complete"]) == ("alice", "bob", "a memo", "1970-01-01T00:00:50")


@pytest.mark.parametrize(
    ("order", "start", "wanted"),
    [
        ("by_from_id", ["alice", 4], [0, 2]),
        ("by_complete_from_id", [EPOCH, "", 0], [0, 2, 1]),
        ("by_complete_from_id", ["1970-01-01T00:00:50", "alice", 10], [2, 1]),
        ("by_to_complete", ["", EPOCH, 0], [1, 0, 2]),
        ("by_to_complete", ["bob", "1970-01-01T00:00:50", 1], [2]),
    ],
)
def test_list_savings_withdrawals(api: ApiChain, order: str, start: list[Any], wanted: list[int]) -> None:
    assert ids(api.call("database_api.list_savings_withdrawals", start=start, order=order)["withdrawals"]) == wanted


def test_conversions_of_an_owner(api: ApiChain) -> None:
    found = api.call("database_api.find_sbd_conversion_requests", account="alice")["requests"]
    assert [row["requestid"] for row in found] == [2, 8]
    assert found[0]["amount"] == {"amount": "2500", "precision": 3, "nai": "@@000000013"}


def test_conversions_by_name_or_record_id(api: ApiChain) -> None:
    def asked(argument: object) -> list[int]:
        return ids(api.call("condenser_api.get_conversion_requests", argument))

    assert (asked("alice"), asked("bob"), asked("nobody")) == ([1, 0], [2], [])
    assert (asked(1), asked(99), asked(-1)) == ([1], [], [])
    assert asked("1") == asked(None) == []  # a text is a name, whatever it looks like
    assert api.call("condenser_api.get_conversion_requests", 0)[0]["amount"] == "2.500 SBD"


@pytest.mark.parametrize(
    ("order", "start", "wanted"),
    [
        ("by_account", ["alice", 3], [0, 2]),
        ("by_conversion_date", [EPOCH, 0], [0, 2, 1]),
        ("by_conversion_date", ["1970-01-01T00:01:20", 3], [1]),
    ],
)
def test_list_sbd_conversion_requests(api: ApiChain, order: str, start: list[Any], wanted: list[int]) -> None:
    assert ids(api.call("database_api.list_sbd_conversion_requests", start=start, order=order)["requests"]) == wanted


def test_invalid_list_starts_are_refused(api: ApiChain) -> None:
    def refused(method: str, order: str, start: object) -> str:
        return api.refused(f"database_api.{method}", start=start, order=order)[1]

    size = "Assert Exception:key.size() == 3: "
    text = "by_ratification_deadline start requires 3 values. (bool, time_point_sec, escrow_id_type)"
    assert refused("list_escrows", "by_ratification_deadline", [True]) == size + text
    text = "by_complete_from_id start requires 3 values. (time_point_sec, account_name_type, uint32_t)"
    assert refused("list_savings_withdrawals", "by_complete_from_id", []) == size + text
    text = "by_to_complete start requires 3 values. (account_name_type, time_point_sec, savings_withdraw_id_type"
    assert refused("list_savings_withdrawals", "by_to_complete", [1, 2, 3, 4]) == size + text
    # Of several wrong members the last one is refused.
    assert refused("list_savings_withdrawals", "by_complete_from_id", ["x", [], "x"]) == "Parse Error:Couldn't parse uint64_t"
    assert refused("list_savings_withdrawals", "by_complete_from_id", ["x", [], 1]) == "Bad Cast:Invalid cast from array_type to string"
    assert refused("list_escrows", "by_ratification_deadline", ["x", [], "x"]) == "Parse Error:Couldn't parse int64_t"
    assert refused("list_escrows", "by_from_id", None) == "Bad Cast:Invalid cast from null_type to Array"
    assert refused("list_escrows", "by_account", []) == "Assert Exception:false: Unknown or unsupported sort order"
    assert api.refused("database_api.list_escrows", limit=1001) == (-32003, LIMIT)


def test_withdrawals_from_savings_in_the_condenser(api: ApiChain) -> None:
    first, second = api.call("condenser_api.get_savings_withdraw_from", "alice")
    assert (first["request_id"], second["request_id"], first["amount"], second["to"]) == (3, 9, "1.000 COIN", "bob")
    assert api.call("condenser_api.get_savings_withdraw_from", "carol") == []
    to_bob = api.call("condenser_api.get_savings_withdraw_to", "bob")
    assert [(row["from"], row["request_id"]) for row in to_bob] == [("alice", 9), ("bob", 1)]
    assert api.call("condenser_api.get_savings_withdraw_to", "carol") == []
