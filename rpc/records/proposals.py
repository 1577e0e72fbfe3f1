"""Records of proposals and the votes for them. Source: rpc-api.md §2.4."""

from typing import Annotated, ClassVar

from msgspec import Struct

from rpc.service.shown import At, BigText, DebtAmount
from state.protocol.codec.kinds import AccountName, Text, Time, UInt32
from state.tables import proposals


class ProposalView(Struct):
    """What is shown of a proposal: its row, and its status at head time."""

    row: proposals.Proposal
    status: str


class Proposal(Struct):
    """R-proposal, of a `ProposalView`."""

    ROOT: ClassVar[str] = "row"

    id: UInt32
    proposal_id: BigText
    creator: AccountName
    receiver: AccountName
    start_date: Time
    end_date: Time
    daily_pay: DebtAmount
    subject: Text
    permlink: Text
    total_votes: BigText
    status: Annotated[str, At("status", Text)]


class ProposalVoteView(Struct):
    """What is shown of a vote for a proposal: its row, and the proposal."""

    row: proposals.ProposalVote
    proposal: ProposalView


class ProposalVote(Struct):
    """R-proposal-vote, of a `ProposalVoteView`."""

    ROOT: ClassVar[str] = "row"

    id: UInt32
    voter: AccountName
    proposal: Annotated[Proposal, At("proposal", Proposal)]
