"""Methods that list expiring delegations and routes of power-downs."""

from typing import Any

import pytest

from state.tables.accounts import DelegationExpiration, WithdrawRoute
from tests.helpers.api import ApiChain

EPOCH = "1970-01-01T00:00:00"
LIMIT = "Assert Exception:args.limit <= DATABASE_API_SINGLE_QUERY_LIMIT: "


@pytest.fixture
def api() -> ApiChain:
    """A chain with expiring delegations and routes of alice and bob."""
    api = ApiChain()
    for delegator, time in (("alice", 90), ("bob", 80), ("alice", 70), ("alice", 90)):
        api.state.delegation_expirations.insert(DelegationExpiration(delegator=delegator, vesting_shares=7, expiration=time))
    for source, destination in (("alice", "carol"), ("bob", "alice"), ("alice", "bob"), ("carol", "alice")):
        api.state.withdraw_routes.insert(WithdrawRoute(from_account=source, to_account=destination, percent=2500, auto_vest=True))
    return api


def ids(rows: list[dict[str, Any]]) -> list[int]:
    return [row["id"] for row in rows]


def test_expiring_delegations(api: ApiChain) -> None:
    assert ids(api.call("database_api.find_vesting_delegation_expirations", account="alice")["delegations"]) == [2, 0, 3]

    def asked(*arguments: object) -> list[int]:
        return ids(api.call("condenser_api.get_expiring_vesting_delegations", *arguments))

    assert asked("alice", EPOCH) == [2, 0, 3]
    assert asked("alice", "1970-01-01T00:01:30") == [0, 3]
    assert asked("alice", EPOCH, 2) == [2, 0]
    assert asked("alice", "1960-01-01T00:00:00") == [2, 0, 3]  # before the epoch is from the beginning
    assert api.refused("condenser_api.get_expiring_vesting_delegations", "alice", EPOCH, 1001) == (-32003, LIMIT)


def test_routes_of_an_account(api: ApiChain) -> None:
    def found(**arguments: Any) -> list[int]:
        return ids(api.call("database_api.find_withdraw_vesting_routes", **arguments)["routes"])

    assert found(account="alice") == found(account="alice", order="by_withdraw_route") == [2, 0]
    assert found(account="alice", order="by_name") == [2, 0]  # the specification's name for it
    assert found(account="alice", order="by_destination") == [1, 3]
    text = "Assert Exception:false: Unknown or unsupported sort order"
    assert api.refused("database_api.find_withdraw_vesting_routes", account="alice", order="by_account") == (-32003, text)
