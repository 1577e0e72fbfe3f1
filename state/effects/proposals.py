"""Removal of proposals and their votes. Source: operations.md §11.3; block-processing.md §3.23."""

from collections.abc import Iterable
from itertools import islice

from state.tables import State
from state.tables.proposals import Proposal


def remove_proposals(state: State, proposals: Iterable[Proposal]) -> None:
    """Remove proposals, each after its votes. `remove_threshold` of the chain spec limits the number of removed rows (negative: no limit).

    The limit bounds the work of one block; later blocks remove the rest. `proposals` is advanced only after the previous proposal is
    removed, so it can read the shrinking table.
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
        outside = state.outside_proposal_votes.by_proposal_id.get(proposal.proposal_id)
        if outside is not None:
            state.outside_proposal_votes.remove(outside)
        state.proposals.remove(proposal)
