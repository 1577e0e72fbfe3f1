"""Delegations, VESTS that return from ended delegations, and power-down routes. Source: rpc-api.md §3.2.4, §3.7, §3.8."""

import enum
from itertools import islice, takewhile
from typing import Annotated

from rpc.api.database_lists import By, ListLimit, Order, SortOrder, declare_list, exactly, few, unknown_order
from rpc.declare.arguments import AccountName, EnumTitle, Int64, OneOfNames, Timestamp
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder
from rpc.records.vesting import DelegationExpirationRecord, DelegationRecord, RouteRecord
from state.tables import State

PAGE = 100

# The reference's text lacks the closing bracket.
EXPIRATION_TYPES = "account_name_type, time_point_sec, vesting_delegation_expiration_id_type"
AccountExpiration = exactly("by_account_expiration", EXPIRATION_TYPES, AccountName, Timestamp, Int64)


class RouteType(enum.Enum):
    """Which power-down routes are requested: the routes from the account, the routes to the account, or both."""

    incoming = 0
    outgoing = 1
    all = 2


ROUTE_ORDERS = ("by_withdraw_route", "by_name", "by_destination")
RouteOrder = Annotated[Order, OneOfNames(ROUTE_ORDERS)]
Direction = Annotated[RouteType, EnumTitle("coin::plugins::condenser_api::withdraw_route_type")]


@method("database_api.find_vesting_delegations", key="delegations", record=DelegationRecord)
def find_vesting_delegations(state: State, show: RecordEncoder, /, account: AccountName = "") -> list[Json]:
    """Return the delegations by an account, ordered by delegatee."""
    return show.each(DelegationRecord, few(state.vesting_delegations.by_delegation, account))


@method("condenser_api.get_vesting_delegations", record=DelegationRecord)
def get_vesting_delegations(
    state: State, show: RecordEncoder, /, delegator: AccountName, start: AccountName, limit: ListLimit = PAGE
) -> list[Json]:
    """List the delegations by an account, ordered by delegatee, from `start` on."""
    rows = state.vesting_delegations.by_delegation.starting(delegator, start)
    return show.each(DelegationRecord, islice(takewhile(lambda row: row.delegator == delegator, rows), limit))


@method("database_api.find_vesting_delegation_expirations", key="delegations", record=DelegationExpirationRecord)
def find_vesting_delegation_expirations(state: State, show: RecordEncoder, /, account: AccountName = "") -> list[Json]:
    """Return the VESTS from an account's ended delegations that it hasn't got back yet, ordered by the time of their return."""
    return show.each(DelegationExpirationRecord, few(state.delegation_expirations.by_account_expiration, account))


@method("condenser_api.get_expiring_vesting_delegations", record=DelegationExpirationRecord)
def get_expiring_vesting_delegations(
    state: State, show: RecordEncoder, /, account: AccountName, after: Timestamp, limit: ListLimit = PAGE
) -> list[Json]:
    """List the VESTS whose delegation by an account has ended and that are returned at `after` or later, ordered by the time of their
    return.
    """
    rows = state.delegation_expirations.by_account_expiration.starting(account, after)
    return show.each(DelegationExpirationRecord, islice(takewhile(lambda row: row.delegator == account, rows), limit))


@method("database_api.find_withdraw_vesting_routes", key="routes", record=RouteRecord)
def find_withdraw_vesting_routes(
    state: State, show: RecordEncoder, /, account: AccountName = "", order: RouteOrder = SortOrder.by_withdraw_route
) -> list[Json]:
    """Return the power-down routes from an account, ordered by destination. With `by_destination`, return the routes to the account
    instead, ordered by record id.
    """
    if order.name not in ROUTE_ORDERS:
        raise unknown_order()
    return routes_of(state, show, account, incoming=order is SortOrder.by_destination)


@method("condenser_api.get_withdraw_routes", record=RouteRecord)
def get_withdraw_routes(state: State, show: RecordEncoder, /, account: AccountName, type_: Direction = RouteType.outgoing) -> list[Json]:
    """Return the power-down routes from an account, to it, or both.

    Routes from the account come first, ordered by destination. Routes to the account are ordered by record id.
    """
    outgoing = routes_of(state, show, account, incoming=False) if type_ is not RouteType.incoming else []
    incoming = routes_of(state, show, account, incoming=True) if type_ is not RouteType.outgoing else []
    return outgoing + incoming


def routes_of(state: State, show: RecordEncoder, account: str, incoming: bool) -> list[Json]:
    """Return at most QUERY_LIMIT power-down routes to or from an account."""
    routes = state.withdraw_routes
    return show.each(RouteRecord, few(routes.by_destination if incoming else routes.by_withdraw_route, account))


declare_list(
    "database_api.list_vesting_delegations",
    "List delegations, ordered by delegator and delegatee.",
    key="delegations",
    record=DelegationRecord,
    by_delegation=By(lambda state: state.vesting_delegations.by_delegation, tuple[AccountName, AccountName]),
)

declare_list(
    "database_api.list_vesting_delegation_expirations",
    "List delegated VESTS on their way back, ordered by time of return and record id, or by delegator, time of return and record id.",
    key="delegations",
    record=DelegationExpirationRecord,
    by_expiration=By(lambda state: state.delegation_expirations.by_expiration, tuple[Timestamp, Int64]),
    by_account_expiration=By(lambda state: state.delegation_expirations.by_account_expiration, AccountExpiration),
)

declare_list(
    "database_api.list_withdraw_vesting_routes",
    "List power-down routes, ordered by sender and receiver, or by receiver and record id.",
    key="routes",
    record=RouteRecord,
    by_withdraw_route=By(lambda state: state.withdraw_routes.by_withdraw_route, tuple[AccountName, AccountName]),
    by_destination=By(lambda state: state.withdraw_routes.by_destination, tuple[AccountName, Int64]),
)
