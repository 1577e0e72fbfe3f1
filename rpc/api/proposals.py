"""Proposals, and the votes for them. Source: rpc-api.md §3.2.9, §3.7, §3.8."""

import enum
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

from rpc.api.database_lists import BEGINNING, QUERY_LIMIT, By, ListLimit, Order, SortOrder, chosen, require_few, start_types
from rpc.declare.arguments import APPBASE, AccountName, AnyOf, EnumTitle, Example, OneOfNames, Timestamp, UInt64
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder
from rpc.records.proposals import ProposalRecord, ProposalView, ProposalVoteRecord, ProposalVoteView
from state.protocol.values.integers import as_int64
from state.tables import State, proposals


class OrderDirection(enum.Enum):
    """Sort direction of a list."""

    ascending = 0
    descending = 1


class ProposalStatus(enum.Enum):
    """Filter that selects proposals by status."""

    all = 0
    inactive = 1
    active = 2
    expired = 3
    votable = 4


Direction = Annotated[OrderDirection, EnumTitle("coin::plugins::database_api::order_direction_type")]
Status = Annotated[ProposalStatus, EnumTitle("coin::plugins::database_api::proposal_status")]

UP, ALL = OrderDirection.ascending, ProposalStatus.all


def with_id(_state: State, first: Any, proposal_id: int) -> tuple[Any, int]:
    """Return an index key that ends in a proposal's id. As in the reference, ids from 2^63 on wrap to negative numbers and sort first."""
    return first, as_int64(proposal_id)


def id_first(_state: State, proposal_id: int, voter: str) -> tuple[int, str]:
    """Return the index key of a vote by proposal and voter. Ids from 2^63 on wrap, as in `with_id`."""
    return as_int64(proposal_id), voter


PROPOSALS = {
    "by_creator": By(lambda state: state.proposals.by_creator, tuple[AccountName, UInt64], with_id),
    "by_start_date": By(lambda state: state.proposals.by_start_date, tuple[Timestamp, UInt64], with_id),
    "by_end_date": By(lambda state: state.proposals.by_end_date, tuple[Timestamp, UInt64], with_id),
    "by_total_votes": By(lambda state: state.proposals.by_total_votes, tuple[UInt64, UInt64], with_id),
}
VOTES = {
    "by_voter_proposal": By(lambda state: state.proposal_votes.by_voter_proposal, tuple[AccountName, UInt64], with_id),
    "by_proposal_voter": By(lambda state: state.proposal_votes.by_proposal_voter, tuple[UInt64, AccountName], id_first),
}

ProposalStart = Annotated[Any, AnyOf(start_types(PROPOSALS)), Example([])]
ProposalOrder = Annotated[Order, OneOfNames(tuple(PROPOSALS)), Example("by_creator")]
VoteStart = Annotated[Any, AnyOf(start_types(VOTES)), Example([])]
VoteOrder = Annotated[Order, OneOfNames(tuple(VOTES)), Example("by_voter_proposal")]


@method("database_api.find_proposals", key="proposals", record=ProposalRecord)
@method("condenser_api.find_proposals", renamed="ids", record=ProposalRecord)
def find_proposals(state: State, show: RecordEncoder, /, proposal_ids: list[UInt64]) -> list[Json]:
    """Return the proposals with these ids, in the given order. Unknown and removed proposals are omitted."""
    require_few("proposal_ids", proposal_ids)
    by_id = state.proposals.by_proposal_id
    rows = (row for number in proposal_ids if (row := by_id.get(number)) is not None and not row.removed)
    return show.each(ProposalRecord, (proposal_view(state, row) for row in rows))


@method("database_api.list_proposals", key="proposals", record=ProposalRecord)
@method("condenser_api.list_proposals", required=3, record=ProposalRecord)
def list_proposals(
    state: State,
    show: RecordEncoder,
    /,
    start: ProposalStart = BEGINNING,
    limit: ListLimit = QUERY_LIMIT,
    order: ProposalOrder = SortOrder.by_creator,
    order_direction: Direction = UP,
    status: Status = ALL,
) -> list[Json]:
    """List proposals, ordered by creator, start, end or votes, then by id. In descending order, the list begins with the proposal before
    `start`.
    """
    rows = chosen(PROPOSALS, order).rows(state, show.wire, start, order_direction is not UP)
    views = (proposal_view(state, row) for row in rows if not row.removed)
    return show.each(ProposalRecord, islice((view for view in views if has_status(view, status)), limit))


@method("database_api.list_proposal_votes", key="proposal_votes", record=ProposalVoteRecord)
@method("condenser_api.list_proposal_votes", form=APPBASE, required=3, record=ProposalVoteRecord)
def list_proposal_votes(
    state: State,
    show: RecordEncoder,
    /,
    start: VoteStart = BEGINNING,
    limit: ListLimit = QUERY_LIMIT,
    order: VoteOrder = SortOrder.by_voter_proposal,
    order_direction: Direction = UP,
    status: Status = ALL,
) -> list[Json]:
    """List the votes for proposals, ordered by voter and proposal, or by proposal and voter. The argument `status` is ignored.

    The votes contain their proposals in the format of database_api.
    """
    # Outside of the generator, so that an invalid `start` is refused even if the limit is 0.
    rows = chosen(VOTES, order).rows(state, show.wire, start, order_direction is not UP)
    return show.each(ProposalVoteRecord, islice(vote_views(state, rows), limit))


def vote_views(state: State, rows: Iterator[proposals.ProposalVote]) -> Iterator[ProposalVoteView]:
    """Yield the votes for proposals that have not been removed."""
    by_id = state.proposals.by_proposal_id
    for row in rows:
        proposal = by_id.get(row.proposal_id)
        if proposal is not None and not proposal.removed:
            yield ProposalVoteView(row, proposal_view(state, proposal))


def proposal_view(state: State, row: proposals.Proposal) -> ProposalView:
    """Return a proposal with its status at the time of the head block."""
    now = state.head_time
    status = "inactive" if now < row.start_date else "active" if now <= row.end_date else "expired"
    return ProposalView(row, status)


def has_status(view: ProposalView, asked: ProposalStatus) -> bool:
    """Whether a proposal has the requested status. `votable` means that it has not ended."""
    return asked is ALL or asked.name == view.status or (asked is ProposalStatus.votable and view.status != "expired")
