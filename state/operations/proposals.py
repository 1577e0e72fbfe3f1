"""Proposals to the treasury and votes for them. Declarations and what can be refused without state; sources:
operations.md §11, wire-format.md §4.1.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from state.operations import checks
from state.protocol import text
from state.protocol.asset import SBD, Asset
from state.protocol.codec import Codecs
from state.protocol.constants import COIN_PROPOSAL_MAX_IDS_NUMBER, COIN_PROPOSAL_SUBJECT_MAX_LENGTH
from state.protocol.errors import require
from state.protocol.kinds import AccountName, Bool, Extensions, Int, Many, Text, Time
from state.protocol.operation import Operation, operation

ProposalIds = Annotated[tuple[int, ...], Many(Int(64, signed=True), ascending=True, strict=True)]


@operation(44, active="creator", impacted=("creator", "receiver"))
class CreateProposal(Operation, frozen=True):
    """Ask the treasury for daily pay; the permlink is that of a post which explains it."""

    LEGACY_ABSENT: ClassVar[tuple[str, ...]] = ("extensions",)
    """The condenser neither writes nor reads them."""

    creator: AccountName = ""
    receiver: AccountName = ""
    start_date: Time = 0
    end_date: Time = 0
    daily_pay: Asset = Asset()
    subject: Text = ""
    permlink: Text = ""
    extensions: Extensions = ()

    def validate(self, codecs: Codecs) -> None:
        checks.require_account_name(self.creator)
        checks.require_account_name(self.receiver)
        require(self.end_date > self.start_date, "end date must be greater than start date", condition="end_date > start_date")
        require(self.daily_pay.amount >= 0, "Daily pay can't be negative value", condition="daily_pay.amount >= 0")
        require(
            self.daily_pay.symbol == SBD,
            "Daily pay should be expressed in SBD",
            condition="daily_pay.symbol.asset_num == COIN_ASSET_NUM_SBD",
        )
        require(self.subject, "subject is required", condition="!subject.empty()")
        require(
            text.size(self.subject) <= COIN_PROPOSAL_SUBJECT_MAX_LENGTH,
            "Subject is too long",
            condition="subject.size() <= COIN_PROPOSAL_SUBJECT_MAX_LENGTH",
        )
        require(text.is_utf8(self.subject), "Subject is not valid UTF8", condition="fc::is_utf8( subject )")
        require(self.permlink, "permlink is required", condition="!permlink.empty()")
        checks.require_permlink(self.permlink)


@operation(45, active="voter", impacted=("voter",))
class UpdateProposalVotes(Operation, frozen=True):
    """Vote for proposals, or take votes back."""

    voter: AccountName = ""
    proposal_ids: ProposalIds = ()
    approve: Bool = False
    extensions: Extensions = ()

    def validate(self, codecs: Codecs) -> None:
        checks.require_account_name(self.voter)
        require_proposal_ids(self.proposal_ids)


@operation(46, active="proposal_owner", impacted=("proposal_owner",))
class RemoveProposal(Operation, frozen=True):
    """Withdraw one's own proposals."""

    proposal_owner: AccountName = ""
    proposal_ids: ProposalIds = ()
    extensions: Extensions = ()

    def validate(self, codecs: Codecs) -> None:
        checks.require_account_name(self.proposal_owner)
        require_proposal_ids(self.proposal_ids)


def require_proposal_ids(ids: tuple[int, ...]) -> None:
    """At least one id and not too many."""
    require(ids, condition="proposal_ids.empty() == false")
    require(len(ids) <= COIN_PROPOSAL_MAX_IDS_NUMBER, condition="proposal_ids.size() <= COIN_PROPOSAL_MAX_IDS_NUMBER")
