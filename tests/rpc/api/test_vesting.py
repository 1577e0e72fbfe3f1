"""Delegations, expiring delegations, and routes of power-downs, in both groups and all orders."""

from typing import Any

import pytest

from state.tables.accounts import DelegationExpiration, VestingDelegation, WithdrawRoute
from tests.helpers.api import ApiChain

EPOCH = "1970-01-01T00:00:00"
LIMIT = "Assert Exception:args.limit <= DATABASE_API_SINGLE_QUERY_LIMIT: "


@pytest.fixture
def api() -> ApiChain:
    """Delegations, expirations and routes of alice and bob."""
    api = ApiChain()
    for delegator, delegatee in (("alice", "dan"), ("bob", "alice"), ("alice", "bob"), ("alice", "carol")):
        row = VestingDelegation(delegator=delegator, delegatee=delegatee, vesting_shares=1_500_000, min_delegation_time=60)
        api.state.vesting_delegations.insert(row)
    for delegator, time in (("alice", 90), ("bob", 80), ("alice", 70), ("alice", 90)):
        api.state.delegation_expirations.insert(DelegationExpiration(delegator=delegator, vesting_shares=7, expiration=time))
    for source, destination in (("alice", "carol"), ("bob", "alice"), ("alice", "bob"), ("carol", "alice")):
        api.state.withdraw_routes.insert(WithdrawRoute(from_account=source, to_account=destination, percent=2500, auto_vest=True))
    return api


def ids(rows: list[dict[str, Any]]) -> list[int]:
    return [row["id"] for row in rows]


def test_delegations_of_an_account(api: ApiChain) -> None:
    found = api.call("database_api.find_vesting_delegations", account="alice")["delegations"]
    assert [row["delegatee"] for row in found] == ["bob", "carol", "dan"]
    assert found[0]["vesting_shares"] == {"amount": "1500000", "precision": 6, "nai": "@@000000037"}


def test_a_page_of_delegations(api: ApiChain) -> None:
    def asked(*arguments: object) -> list[str]:
        return [row["delegatee"] for row in api.call("condenser_api.get_vesting_delegations", *arguments)]

    assert asked("alice", None) == asked("alice", "") == ["bob", "carol", "dan"]
    assert asked("alice", "carol", 1) == ["carol"]
    assert asked("alice", "e", 5) == asked("carol", "") == []
    assert api.call("condenser_api.get_vesting_delegations", "bob", "")[0]["vesting_shares"] == "1.500000 VESTS"
    assert api.refused("condenser_api.get_vesting_delegations", "alice", "", 1001) == (-32003, LIMIT)
    text = "Assert Exception:args.size() == 2 || args.size() == 3: Expected 2-3 arguments, was 1"
    assert api.refused("condenser_api.get_vesting_delegations", "alice") == (-32003, text)


def test_expiring_delegations(api: ApiChain) -> None:
    assert ids(api.call("database_api.find_vesting_delegation_expirations", account="alice")["delegations"]) == [2, 0, 3]

    def asked(*arguments: object) -> list[int]:
        return ids(api.call("condenser_api.get_expiring_vesting_delegations", *arguments))

    assert asked("alice", EPOCH) == [2, 0, 3]
    assert asked("alice", "1970-01-01T00:01:30") == [0, 3]
    assert asked("alice", EPOCH, 2) == [2, 0]
    assert asked("alice", "1960-01-01T00:00:00") == [2, 0, 3]  # before the epoch is from the beginning
    assert api.refused("condenser_api.get_expiring_vesting_delegations", "alice", EPOCH, 1001) == (-32003, LIMIT)


@pytest.mark.parametrize(
    ("method", "order", "start", "wanted"),
    [
        ("list_vesting_delegations", "by_delegation", [], [2, 3, 0, 1]),
        ("list_vesting_delegations", "by_delegation", ["alice", "d"], [0, 1]),
        ("list_vesting_delegation_expirations", "by_expiration", [], [2, 1, 0, 3]),
        ("list_vesting_delegation_expirations", "by_expiration", ["1970-01-01T00:01:30", 1], [3]),
        ("list_vesting_delegation_expirations", "by_account_expiration", ["", EPOCH, 0], [2, 0, 3, 1]),
        ("list_vesting_delegation_expirations", "by_account_expiration", ["alice", "1970-01-01T00:01:30", 3], [3, 1]),
    ],
)
def test_lists_of_delegations(api: ApiChain, method: str, order: str, start: list[Any], wanted: list[int]) -> None:
    assert ids(api.call(f"database_api.{method}", start=start, order=order)["delegations"]) == wanted


def test_a_start_of_three_members(api: ApiChain) -> None:
    text = "by_account_expiration start requires 3 values. (account_name_type, time_point_sec, vesting_delegation_expiration_id_type"
    found = api.refused("database_api.list_vesting_delegation_expirations", start=["alice"], order="by_account_expiration")
    assert found == (-32003, f"Assert Exception:key.size() == 3: {text}")


def test_routes_of_an_account(api: ApiChain) -> None:
    def found(**arguments: Any) -> list[int]:
        return ids(api.call("database_api.find_withdraw_vesting_routes", **arguments)["routes"])

    assert found(account="alice") == found(account="alice", order="by_withdraw_route") == [2, 0]
    assert found(account="alice", order="by_name") == [2, 0]  # the specification's name for it
    assert found(account="alice", order="by_destination") == [1, 3]
    text = "Assert Exception:false: Unknown or unsupported sort order"
    assert api.refused("database_api.find_withdraw_vesting_routes", account="alice", order="by_account") == (-32003, text)


def test_routes_in_the_condenser(api: ApiChain) -> None:
    def asked(*arguments: str) -> list[int]:
        return ids(api.call("condenser_api.get_withdraw_routes", *arguments))

    assert asked("alice") == asked("alice", "outgoing") == [2, 0]
    assert asked("alice", "incoming") == [1, 3]
    assert asked("alice", "all") == [2, 0, 1, 3]
    code, text = api.refused("condenser_api.get_withdraw_routes", "alice", "sideways")
    assert (code, text) == (-32000, "Bad Cast:invalid name 'sideways' in enum 'coin::plugins::condenser_api::withdraw_route_type'")


@pytest.mark.parametrize(
    ("order", "start", "wanted"),
    [
        ("by_withdraw_route", ["alice", "c"], [0, 1, 3]),
        ("by_destination", ["alice", 2], [3, 2, 0]),
    ],
)
def test_list_withdraw_vesting_routes(api: ApiChain, order: str, start: list[Any], wanted: list[int]) -> None:
    rows = api.call("database_api.list_withdraw_vesting_routes", start=start, order=order)["routes"]
    assert ids(rows) == wanted
    assert (rows[0]["percent"], rows[0]["auto_vest"]) == (2500, True)
