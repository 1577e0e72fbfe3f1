"""Removing proposals together with their votes. Source: operations.md §11.3; block-processing.md §3.23."""

from collections.abc import Iterable
from itertools import islice

from state.tables import State
from state.tables.proposals import Proposal


def remove_proposals(state: State, proposals: Iterable[Proposal]) -> None:
    """Delete proposals, each after its votes, until as many rows are gone as the chain spec allows at once (negative: any number).

    The limit bounds the work of one block; a proposal that is left over goes in a later one. `proposals` is advanced only
    after the one before is gone, so it may read the table that shrinks.
    """
    left = state.spec.remove_threshold
    for proposal in proposals:
        votes = state.proposal_votes.by_proposal_voter.equal(proposal.proposal_id)
        for vote in list(votes if left < 0 else islice(votes, left)):
            left -= 1
            state.work.spend(1, "votes for proposals")
            state.proposal_votes.remove(vote)
        if left == 0:
            return
        left -= 1
        state.proposals.remove(proposal)
