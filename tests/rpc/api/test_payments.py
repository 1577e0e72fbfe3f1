"""Conversions, requested by account name or record id, and invalid starts of payment lists."""

from typing import Any

import pytest

from state.tables.market import ConvertRequest
from tests.helpers.api import ApiChain


@pytest.fixture
def api() -> ApiChain:
    """A chain with three conversions."""
    api = ApiChain()
    for owner, number, date in (("alice", 8, 70), ("alice", 2, 90), ("bob", 5, 80)):
        api.state.convert_requests.insert(ConvertRequest(owner=owner, requestid=number, amount=2500, conversion_date=date))
    return api


def ids(rows: list[dict[str, Any]]) -> list[int]:
    return [row["id"] for row in rows]


def test_conversions_by_name_or_record_id(api: ApiChain) -> None:
    def asked(argument: object) -> list[int]:
        return ids(api.call("condenser_api.get_conversion_requests", argument))

    assert (asked("alice"), asked("bob"), asked("nobody")) == ([1, 0], [2], [])
    assert (asked(1), asked(99), asked(-1)) == ([1], [], [])
    assert asked("1") == asked(None) == []  # a text is a name, whatever it looks like
    assert api.call("condenser_api.get_conversion_requests", 0)[0]["amount"] == "2.500 SBD"


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
    # If several elements of the start are invalid, the last of them is refused.
    assert refused("list_savings_withdrawals", "by_complete_from_id", ["x", [], "x"]) == "Parse Error:Couldn't parse uint64_t"
    assert refused("list_savings_withdrawals", "by_complete_from_id", ["x", [], 1]) == "Bad Cast:Invalid cast from array_type to string"
    assert refused("list_escrows", "by_ratification_deadline", ["x", [], "x"]) == "Parse Error:Couldn't parse int64_t"
    assert refused("list_escrows", "by_from_id", None) == "Bad Cast:Invalid cast from null_type to Array"
    assert refused("list_escrows", "by_account", []) == "Assert Exception:false: Unknown or unsupported sort order"
    limit = "Assert Exception:args.limit <= DATABASE_API_SINGLE_QUERY_LIMIT: "
    assert api.refused("database_api.list_escrows", limit=1001) == (-32003, limit)
