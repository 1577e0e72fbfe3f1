"""Account recovery, former owners and declined votes, by account and in all orders."""

from typing import Any

import pytest

from state.protocol.authority import key_authority
from state.protocol.keys.keys import public_key
from state.tables.accounts import ChangeRecoveryRequest, DeclineVotingRequest, OwnerHistory, RecoveryRequest
from tests.helpers.api import ApiChain, secret

EPOCH = "1970-01-01T00:00:00"


@pytest.fixture
def api() -> ApiChain:
    """Requests of alice, bob and carol; alice has had two owners."""
    api = ApiChain()
    authority = key_authority(public_key(secret("new")))
    for name, time in (("bob", 90), ("alice", 95), ("carol", 80)):
        api.state.recovery_requests.insert(RecoveryRequest(account_to_recover=name, new_owner_authority=authority, expires=time))
        row = ChangeRecoveryRequest(account_to_recover=name, recovery_account="dan", effective_on=time)
        api.state.change_recovery_requests.insert(row)
        api.state.decline_voting_requests.insert(DeclineVotingRequest(account=name, effective_date=time))
    for name, time in (("alice", 50), ("bob", 10), ("alice", 20)):
        api.state.owner_histories.insert(OwnerHistory(account=name, previous_owner_authority=authority, last_valid_time=time))
    return api


METHODS = [
    ("account_recovery_requests", "account_to_recover", "by_expiration"),
    ("change_recovery_account_requests", "account_to_recover", "by_effective_date"),
    ("decline_voting_rights_requests", "account", "by_effective_date"),
]


@pytest.mark.parametrize(("records", "field", "by_time"), METHODS)
def test_requests(api: ApiChain, records: str, field: str, by_time: str) -> None:
    def found(**arguments: Any) -> list[str]:
        return [row[field] for row in api.call(f"database_api.find_{records}", **arguments)["requests"]]

    def listed(order: str, start: Any) -> list[str]:
        return [row[field] for row in api.call(f"database_api.list_{records}", start=start, order=order)["requests"]]

    assert found(accounts=["carol", "nobody", "alice"]) == ["carol", "alice"]
    assert found() == []
    assert listed("by_account", "") == listed("by_account", None) == ["alice", "bob", "carol"]
    assert listed("by_account", "b") == ["bob", "carol"]
    array = (-32000, "Bad Cast:Invalid cast from array_type to string")
    assert api.refused(f"database_api.list_{records}", start=["b"], order="by_account") == array
    assert listed(by_time, []) == ["carol", "bob", "alice"]
    assert listed(by_time, ["1970-01-01T00:01:30", "bobby"]) == ["alice"]
    limit = "Assert Exception:args.accounts.size() <= DATABASE_API_SINGLE_QUERY_LIMIT: "
    assert api.refused(f"database_api.find_{records}", accounts=["x"] * 1001) == (-32003, limit)


def test_the_fields_of_requests(api: ApiChain) -> None:
    # The names for searches: find_account_recovery_requests, list_account_recovery_requests, find_change_recovery_account_requests,
    # list_change_recovery_account_requests, find_decline_voting_rights_requests, list_decline_voting_rights_requests.
    (recovery,) = api.call("database_api.find_account_recovery_requests", accounts=["alice"])["requests"]
    assert recovery["expires"] == "1970-01-01T00:01:35"
    assert recovery["new_owner_authority"]["weight_threshold"] == 1
    (change,) = api.call("database_api.find_change_recovery_account_requests", accounts=["alice"])["requests"]
    assert (change["recovery_account"], change["effective_on"]) == ("dan", "1970-01-01T00:01:35")


def test_owner_histories(api: ApiChain) -> None:
    def listed(**arguments: Any) -> list[int]:
        return [row["id"] for row in api.call("database_api.list_owner_histories", **arguments)["owner_auths"]]

    found = api.call("database_api.find_owner_histories", owner="alice")["owner_auths"]
    assert [row["last_valid_time"] for row in found] == ["1970-01-01T00:00:20", "1970-01-01T00:00:50"]
    assert listed() == listed(start=[]) == [2, 0, 1]
    assert listed(start=["alice", "1970-01-01T00:00:21"]) == [0, 1]
    assert listed(start=["alice"], limit=1) == [2]
    assert api.refused("database_api.list_owner_histories", start="alice") == (-32000, "Bad Cast:Invalid cast from string_type to Array")


def test_the_condenser_methods_take_one_account(api: ApiChain) -> None:
    assert api.call("condenser_api.get_recovery_request", "bob")["expires"] == "1970-01-01T00:01:30"
    assert api.call("condenser_api.get_recovery_request", "nobody") is None
    found = api.call("condenser_api.get_owner_history", "alice")
    assert found == api.call("database_api.find_owner_histories", owner="alice")["owner_auths"]
    assert [row["last_valid_time"] for row in found] == ["1970-01-01T00:00:20", "1970-01-01T00:00:50"]
    assert api.call("condenser_api.get_owner_history", "carol") == []
