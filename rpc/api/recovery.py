"""Account recovery, former owner authorities, requests to decline voting rights. Source: rpc-api.md §3.7, §3.8, §5.1."""

from itertools import islice
from typing import Any

from rpc.api.database_lists import BEGINNING, QUERY_LIMIT, By, ListLimit, declare_list, few, named
from rpc.declare.arguments import AccountName, Timestamp
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder
from rpc.records.recovery import ChangeRecoveryRequestRecord, DeclineVotingRightsRequestRecord, OwnerHistoryRecord, RecoveryRequestRecord
from state.tables import State


@method("database_api.find_account_recovery_requests", key="requests", record=RecoveryRequestRecord)
def find_account_recovery_requests(state: State, show: RecordEncoder, /, accounts: list[AccountName]) -> list[Json]:
    """Return the pending recovery requests for these accounts, in the given order."""
    return show.each(RecoveryRequestRecord, named(state.recovery_requests.by_account, "accounts", accounts))


@method("condenser_api.get_recovery_request", record=RecoveryRequestRecord)
def get_recovery_request(state: State, show: RecordEncoder, /, account: AccountName) -> Json | None:
    """Return the pending recovery request for an account, or null if there is none."""
    return show.maybe(RecoveryRequestRecord, state.recovery_requests.by_account.get(account))


@method("database_api.find_change_recovery_account_requests", key="requests", record=ChangeRecoveryRequestRecord)
def find_change_recovery_account_requests(state: State, show: RecordEncoder, /, accounts: list[AccountName]) -> list[Json]:
    """Return the pending requests to change the recovery accounts of these accounts, in the given order."""
    return show.each(ChangeRecoveryRequestRecord, named(state.change_recovery_requests.by_account, "accounts", accounts))


@method("database_api.find_decline_voting_rights_requests", key="requests", record=DeclineVotingRightsRequestRecord)
def find_decline_voting_rights_requests(state: State, show: RecordEncoder, /, accounts: list[AccountName]) -> list[Json]:
    """Return the pending requests of these accounts to decline their voting rights, in the given order."""
    return show.each(DeclineVotingRightsRequestRecord, named(state.decline_voting_requests.by_account, "accounts", accounts))


@method("database_api.find_owner_histories", key="owner_auths", record=OwnerHistoryRecord)
@method("condenser_api.get_owner_history", required=1, renamed="account", record=OwnerHistoryRecord)
def find_owner_histories(state: State, show: RecordEncoder, /, owner: AccountName = "") -> list[Json]:
    """Return the former owner authorities of an account that the chain still stores, oldest first."""
    return show.each(OwnerHistoryRecord, few(state.owner_histories.by_account, owner))


OWNER_HISTORIES = By(lambda state: state.owner_histories.by_account, tuple[AccountName, Timestamp])


@method("database_api.list_owner_histories", key="owner_auths", record=OwnerHistoryRecord)
def list_owner_histories(state: State, show: RecordEncoder, /, start: Any = BEGINNING, limit: ListLimit = QUERY_LIMIT) -> list[Json]:
    """List former owner authorities, ordered by account, then by the time at which they were replaced."""
    return show.each(OwnerHistoryRecord, islice(OWNER_HISTORIES.rows(state, show.wire, start), limit))


declare_list(
    "database_api.list_account_recovery_requests",
    "List pending account recoveries, ordered by account, or by expiration and account.",
    key="requests",
    record=RecoveryRequestRecord,
    by_account=By(lambda state: state.recovery_requests.by_account, AccountName),
    by_expiration=By(lambda state: state.recovery_requests.by_expiration, tuple[Timestamp, AccountName]),
)

declare_list(
    "database_api.list_change_recovery_account_requests",
    "List pending changes of recovery accounts, ordered by account, or by the time at which they take effect and account.",
    key="requests",
    record=ChangeRecoveryRequestRecord,
    by_account=By(lambda state: state.change_recovery_requests.by_account, AccountName),
    by_effective_date=By(lambda state: state.change_recovery_requests.by_effective_date, tuple[Timestamp, AccountName]),
)

declare_list(
    "database_api.list_decline_voting_rights_requests",
    "List pending requests to decline voting rights, ordered by account, or by the time at which they take effect and account.",
    key="requests",
    record=DeclineVotingRightsRequestRecord,
    by_account=By(lambda state: state.decline_voting_requests.by_account, AccountName),
    by_effective_date=By(lambda state: state.decline_voting_requests.by_effective_date, tuple[Timestamp, AccountName]),
)
