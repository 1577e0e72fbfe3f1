"""What votes have made of the reputations of accounts. Source: rpc-api.md §3.2.4, §5.3, §6.6."""

from typing import Annotated, TypedDict

from rpc.records.plugins import Reputation
from rpc.service.arguments import AccountName, Limit, UInt32
from rpc.service.method import method
from rpc.service.show import Json, Of, Show
from state.plugins import reputation
from state.plugins.follow.lists import known_reputations
from state.plugins.follow.plugin import FOLLOW
from state.plugins.reputation import REPUTATION
from state.tables import State

EITHER = (FOLLOW, REPUTATION)
OFF = (
    "_follow_api || _reputation_api",
    "Neither follow_api_plugin nor reputation_api_plugin are enabled. One of these must be running.",
)

ReputationJson = Annotated[Json, Of(Reputation)]
ReputationsLimit = Annotated[UInt32, Limit(1000, "Cannot retrieve more than 1000 account reputations at a time.")]


class Reputations(TypedDict):
    """Reputations under their name."""

    reputations: list[ReputationJson]


@method("reputation_api.get_account_reputations", plugin=REPUTATION)
def get_account_reputations(
    state: State, show: Show, /, account_lower_bound: AccountName = "", limit: ReputationsLimit = 1000
) -> Reputations:
    """All accounts by name from a name on with their reputations, 0 for those that have none."""
    return {"reputations": find_account_reputations(state, show, account_lower_bound, limit)}


@method("condenser_api.get_account_reputations", plugin=EITHER, not_enabled=OFF)
def find_account_reputations(
    state: State, show: Show, /, account_lower_bound: AccountName, limit: ReputationsLimit = 1000
) -> list[ReputationJson]:
    """All accounts by name from a name on with their reputations, 0 for those that have none."""
    known = known_reputations(state)
    assert known is not None, "it is served with one of these plugins only"
    found = reputation.account_reputations(state, known, account_lower_bound, limit)
    return show.each(Reputation, (Reputation(account, number) for account, number in found))
