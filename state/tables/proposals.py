"""Proposals to the treasury and the votes for them. Source: state-objects.md §8."""

from state.store import Ordered, Row, Table


class Proposal(Row):
    """A request for daily pay from the treasury; `daily_pay` is in SBD."""

    proposal_id: int = 0
    creator: str = ""
    receiver: str = ""
    start_date: int = 0
    end_date: int = 0
    daily_pay: int = 0
    subject: str = ""
    permlink: str = ""
    total_votes: int = 0
    removed: bool = False


class Proposals(Table[Proposal]):
    """All proposals.

    The reference sorts by end_date + 1 day. The order is the same, except for end dates so late that adding a day overflows 32 bits.
    """

    by_proposal_id = Ordered("proposal_id", unique=True)
    by_start_date = Ordered("start_date", "proposal_id", unique=True)
    by_end_date = Ordered("end_date", "proposal_id", unique=True)
    by_creator = Ordered("creator", "proposal_id", unique=True)
    by_total_votes = Ordered("total_votes", "proposal_id", unique=True)


class ProposalVote(Row):
    """An account's vote for a proposal."""

    voter: str = ""
    proposal_id: int = 0


class ProposalVotes(Table[ProposalVote]):
    """All votes for proposals."""

    by_voter_proposal = Ordered("voter", "proposal_id", unique=True)
    by_proposal_voter = Ordered("proposal_id", "voter", unique=True)
