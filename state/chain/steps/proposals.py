"""Block step that removes ended proposals, and pays active ones from the treasury every hour. Source: block-processing.md §3.23."""

from collections.abc import Iterator

from state.effects.arithmetic import narrowed
from state.effects.balances import adjust_balance
from state.effects.operation_events import emit
from state.effects.proposals import remove_proposals
from state.protocol.constants import COIN_100_PERCENT, COIN_PROPOSAL_MAINTENANCE_CLEANUP, COIN_PROPOSAL_MAINTENANCE_PERIOD, DAY_SECONDS
from state.protocol.transaction import SignedBlock
from state.protocol.values.asset import SBD, Asset
from state.protocol.values.integers import WORD32
from state.protocol.virtual import ProposalPay, SpsFund
from state.tables import State
from state.tables.accounts import Account
from state.tables.proposals import Proposal

DAILY_PART = 100  # the treasury spends 1/100 of its balance per day
LAST_DAY = WORD32 - COIN_PROPOSAL_MAINTENANCE_CLEANUP
VOTERS_OF_UNIT = 8


def process_proposals(state: State, block: SignedBlock) -> None:
    """Since hardfork 21: remove ended proposals. Once per hour, report the treasury's income and pay the active proposals."""
    if state.hardfork < 21:
        return
    now = block.timestamp
    if len(state.proposals):
        remove_proposals(state, ended_proposals(state, now))
    if state.props.next_maintenance_time > now:
        return
    income = state.props.sps_interval_ledger
    if income > 0:
        emit(state, SpsFund(additional_funds=Asset(income, SBD)))
        state.set_props(sps_interval_ledger=0)
    pay_proposals(state, now)
    state.set_props(next_maintenance_time=now + COIN_PROPOSAL_MAINTENANCE_PERIOD, last_budget_time=now)


def ended_proposals(state: State, now: int) -> Iterator[Proposal]:
    """Yield the proposals that ended at least a day ago, earliest first. The caller must remove each before the next.

    The time one day after the end is a 32-bit number. For ends in the last day of that range, in 2106, it wraps to 1970, so such proposals
    are removed before all others, in the block that creates them.
    """
    by_end_date = state.proposals.by_end_date
    while (proposal := next(by_end_date.starting(LAST_DAY), None) or by_end_date.first()) is not None:
        if (proposal.end_date + COIN_PROPOSAL_MAINTENANCE_CLEANUP) % WORD32 > now:
            return
        yield proposal


def active_proposals(state: State, now: int) -> list[Proposal]:
    """Return the proposals whose start date has come and whose end date has not passed, ordered by start date."""
    found = []
    for proposal in state.proposals.by_start_date:
        if proposal.start_date > now:
            break
        if now <= proposal.end_date:
            found.append(proposal)
    return found


def pay_proposals(state: State, now: int) -> None:
    """Pay the active proposals in order of votes, most first, until the budget for the time since the last payment is spent.

    The budget per day is a hundredth of the treasury. The last paid proposal gets what remains of the budget, even if that is less than its
    pay. A proposal without votes gets nothing.
    """
    active = active_proposals(state, now)
    if not active:
        return
    for proposal in active:
        state.proposals.modify(proposal, total_votes=count_votes(state, proposal))
    active.sort(key=lambda proposal: (-proposal.total_votes, proposal.proposal_id))
    treasury = state.account(state.spec.treasury)
    passed = (now - state.props.last_budget_time) % WORD32
    # After more than a hundred days the budget exceeds the treasury, and no block can be made.
    left = narrowed(passed * (treasury.sbd_balance // DAILY_PART) // DAY_SECONDS)
    # The product wraps at 32 bits: after five days proposals get less than their daily pay.
    ratio = passed * COIN_100_PERCENT % WORD32 // DAY_SECONDS
    for proposal in active if left else ():
        if proposal.total_votes == 0:
            return
        # The reference's chain halts if the product with a daily pay exceeds 64 bits. Here such a proposal gets the whole rest.
        payment = min(ratio * proposal.daily_pay // COIN_100_PERCENT, left)
        pay(state, treasury, proposal, payment)
        left -= payment
        if left == 0:
            return


def count_votes(state: State, proposal: Proposal) -> int:
    """Return the vote weight of a proposal. A voter with a proxy is not counted, because the proxy votes instead.

    On a partial chain, the votes of accounts that aren't here keep the weight that they had at the source.
    """
    votes = state.proposal_votes.by_proposal_voter.equal(proposal.proposal_id)
    voters = [state.account(vote.voter) for vote in votes]
    state.work.spend(len(voters) // VOTERS_OF_UNIT, "votes for proposals")
    outside = state.outside_proposal_votes.by_proposal_id.get(proposal.proposal_id)
    return sum(voter.witness_vote_weight for voter in voters if not voter.proxy) + (0 if outside is None else outside.weight)


def pay(state: State, treasury: Account, proposal: Proposal, payment: int) -> None:
    """Emit the virtual operation of a payment, then make the payment."""
    emit(state, ProposalPay(receiver=proposal.receiver, payment=Asset(payment, SBD)))
    adjust_balance(state, treasury, -payment, SBD)
    adjust_balance(state, state.account(proposal.receiver), payment, SBD)
