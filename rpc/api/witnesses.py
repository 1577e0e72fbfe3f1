"""Witnesses and the votes for them. Source: rpc-api.md §3.2.2, §3.2.4, §3.2.5, §3.7, §3.8."""

from itertools import islice
from typing import Annotated, Any

from rpc.api.database_lists import By, ListLimit, declare_list, named
from rpc.declare.arguments import AccountName
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder, ShowsRecord
from rpc.records.chain import WitnessScheduleRecord
from rpc.records.witnesses import WitnessRecord, WitnessVoteRecord
from state.protocol.codec.kinds import Int64, Share, UInt128
from state.tables import State

WitnessJson = Annotated[Json, ShowsRecord(WitnessRecord)]
ScheduleJson = Annotated[Json, ShowsRecord(WitnessScheduleRecord)]


@method("database_api.find_witnesses", key="witnesses")
def find_witnesses(state: State, show: RecordEncoder, /, owners: list[AccountName]) -> list[WitnessJson]:
    """Return the witnesses with these names, in the given order. Unknown names are omitted."""
    return show.each(WitnessRecord, named(state.witnesses.by_name, "owners", owners))


@method("condenser_api.get_witness_by_account")
def get_witness_by_account(state: State, show: RecordEncoder, /, account: AccountName) -> WitnessJson | None:
    """Return the witness with this name, or null."""
    return show.maybe(WitnessRecord, state.witnesses.by_name.get(account))


@method("condenser_api.get_witnesses")
def get_witnesses(state: State, show: RecordEncoder, /, ids: list[Int64]) -> list[WitnessJson | None]:
    """Return the witnesses with these record ids, null for unknown ones."""
    return [show.maybe(WitnessRecord, state.witnesses.get(number)) for number in ids]


@method("condenser_api.get_witnesses_by_vote")
def get_witnesses_by_vote(state: State, show: RecordEncoder, /, start: AccountName, limit: ListLimit) -> list[WitnessJson]:
    """List witnesses, most votes first, starting with the witness `start` ("" or null: the list is complete).

    If `start` is unknown, the list starts at the alphabetically next witness.
    """
    ranked = state.witnesses.by_vote_name
    rows = iter(ranked)
    if start:
        first = next(state.witnesses.by_name.starting(start), None)
        rows = iter(()) if first is None else ranked.starting(first.votes, first.owner)
    return show.each(WitnessRecord, islice(rows, limit))


@method("condenser_api.lookup_witness_accounts")
def lookup_witness_accounts(state: State, /, lower_bound: AccountName, limit: ListLimit) -> list[str]:
    """List the names of witnesses from `lower_bound` on, ascending."""
    return [row.owner for row in islice(state.witnesses.by_name.starting(lower_bound), limit)]


@method("condenser_api.get_witness_count")
def get_witness_count(state: State) -> int:
    """Return the number of witnesses."""
    return len(state.witnesses)


@method("database_api.get_witness_schedule")
@method("condenser_api.get_witness_schedule")
@method("debug_node_api.debug_get_witness_schedule", loopback_only=True)
def get_witness_schedule(state: State, show: RecordEncoder, /) -> ScheduleJson:
    """Return the witness schedule: the block producers of this round, and the medians of the chain properties that they vote for."""
    return show(WitnessScheduleRecord, state.schedule)


@method("database_api.get_active_witnesses", key="witnesses")
@method("condenser_api.get_active_witnesses")
def get_active_witnesses(state: State) -> list[AccountName]:
    """Return 21 names: the witnesses of this round in the order of their slots, with "" for each unused slot."""
    return list(state.schedule.current_shuffled_witnesses)


def schedule_key(state: State, time: int, name: str) -> tuple[Any, ...]:
    """Convert a virtual time and a name to a key of the index by virtual time. An unknown name sorts before all names with that time."""
    witness = state.witnesses.by_name.get(name)
    return (time,) if witness is None else (time, witness.id)


declare_list(
    "database_api.list_witnesses",
    "List witnesses, ordered by name, by votes (most first) and name, or by virtual time and name (there, an unknown name is ignored).",
    key="witnesses",
    record=WitnessRecord,
    by_name=By(lambda state: state.witnesses.by_name, AccountName),
    by_vote_name=By(lambda state: state.witnesses.by_vote_name, tuple[Share, AccountName]),
    by_schedule_time=By(lambda state: state.witnesses.by_schedule_time, tuple[UInt128, AccountName], schedule_key),
)

declare_list(
    "database_api.list_witness_votes",
    "List votes for witnesses, ordered by account and witness, or by witness and account.",
    key="votes",
    record=WitnessVoteRecord,
    by_account_witness=By(lambda state: state.witness_votes.by_account_witness, tuple[AccountName, AccountName]),
    by_witness_account=By(lambda state: state.witness_votes.by_witness_account, tuple[AccountName, AccountName]),
)
