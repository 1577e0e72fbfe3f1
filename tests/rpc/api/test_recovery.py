"""Requests to recover accounts and to decline voting rights, listed by account."""

from typing import Any

import pytest

from state.protocol.authority import key_authority
from state.protocol.keys.keys import public_key
from state.tables.accounts import ChangeRecoveryRequest, DeclineVotingRequest, RecoveryRequest
from tests.helpers.api import ApiChain, secret


@pytest.fixture
def api() -> ApiChain:
    """A chain with requests by alice, bob and carol."""
    api = ApiChain()
    authority = key_authority(public_key(secret("new")))
    for name, time in (("bob", 90), ("alice", 95), ("carol", 80)):
        api.state.recovery_requests.insert(RecoveryRequest(account_to_recover=name, new_owner_authority=authority, expires=time))
        row = ChangeRecoveryRequest(account_to_recover=name, recovery_account="dan", effective_on=time)
        api.state.change_recovery_requests.insert(row)
        api.state.decline_voting_requests.insert(DeclineVotingRequest(account=name, effective_date=time))
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
