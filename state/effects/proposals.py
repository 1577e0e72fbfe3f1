"""Removing proposals together with their votes. Source: operations.md §11.3; block-processing.md §3.23."""

from collections.abc import Iterable
from itertools import islice

from state.tables import State
from state.tables.proposals import Proposal


def remove_proposals(state: State, proposals: Iterable[Proposal]) -> None:
    """Delete proposals, each behind its votes, until as many rows are gone as the chain allows at once.

    `proposals` is asked for the next one only when the one before is gone. A negative limit is none.
    """
    left = state.spec.remove_threshold
    for proposal in proposals:
        votes = state.proposal_votes.by_proposal_voter.equal(proposal.proposal_id)
        for vote in list(votes if left < 0 else islice(votes, left)):
            left -= 1
            state.proposal_votes.remove(vote)
        if left == 0:
            return
        left -= 1
        state.proposals.remove(proposal)
