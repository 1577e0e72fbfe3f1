"""Reputations of accounts. Source: rpc-api.md §3.2.4, §5.3, §6.6."""

from typing import Annotated

from rpc.declare.arguments import AccountName, MaxValue, UInt32
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder
from rpc.records.plugins import ReputationRecord
from state.plugins import reputation
from state.plugins.follow.lists import known_reputations
from state.plugins.follow.plugin import FOLLOW
from state.plugins.reputation import REPUTATION
from state.tables import State

EITHER = (FOLLOW, REPUTATION)
OFF = ("_follow_api || _reputation_api", "Neither follow_api_plugin nor reputation_api_plugin are enabled. One of these must be running.")

ReputationsLimit = Annotated[UInt32, MaxValue(1000, "Cannot retrieve more than 1000 account reputations at a time.")]


@method("follow_api.get_account_reputations", key="reputations", plugin=FOLLOW, record=ReputationRecord)
@method("reputation_api.get_account_reputations", key="reputations", plugin=REPUTATION, record=ReputationRecord)
@method("condenser_api.get_account_reputations", plugin=EITHER, not_enabled=OFF, required=1, record=ReputationRecord)
def get_account_reputations(
    state: State, show: RecordEncoder, /, account_lower_bound: AccountName = "", limit: ReputationsLimit = 1000
) -> list[Json]:
    """List accounts with their reputations, ordered by name, from `account_lower_bound` on. An account without a reputation is listed with
    0.
    """
    known = known_reputations(state)
    assert known is not None, "it is served with one of these plugins only"
    found = reputation.account_reputations(state, known, account_lower_bound, limit)
    return show.each(ReputationRecord, (ReputationRecord(account, number) for account, number in found))
