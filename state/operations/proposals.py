"""Proposals to the treasury and votes for them. Sources: operations.md §11, wire-format.md §4.1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from state.effects.balances import adjust_balance
from state.effects.proposals import remove_proposals
from state.operations import checks
from state.protocol import constants
from state.protocol.codec.kinds import AccountName, Bool, Codecs, Extensions, Int, Many, Text, Time
from state.protocol.errors import require
from state.protocol.operation import Operation, operation
from state.protocol.values import text
from state.protocol.values.asset import SBD, Asset
from state.protocol.values.integers import WORD32
from state.tables import State
from state.tables.proposals import Proposal, ProposalVote

PROPOSALS_HARDFORK = 21

ProposalIds = Annotated[tuple[int, ...], Many(Int(64, signed=True), ascending=True, strict=True)]


@operation(44, active="creator", impacted=("creator", "receiver"))
class CreateProposal(Operation, frozen=True):
    """Create a proposal for daily pay from the treasury. The permlink names the post that explains the proposal."""

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
            text.size(self.subject) <= constants.COIN_PROPOSAL_SUBJECT_MAX_LENGTH,
            "Subject is too long",
            condition="subject.size() <= COIN_PROPOSAL_SUBJECT_MAX_LENGTH",
        )
        require(text.is_utf8(self.subject), "Subject is not valid UTF8", condition="fc::is_utf8( subject )")
        require(self.permlink, "permlink is required", condition="!permlink.empty()")
        checks.require_permlink(self.permlink)

    def apply(self, state: State) -> None:
        require_proposals(state)
        require(self.end_date > state.head_time, "Can't create inactive proposals...", condition="o.end_date > _db.head_block_time()")
        treasury, creator = state.account(state.spec.treasury), state.account(self.creator)
        require(
            state.accounts.by_name.get(self.receiver) is not None,
            "Specified receiver account: ${r} must exist in the blockchain",
            condition="receiver_account != nullptr",
            r=self.receiver,
        )
        posts = state.comments.by_permlink
        require(
            posts.get(self.creator, self.permlink) is not None or posts.get(self.receiver, self.permlink) is not None,
            "Proposal permlink must point to the article posted by creator or receiver",
            condition="commentObject != nullptr",
        )

        state.proposals.insert(
            Proposal(
                proposal_id=state.proposals.next_id,
                creator=self.creator,
                receiver=self.receiver,
                start_date=self.start_date,
                end_date=self.end_date,
                daily_pay=self.daily_pay.amount,
                subject=until_nul(self.subject),
                permlink=until_nul(self.permlink),
            )
        )
        adjust_balance(state, creator, -constants.COIN_TREASURY_FEE, SBD)
        adjust_balance(state, treasury, constants.COIN_TREASURY_FEE, SBD)


@operation(45, active="voter", impacted=("voter",), protected="voter")
class UpdateProposalVotes(Operation, frozen=True):
    """Vote for proposals, or withdraw votes."""

    voter: AccountName = ""
    proposal_ids: ProposalIds = ()
    approve: Bool = False
    extensions: Extensions = ()

    def validate(self, codecs: Codecs) -> None:
        checks.require_account_name(self.voter)
        require_proposal_ids(self.proposal_ids)

    def apply(self, state: State) -> None:
        require_proposals(state)

        for number in self.proposal_ids:
            proposal = state.proposals.by_proposal_id.get(number)
            if proposal is None or proposal.removed:
                continue
            vote = state.proposal_votes.by_voter_proposal.get(self.voter, number)
            if self.approve and vote is None:
                state.proposal_votes.insert(ProposalVote(voter=self.voter, proposal_id=number))
            elif not self.approve and vote is not None:
                state.proposal_votes.remove(vote)


@operation(46, active="proposal_owner", impacted=("proposal_owner",))
class RemoveProposal(Operation, frozen=True):
    """Remove proposals of the signing account."""

    proposal_owner: AccountName = ""
    proposal_ids: ProposalIds = ()
    extensions: Extensions = ()

    def validate(self, codecs: Codecs) -> None:
        checks.require_account_name(self.proposal_owner)
        require_proposal_ids(self.proposal_ids)

    def apply(self, state: State) -> None:
        require_proposals(state)

        remove_proposals(state, self._own_proposals(state))
        # Proposals beyond the limit of one operation are marked, and removed in the next blocks. As in the reference, their owner is not
        # checked again.
        end_date = (state.head_time - constants.COIN_PROPOSAL_MAINTENANCE_CLEANUP) % WORD32
        for number in self.proposal_ids:
            proposal = state.proposals.by_proposal_id.get(number)
            if proposal is not None and not proposal.removed:
                state.proposals.modify(proposal, removed=True, end_date=end_date)

    def _own_proposals(self, state: State) -> Iterator[Proposal]:
        """Yield the existing proposals among those that the operation names. Refuse a proposal of another account when the iteration
        reaches it.
        """
        for number in self.proposal_ids:
            proposal = state.proposals.by_proposal_id.get(number)
            if proposal is not None:
                owned = proposal.creator == self.proposal_owner
                require(owned, "Only proposal owner can remove it...", condition="foundPosI->creator == proposal_owner")
                yield proposal


def require_proposals(state: State) -> None:
    """Refuse operations on proposals before hardfork 21."""
    require(
        state.hardfork >= PROPOSALS_HARDFORK,
        "Proposals functionality not enabled until hardfork ${hf}",
        condition="_db.has_hardfork( COIN_PROPOSALS_HARDFORK )",
        hf=PROPOSALS_HARDFORK,
    )


def until_nul(words: str) -> str:
    """Return the part of a text before the first NUL, as the reference stores it here."""
    return words.partition("\0")[0]


def require_proposal_ids(ids: tuple[int, ...]) -> None:
    """Refuse a list of ids that is empty or too long."""
    require(ids, condition="proposal_ids.empty() == false")
    require(len(ids) <= constants.COIN_PROPOSAL_MAX_IDS_NUMBER, condition="proposal_ids.size() <= COIN_PROPOSAL_MAX_IDS_NUMBER")
