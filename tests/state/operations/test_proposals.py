"""Proposals: refusals, votes, limited removal, and the hourly payments of the treasury."""

from itertools import islice

import pytest
from msgspec import structs

from state.chain.chain import Chain
from state.chain.steps.proposals import ended_proposals, process_proposals
from state.operations.proposals import CreateProposal, RemoveProposal, UpdateProposalVotes
from state.protocol.errors import UnknownKey
from state.protocol.operation import Operation
from state.protocol.spec import ChainSpec
from state.protocol.transaction import SignedBlock
from state.protocol.values.asset import SBD, Asset
from state.protocol.virtual import ProposalPay, SpsFund
from state.tables.content import Comment
from state.tables.proposals import Proposal
from tests.helpers.chains import NOW, TEST_SPEC, add_account, apply, chain_at, completed, reason, refused

DAY, HOUR = 86_400, 3600
FEE = 10_000
TREASURY = "coin.dao"
MAKE = CreateProposal("pia", "rita", NOW, NOW + 10 * DAY, Asset(48_000, SBD), "plan", "post")


def treasury_chain(hardfork: int = 23, spec: ChainSpec = TEST_SPEC) -> Chain:
    chain = chain_at(hardfork, spec)
    for name in ("pia", "quin", "rita"):
        add_account(chain.state, name, sbd_balance=10 * FEE)
    for i, name in enumerate(("vic", "walt", "xena"), 1):
        add_account(chain.state, name, vesting_shares=i * 1_000_000)
    for author in ("pia", "quin"):
        chain.state.comments.insert(Comment(author=author, permlink="post"))
    chain.state.set_props(last_budget_time=NOW, next_maintenance_time=NOW + HOUR)
    return chain


@pytest.fixture
def chain() -> Chain:
    return treasury_chain()


def vote(voter: str, *numbers: int, yes: bool = True) -> UpdateProposalVotes:
    return UpdateProposalVotes(voter, numbers, yes)


def proposal(chain: Chain, number: int) -> Proposal:
    return chain.state.proposals.by_proposal_id.find(number)


def end_of_block(chain: Chain, time: int) -> None:
    chain.state.set_props(time=time)
    process_proposals(chain.state, SignedBlock(timestamp=time))


# ------------------------------------------------------------------ operations


@pytest.mark.parametrize("operation", [MAKE, vote("vic", 0), RemoveProposal("pia", (0,))])
def test_proposals_exist_since_hardfork_21(operation: Operation) -> None:
    assert reason(treasury_chain(20), operation) == "Proposals functionality not enabled until hardfork 21"
    chain = treasury_chain(21)
    apply(chain, MAKE, operation)


def test_making_one_is_refused(chain: Chain) -> None:
    ended = structs.replace(MAKE, start_date=NOW - 1, end_date=NOW)
    assert reason(chain, ended) == "Can't create inactive proposals..."
    assert refused(chain, structs.replace(MAKE, creator="nobody")) == UnknownKey().message()
    text = reason(chain, structs.replace(MAKE, receiver="nobody"))
    assert text == "Specified receiver account: nobody must exist in the blockchain"
    text = reason(chain, structs.replace(MAKE, permlink="other"))
    assert text == "Proposal permlink must point to the article posted by creator or receiver"
    apply(chain, structs.replace(MAKE, creator="rita", receiver="quin"))  # the receiver's post will do
    chain.state.accounts.modify(chain.state.account("pia"), sbd_balance=FEE - 1)
    assert "Account pia does not have sufficient funds" in reason(chain, MAKE)


def test_one_is_made_for_a_fee(chain: Chain) -> None:
    apply(chain, MAKE, structs.replace(MAKE, creator="quin", subject="one\0two"))
    row = proposal(chain, 0)
    assert (row.id, row.creator, row.receiver, row.daily_pay, row.removed, row.total_votes) == (0, "pia", "rita", 48_000, False, 0)
    assert (row.start_date, row.end_date, row.subject, row.permlink) == (NOW, NOW + 10 * DAY, "plan", "post")
    assert proposal(chain, 1).subject == "one"
    assert chain.state.account("pia").sbd_balance == 9 * FEE
    assert chain.state.account(TREASURY).sbd_balance == 2 * FEE


def votes(chain: Chain) -> list[tuple[str, int]]:
    return [(row.voter, row.proposal_id) for row in chain.state.proposal_votes]


def test_votes_are_added_and_removed_without_refusals(chain: Chain) -> None:
    apply(chain, MAKE, MAKE, vote("vic", 0, 1, 99), vote("vic", 0), vote("walt", 0, yes=False))
    assert votes(chain) == [("vic", 0), ("vic", 1)]
    apply(chain, vote("vic", 0, 7, yes=False))
    assert votes(chain) == [("vic", 1)]
    chain.state.proposals.modify(proposal(chain, 0), removed=True)
    apply(chain, vote("vic", 0, 1), vote("walt", 0))
    assert votes(chain) == [("vic", 1)]


def test_only_the_creator_removes(chain: Chain) -> None:
    apply(chain, MAKE, structs.replace(MAKE, creator="quin"), vote("vic", 0, 1), vote("walt", 0))
    assert reason(chain, RemoveProposal("pia", (0, 1))) == "Only proposal owner can remove it..."
    assert reason(chain, RemoveProposal("rita", (0,))) == "Only proposal owner can remove it..."
    apply(chain, RemoveProposal("pia", (0, 9)))
    assert [row.creator for row in chain.state.proposals] == ["quin"]
    assert votes(chain) == [("vic", 1)]


def test_proposals_beyond_the_removal_limit_are_marked() -> None:
    chain = treasury_chain(spec=structs.replace(TEST_SPEC, remove_threshold=3))
    apply(chain, MAKE, structs.replace(MAKE, creator="quin"), structs.replace(MAKE, creator="quin"))
    apply(chain, vote("vic", 0), vote("walt", 0), vote("xena", 0), vote("vic", 1))
    # Only three votes can be removed now, so the proposal remains. Once the limit is reached, the owner of the second proposal isn't
    # checked.
    apply(chain, RemoveProposal("pia", (0, 1)))
    assert votes(chain) == [("vic", 1)]
    assert [(row.removed, row.end_date) for row in chain.state.proposals] == [
        (True, NOW - DAY),
        (True, NOW - DAY),
        (False, NOW + 10 * DAY),
    ]
    # A block then removes one proposal, a vote and the other proposal.
    end_of_block(chain, NOW + 3)
    assert [row.proposal_id for row in chain.state.proposals] == [2]
    assert votes(chain) == []


@pytest.mark.parametrize(("threshold", "left", "left_votes"), [(-1, 0, 0), (0, 3, 3), (1, 3, 2), (3, 2, 1), (5, 1, 0), (6, 0, 0)])
def test_ended_proposals_go_a_day_later_within_the_limit(threshold: int, left: int, left_votes: int) -> None:
    chain = treasury_chain(spec=structs.replace(TEST_SPEC, remove_threshold=threshold))
    soon = structs.replace(MAKE, end_date=NOW + HOUR)
    apply(chain, structs.replace(soon, end_date=NOW + HOUR + 2), soon, soon)
    apply(chain, vote("vic", 0), vote("vic", 1), vote("walt", 1))
    end_of_block(chain, NOW + HOUR + DAY - 1)
    assert (len(chain.state.proposals), len(chain.state.proposal_votes)) == (3, 3)
    end_of_block(chain, NOW + HOUR + DAY + 2)
    assert (len(chain.state.proposals), len(chain.state.proposal_votes)) == (left, left_votes)


def test_an_end_on_the_last_day_of_32_bits_has_passed(chain: Chain) -> None:
    last = 2**32 - DAY
    apply(chain, MAKE, *(structs.replace(MAKE, end_date=end) for end in (2**32 - 1, last, last - 1)), vote("vic", 0, 1, 3))
    assert [row.proposal_id for row in ended_proposals_of(chain)] == [2]
    end_of_block(chain, NOW)
    assert [row.proposal_id for row in chain.state.proposals] == [0, 3]
    assert votes(chain) == [("vic", 0), ("vic", 3)]


def test_the_limit_holds_for_ends_on_the_last_day_of_32_bits() -> None:
    chain = treasury_chain(spec=structs.replace(TEST_SPEC, remove_threshold=1))
    apply(chain, structs.replace(MAKE, end_date=NOW + HOUR), structs.replace(MAKE, end_date=2**32 - 1))
    end_of_block(chain, NOW + HOUR + DAY)
    assert [row.proposal_id for row in chain.state.proposals] == [0]


def ended_proposals_of(chain: Chain) -> list[Proposal]:
    """Return a list of the ended proposal that is removed first, or an empty list if no proposal has ended."""
    return list(islice(ended_proposals(chain.state, NOW), 1))


# ------------------------------------------------------------------ payments


def pays(*payments: tuple[str, int]) -> list[ProposalPay]:
    return [ProposalPay(receiver, Asset(payment, SBD)) for receiver, payment in payments]


def test_an_hour_is_paid_by_votes(chain: Chain) -> None:
    state = chain.state
    events = completed(state, ProposalPay, SpsFund)
    apply(chain, MAKE, structs.replace(MAKE, receiver="quin"), structs.replace(MAKE, receiver="xena", start_date=NOW + 2 * HOUR))
    apply(chain, structs.replace(MAKE, receiver="walt"), vote("walt", 0), vote("vic", 1), vote("xena", 1), vote("xena", 2))
    treasury = state.account(TREASURY)
    state.accounts.modify(treasury, sbd_balance=5_000_000)
    state.set_props(sps_interval_ledger=77)
    end_of_block(chain, NOW + HOUR - 1)
    assert events == []
    end_of_block(chain, NOW + HOUR)
    # E13: the ratio for an hour is 416. A daily pay of 48.000 gives 1.996 per hour, and 2083 can be spent. The proposal for walt has no
    # votes.
    assert events == [SpsFund(Asset(77, SBD)), *pays(("quin", 1996), ("rita", 2083 - 1996))]
    assert (treasury.sbd_balance, state.account("quin").sbd_balance) == (5_000_000 - 2083, 10 * FEE + 1996)
    assert [row.total_votes for row in state.proposals] == [2_000_000, 4_000_000, 0, 0]
    assert state.props.sps_interval_ledger == 0
    assert (state.props.next_maintenance_time, state.props.last_budget_time) == (NOW + 2 * HOUR, NOW + HOUR)


def test_equal_votes_are_paid_by_number_and_nothing_pays_nothing(chain: Chain) -> None:
    state = chain.state
    events = completed(state, ProposalPay)
    apply(chain, structs.replace(MAKE, daily_pay=Asset(0, SBD)), structs.replace(MAKE, receiver="quin", end_date=NOW + HOUR))
    apply(chain, vote("vic", 1, 0))
    state.accounts.modify(state.account(TREASURY), sbd_balance=5_000_000)
    end_of_block(chain, NOW + HOUR)
    assert events == pays(("rita", 0), ("quin", 1996))
    state.accounts.modify(state.account(TREASURY), sbd_balance=99)
    end_of_block(chain, NOW + 2 * HOUR)
    assert len(events) == 2  # a hundredth of 0.099 SBD is nothing


def test_the_largest_daily_pay_takes_all_that_is_left(chain: Chain) -> None:
    events = completed(chain.state, ProposalPay)
    apply(chain, structs.replace(MAKE, daily_pay=Asset(2**63 - 1, SBD)), MAKE, vote("vic", 0, 1))
    chain.state.accounts.modify(chain.state.account(TREASURY), sbd_balance=5_000_000)
    end_of_block(chain, NOW + HOUR)
    assert events == pays(("rita", 2083))


def test_the_ratio_wraps_at_32_bits(chain: Chain) -> None:
    events = completed(chain.state, ProposalPay)
    apply(chain, MAKE, vote("vic", 0))
    chain.state.accounts.modify(chain.state.account(TREASURY), sbd_balance=10**12)
    end_of_block(chain, NOW + 500_000)
    # E13: 8160, where 57870 would be right.
    assert events == pays(("rita", 8160 * 48_000 // 10_000))


def test_voters_with_a_proxy_do_not_count_but_proxied_weight_does(chain: Chain) -> None:
    state = chain.state
    apply(chain, MAKE, vote("vic", 0), vote("walt", 0))
    state.accounts.modify(state.account("walt"), proxy="vic")
    state.accounts.modify(state.account("vic"), proxied_vsf_votes=(2_000_000, 5, 0, 0))
    end_of_block(chain, NOW + HOUR)
    assert proposal(chain, 0).total_votes == 3_000_005


def test_without_active_proposals_only_the_times_move(chain: Chain) -> None:
    events = completed(chain.state, ProposalPay)
    apply(chain, structs.replace(MAKE, start_date=NOW + HOUR + 1), structs.replace(MAKE, end_date=NOW + HOUR - 1), vote("vic", 0, 1))
    end_of_block(chain, NOW + HOUR)
    assert events == []
    assert [row.total_votes for row in chain.state.proposals] == [0, 0]
    assert (chain.state.props.next_maintenance_time, chain.state.props.last_budget_time) == (NOW + 2 * HOUR, NOW + HOUR)


def test_nothing_happens_before_hardfork_21() -> None:
    chain = treasury_chain(20)
    chain.state.set_props(sps_interval_ledger=5)
    end_of_block(chain, NOW + HOUR)
    assert (chain.state.props.sps_interval_ledger, chain.state.props.next_maintenance_time) == (5, NOW + HOUR)
