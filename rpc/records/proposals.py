"""Records of proposals and of the votes for them. Source: rpc-api.md §2.4."""

from typing import Annotated, ClassVar

from msgspec import Struct

from rpc.declare.record_fields import BigText, DebtAmount, FieldPath
from state.protocol.codec.kinds import AccountName, Text, Time, UInt32
from state.tables import proposals


class ProposalView(Struct):
    """The object from which `ProposalRecord` is read: the proposal's row, and its status at the time of the head block."""

    row: proposals.Proposal
    status: str


class ProposalRecord(Struct):
    """A proposal (R-proposal), read from a `ProposalView`."""

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
    status: Annotated[str, FieldPath("status", Text)]


class ProposalVoteView(Struct):
    """The object from which `ProposalVoteRecord` is read: the vote's row, and the proposal."""

    row: proposals.ProposalVote
    proposal: ProposalView


class ProposalVoteRecord(Struct):
    """A vote for a proposal (R-proposal-vote), read from a `ProposalVoteView`."""

    ROOT: ClassVar[str] = "row"

    id: UInt32
    voter: AccountName
    proposal: Annotated[ProposalRecord, FieldPath("proposal", ProposalRecord)]
