"""Accounts by name. Source: rpc-api.md §3.2.2, §3.2.4, §3.7, §3.8, §3.12."""

from itertools import islice
from typing import Annotated, Any

from rpc.api.database_lists import By, declare_list, require_few
from rpc.declare.arguments import AccountName, Example, MaxValue, Text, Timestamp, UInt32
from rpc.declare.errors import NotServed
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder
from rpc.records.accounts import AccountRecord, ExtendedAccountRecord, account_view, account_views
from state.protocol.errors import Refused
from state.tables import State

LookupLimit = Annotated[UInt32, MaxValue(1000, condition="limit <= 1000")]


@method("database_api.find_accounts", key="accounts", record=AccountRecord)
def find_accounts(state: State, show: RecordEncoder, /, accounts: list[AccountName]) -> list[Json]:
    """Return the accounts with these names, in the given order. Unknown names are omitted."""
    require_few("accounts", accounts)
    return show.each(AccountRecord, account_views(state, accounts))


@method("condenser_api.get_accounts", record=ExtendedAccountRecord)
def get_accounts(state: State, show: RecordEncoder, /, accounts: list[AccountName]) -> list[Json]:
    """Return the accounts with these names in extended form, in the given order. Unknown names are omitted."""
    return show.each(ExtendedAccountRecord, account_views(state, accounts))


@method("condenser_api.lookup_account_names", record=AccountRecord)
def lookup_account_names(state: State, show: RecordEncoder, /, names: list[AccountName]) -> list[Json | None]:
    """Return the account for each name, null for unknown names."""
    dump, by_name = show.by(AccountRecord), state.accounts.by_name
    return [None if (row := by_name.get(name)) is None else dump(account_view(state, row)) for name in names]


@method("condenser_api.lookup_accounts")
def lookup_accounts(state: State, /, lower_bound: AccountName, limit: LookupLimit) -> list[str]:
    """List the names of accounts from `lower_bound` on, ascending."""
    return [row.name for row in islice(state.accounts.by_name.starting(lower_bound), limit)]


@method("condenser_api.get_account_count")
def get_account_count(state: State) -> int:
    """Return the number of accounts."""
    return len(state.accounts)


@method("condenser_api.get_account_references", raw=True)
def get_account_references(state: State, _params: Any) -> list[Any]:
    """Always refuse the call, as the reference does: it lists this method but doesn't serve it."""
    raise Refused("condenser_api::get_account_references --- Needs to be refactored for Coin.", condition="false")


@method("witness_api.get_account_bandwidth")
@method("condenser_api.get_account_bandwidth")
def get_account_bandwidth(state: State, account: AccountName, type_: Annotated[Text, Example("forum")]) -> Json:
    """Always refuse the call, as the reference has done since release 0.20.6."""
    raise NotServed("get_account_bandwidth")


declare_list(
    "database_api.list_accounts",
    "List accounts, ordered by name, by voting proxy and name, or by the time of the next power-down payment and name.",
    key="accounts",
    record=AccountRecord,
    view=account_view,
    by_name=By(lambda state: state.accounts.by_name, AccountName, or_alone=True),
    by_proxy=By(lambda state: state.accounts.by_proxy, tuple[AccountName, AccountName]),
    by_next_vesting_withdrawal=By(lambda state: state.accounts.by_next_vesting_withdrawal, tuple[Timestamp, AccountName]),
)
