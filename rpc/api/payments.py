"""Escrows, savings withdrawals, conversions. Source: rpc-api.md §3.2.4, §3.7, §3.8, §5.1."""

from typing import Annotated, Any

from rpc.api.database_lists import By, declare_list, exactly, few, read_argument, whole
from rpc.declare.arguments import AccountName, Bool, Example, Int64, Timestamp, UInt32
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder
from rpc.records.payments import ConversionRecord, EscrowRecord, SavingsWithdrawalRecord
from state.tables import State

Ratification = exactly("by_ratification_deadline", "bool, time_point_sec, escrow_id_type)", Bool, Timestamp, Int64)
CompleteFromId = exactly("by_complete_from_id", "time_point_sec, account_name_type, uint32_t)", Timestamp, AccountName, UInt32)
# The reference's text lacks the closing bracket.
ToComplete = exactly("by_to_complete", "account_name_type, time_point_sec, savings_withdraw_id_type", AccountName, Timestamp, Int64)


@method("database_api.find_escrows", key="escrows", record=EscrowRecord)
def find_escrows(state: State, show: RecordEncoder, /, from_: AccountName = "") -> list[Json]:
    """Return the escrows that an account has opened, ordered by number."""
    return show.each(EscrowRecord, few(state.escrows.by_from_id, from_))


@method("condenser_api.get_escrow", record=EscrowRecord)
def get_escrow(state: State, show: RecordEncoder, /, from_: AccountName, escrow_id: UInt32) -> Json | None:
    """Return the escrow of an account with this number, or null."""
    return show.maybe(EscrowRecord, state.escrows.by_from_id.get(from_, escrow_id))


@method("database_api.find_savings_withdrawals", key="withdrawals", record=SavingsWithdrawalRecord)
@method("condenser_api.get_savings_withdraw_from", required=1, record=SavingsWithdrawalRecord)
def find_savings_withdrawals(state: State, show: RecordEncoder, /, account: AccountName = "") -> list[Json]:
    """Return the pending withdrawals from an account's savings, ordered by request number."""
    return show.each(SavingsWithdrawalRecord, few(state.savings_withdraws.by_from_rid, account))


@method("condenser_api.get_savings_withdraw_to", record=SavingsWithdrawalRecord)
def get_savings_withdraw_to(state: State, show: RecordEncoder, /, account: AccountName) -> list[Json]:
    """Return at most 10,000 pending withdrawals from savings that will be paid to an account, soonest first."""
    return show.each(SavingsWithdrawalRecord, whole(state.savings_withdraws.by_to_complete, account))


@method("database_api.find_sbd_conversion_requests", key="requests", record=ConversionRecord)
def find_sbd_conversion_requests(state: State, show: RecordEncoder, /, account: AccountName = "") -> list[Json]:
    """Return the pending conversions of an account, ordered by request number."""
    return show.each(ConversionRecord, few(state.convert_requests.by_owner, account))


@method("condenser_api.get_conversion_requests", record=ConversionRecord)
def get_conversion_requests(state: State, show: RecordEncoder, /, account_or_id: Annotated[Any, Example("alice")]) -> list[Json]:
    """Return an account's pending conversions, ordered by request number. For a number, return the conversion with that record id."""
    if type(account_or_id) is int:
        row = state.convert_requests.get(account_or_id)
        return [] if row is None else [show(ConversionRecord, row)]
    owner = read_argument("account_or_id", AccountName, show.wire, account_or_id)
    return show.each(ConversionRecord, few(state.convert_requests.by_owner, owner))


declare_list(
    "database_api.list_escrows",
    "List escrows, ordered by sender and number, or by whether both sides have agreed, deadline and record id.",
    key="escrows",
    record=EscrowRecord,
    by_from_id=By(lambda state: state.escrows.by_from_id, tuple[AccountName, UInt32]),
    by_ratification_deadline=By(lambda state: state.escrows.by_ratification_deadline, Ratification),
)

declare_list(
    "database_api.list_savings_withdrawals",
    "List pending withdrawals from savings, ordered by sender and number, by time, sender and number, or by receiver, time and record id.",
    key="withdrawals",
    record=SavingsWithdrawalRecord,
    by_from_id=By(lambda state: state.savings_withdraws.by_from_rid, tuple[AccountName, UInt32]),
    by_complete_from_id=By(lambda state: state.savings_withdraws.by_complete_from_rid, CompleteFromId),
    by_to_complete=By(lambda state: state.savings_withdraws.by_to_complete, ToComplete),
)

declare_list(
    "database_api.list_sbd_conversion_requests",
    "List pending conversions, ordered by owner and number, or by due time and record id.",
    key="requests",
    record=ConversionRecord,
    by_account=By(lambda state: state.convert_requests.by_owner, tuple[AccountName, UInt32]),
    by_conversion_date=By(lambda state: state.convert_requests.by_conversion_date, tuple[Timestamp, Int64]),
)
