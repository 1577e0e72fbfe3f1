"""Limit tests of the numbers in rows. Each such test, a `Walk`, sets a number close to its limit and applies the rule that changes it."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from state.chain.steps.cashout import decayed, pay
from state.chain.steps.heads import count_missed
from state.chain.steps.market import process_conversions
from state.chain.steps.money import pay_reward_fund, process_funds
from state.chain.steps.schedule import new_laps
from state.effects import balances, smt_balances
from state.effects.comments import require_depth
from state.effects.delegations import lend
from state.effects.early_voting import adjust_claims, cast_early_vote
from state.effects.mana import used
from state.effects.operation_events import announce
from state.effects.orders import adjust_liquidity
from state.effects.rewards import add_vesting_reward
from state.effects.votes import adjust_witness_vote, propagate
from state.effects.voting import add_vote, change_vote, post_fund
from state.operations.accounts import ClaimAccount
from state.operations.content import Vote
from state.operations.mining import count_work
from state.operations.smt.tokens import SmtContribute
from state.operations.witnesses import AccountWitnessVote
from state.plugins import market_history, reputation
from state.plugins.rc.accounts import update_maximum
from state.plugins.rc.rows import Rc, RcAccount, maximum_rc
from state.protocol.constants import COIN_RECENT_RSHARES_DECAY_TIME_HF19
from state.protocol.errors import IntegerOverflow, IntegerUnderflow, Refused
from state.protocol.values.asset import COIN, SBD, Asset, symbol_from_digits
from state.protocol.virtual import FillOrder, Interest
from state.tables import State
from state.tables.accounts import Account
from state.tables.content import Comment, CommentVote
from state.tables.market import ConvertRequest, LiquidityReward
from state.tables.smt import CONTRIBUTION_BEGIN, RegularBalance, RewardsBalance, SmtIco, SmtToken
from state.tables.witnesses import WitnessVote
from tests.helpers.chains import BLOCK, NEWEST, NOW, add_account, add_comment, add_witness, apply, chain_at, refused, set_median

MOST, LEAST = 2**63 - 1, -(2**63)
TOKEN = symbol_from_digits(12_345_678, 3)
OVER, UNDER = r"^Integer Overflow:$", r"^Integer Underflow:$"

Walk = Callable[[], None]
Step = Callable[[State, int], object]

# ------------------------------------------------------------------ limit tests


def world(hardfork: int = NEWEST) -> State:
    """A state with `alice`, `bob` and the witness `wit`, who have no balances, and 1,000 units of VESTS that belong to nobody."""
    state = chain_at(hardfork).state
    for name in ("alice", "bob", "wit"):
        add_account(state, name)
    add_witness(state, "wit")
    state.set_props(current_witness="wit", total_vesting_fund_coin=1000, total_vesting_shares=1000, total_reward_fund_coin=0)
    return state


def checked(step: Step, hardfork: int = NEWEST, below: bool = False) -> Walk:
    """Return a limit test of a checked amount. `step` sets the start value and adds 1, or subtracts 1 if `below`. The step to the limit
    succeeds, and the next one is refused.
    """

    def walk() -> None:
        step(world(hardfork), LEAST + 1 if below else MOST - 1)
        with pytest.raises(IntegerUnderflow if below else IntegerOverflow, match=UNDER if below else OVER):
            step(world(hardfork), LEAST if below else MOST)

    return walk


def wrapping(step: Step, start: int, end: int, hardfork: int = NEWEST) -> Walk:
    """Return a limit test of a number that wraps. `step` sets the number to `start`, changes it and returns the result, which must be
    `end`.
    """

    def walk() -> None:
        assert step(world(hardfork), start) == end

    return walk


def both(*walks: Walk) -> Walk:
    """Return a limit test that runs several others."""

    def walk() -> None:
        for one in walks:
            one()

    return walk


def alice(state: State, **fields: Any) -> Account:
    """Set fields of Alice's account, and return the account."""
    account = state.account("alice")
    state.accounts.modify(account, **fields)
    return account


def of_account(field: str, add: Callable[[State, Account, int], object], hardfork: int = NEWEST, below: bool = False) -> Walk:
    """Return a limit test of a field of Alice's account."""
    return checked(lambda state, start: add(state, alice(state, **{field: start}), -1 if below else 1), hardfork, below)


def of_props(field: str, add: Callable[[State, int], object], below: bool = False, **others: int) -> Walk:
    """Return a limit test of a field of the global properties."""

    def step(state: State, start: int) -> None:
        state.set_props(**others | {field: start})
        add(state, -1 if below else 1)

    return checked(step, below=below)


def mana_of(state: State, account: Account, change: int) -> None:
    """Delegate `change` of Bob's VESTS to an account. Of all numbers that this changes, only the account's received VESTS are near a
    limit.
    """
    bob = state.account("bob")
    lend(state, bob, account, change)


def of_witness_votes(approve: bool) -> Step:
    """Return a step in which an account approves a witness, or withdraws its approval. The step returns the account's number of
    approvals.
    """

    def step(state: State, start: int) -> int:
        voter = alice(state, witnesses_voted_for=start)
        if not approve:
            state.witness_votes.insert(WitnessVote(witness="wit", account="alice"))
        AccountWitnessVote("alice", "wit", approve).apply(state)
        return voter.witnesses_voted_for

    return step


def comment_of(state: State, **fields: Any) -> Comment:
    """Add a post of Bob's with these fields."""
    return add_comment(state, "bob", "post", **fields)


def of_comment(field: str, rshares: int, below: bool = False) -> Walk:
    """Return a limit test of a field of a post, or of its root post, that Alice's vote with ±1 rshare changes."""

    def step(state: State, start: int) -> None:
        comment = comment_of(state, **{field: start})
        add_vote(state, state.account("alice"), comment, 1, rshares)

    return checked(step, below=below)


def changed_rshares(state: State, start: int) -> None:
    """Change a vote from 2 rshares to -1. The rule first subtracts the old 2, then adds the new -1."""
    comment = comment_of(state, net_rshares=start + 2)
    vote = state.comment_votes.insert(CommentVote(voter=state.account("alice").id, comment=comment.id, rshares=2))
    change_vote(state, comment, vote, -1, -1)


def paid(field: str, on_author: bool = False, **fields: Any) -> Walk:
    """Return a limit test of a field that the payout of a comment increases by one unit. The comment has been paid once before."""

    def step(state: State, start: int) -> None:
        state.set_props(virtual_supply=1000)
        comment = comment_of(state, percent_coin_dollars=0, **{} if on_author else {field: start}, **fields)
        state.comment_votes.insert(CommentVote(voter=state.account("alice").id, comment=comment.id, weight=1))
        name = "alice" if field == "curation_rewards" else "bob"
        if on_author:
            state.accounts.modify(state.account(name), **{field: start})
        pay(state, comment, 1, 10_000 if field in ("curation_rewards", "curator_payout_value") else 0)

    return checked(step)


def vote_weight(state: State, start: int) -> int:
    """Change a vote, and return the comment's total weight. The change subtracts the vote's weight, although a payout can have reset the
    total.
    """
    comment = comment_of(state, total_vote_weight=start)
    vote = state.comment_votes.insert(CommentVote(voter=state.account("alice").id, comment=comment.id, weight=1, rshares=0))
    change_vote(state, comment, vote, 1, 1)
    return comment.total_vote_weight


def added_weight(state: State, start: int) -> int:
    """Cast a first vote and return the comment's total weight."""
    comment = comment_of(state, total_vote_weight=start)
    state.reward_funds.modify(post_fund(state), curation_reward_curve=2)  # linear: the weight equals the rshares
    add_vote(state, state.account("alice"), comment, 1, 1)
    return comment.total_vote_weight


def early_weight(state: State, start: int) -> int:
    """Cast a vote under the rules before hardfork 1, which multiply rshares by a million and wrap: 2^63 and above become large unsigned
    numbers.
    """
    voter = alice(state, vesting_shares=start, voting_mana=10_000, voting_mana_time=NOW - 3)
    state.set_props(total_vesting_shares=start)
    comment = comment_of(state, created=NOW - 3)
    cast_early_vote(state, voter, comment, 10_000)
    return comment.total_vote_weight


def claims(state: State, start: int) -> int:
    """Remove the claim of the only comment that has one, and return the sum of all claims."""
    state.set_props(total_reward_shares2=start)
    adjust_claims(state, 1, 0)
    return state.props.total_reward_shares2


def proxied(state: State, start: int) -> None:
    """Add or remove one unit of the VESTS with which Bob votes as Alice's proxy."""
    bob = state.account("bob")
    state.accounts.modify(bob, proxied_vsf_votes=(start, 0, 0, 0))
    propagate(state, alice(state, proxy="bob"), 1 if start > 0 else -1)


def witness_votes(state: State, start: int) -> None:
    """Add or remove one vote of a witness."""
    state.set_props(total_vesting_shares=MOST)
    state.witnesses.modify(state.witness("wit"), votes=start)
    adjust_witness_vote(state, state.witness("wit"), 1 if start > 0 else -1)


def early_witness_votes(state: State, start: int) -> None:
    """Vote for a witness under the rules before hardfork 2, which change only the vote total."""
    alice(state, vesting_shares=1)
    state.witnesses.modify(state.witness("wit"), votes=start)
    AccountWitnessVote("alice", "wit", approve=True).apply(state)


def missed(state: State, start: int) -> int:
    """Make a witness miss a slot, and return the witness's number of missed blocks."""
    state.witness_schedules.modify(state.schedule, current_shuffled_witnesses=("wit", *[""] * 20))
    state.witnesses.modify(state.witness("wit"), total_missed=start)
    count_missed(state, 1, "alice")
    return state.witness("wit").total_missed


def worked(state: State, start: int) -> int:
    """Count a proof of work, and return the total number of proofs."""
    state.set_props(total_pow=start)
    count_work(state)
    return state.props.total_pow


def queued(state: State, start: int) -> int:
    """Count a proof of work and return the length of the miner queue."""
    state.set_props(num_pow_witnesses=start)
    count_work(state)
    return state.props.num_pow_witnesses


def volume(sells_sbd: bool) -> Step:
    """Return a step that increases the volume of a market maker or, at the lower limit, decreases it."""

    def step(state: State, start: int) -> int:
        field = "coin_volume" if sells_sbd else "sbd_volume"
        row = state.liquidity_rewards.insert(LiquidityReward(owner=state.account("alice").id, last_update=NOW, **{field: start}))
        adjust_liquidity(state, "alice", 1 if start > 0 else -1, sells_sbd)
        value: int = getattr(row, field)
        return value

    return step


def volume_weight(state: State, start: int) -> int:
    """Return a market maker's weight before hardfork 10, when it was the 64-bit product of both volumes, sign-extended to 128 bits."""
    row = state.liquidity_rewards.insert(LiquidityReward(owner=state.account("alice").id, last_update=NOW, coin_volume=start, sbd_volume=2))
    adjust_liquidity(state, "alice", 0, sells_sbd=True)
    return row.weight


def converted(field: str) -> Walk:
    """Return a limit test of a supply that changes when 2 SBD convert to 1 COIN."""

    def step(state: State, start: int) -> None:
        state.feed_histories.modify(state.feed, current_median_history=HALF)
        state.set_props(current_sbd_supply=2, **{field: start})
        state.convert_requests.insert(ConvertRequest(owner="bob", amount=2, conversion_date=0))
        process_conversions(state, BLOCK)

    return checked(step)


HALF = structs.replace(chain_at().state.feed.current_median_history, base=Asset(2, SBD), quote=Asset(1, COIN))


def funds(field: str) -> Walk:
    """Return a limit test of a field that the inflation of a block increases. The size of the increase is first measured far from any
    limit.
    """

    def walk() -> None:
        before = inflated(field, 0)
        assert before > 0
        inflated(field, MOST - before)
        with pytest.raises(IntegerOverflow, match=OVER):
            inflated(field, MOST - before + 1)

    return walk


def inflated(field: str, start: int) -> int:
    """Return the amount that a block's inflation adds to a field, with a virtual supply of 10^13 COIN units."""
    state = world(21)
    state.set_props(**{"virtual_supply": 10**13, field: start} if field != "virtual_supply" else {})
    process_funds(state, BLOCK)
    value: int = getattr(state.props, field)
    return value - start


def rewarded(state: State, start: int) -> None:
    """Add a pending reward of 1 COIN in VESTS to Bob."""
    add_vesting_reward(state, state.account("bob"), 1, 1)


def token(state: State, **fields: Any) -> SmtToken:
    """Insert a token with these fields."""
    return state.smt_tokens.insert(SmtToken(liquid_symbol=TOKEN, **fields))


def of_token(field: str, add: Callable[[State], object], **others: Any) -> Walk:
    """Return a limit test of an amount of a token."""

    def step(state: State, start: int) -> None:
        token(state, **others | {field: start})
        add(state)

    return checked(step)


def of_token_balance(field: str, symbol: int) -> Walk:
    """Return a limit test of Alice's balance of a token."""

    def step(state: State, start: int) -> None:
        state.regular_balances.insert(RegularBalance(owner="alice", liquid_symbol=TOKEN, **{field: start}))
        smt_balances.adjust_token_balance(state, "alice", 1, symbol)

    return checked(step)


def of_token_rewards(field: str, vests: int) -> Walk:
    """Return a limit test of Alice's pending rewards of a token."""

    def step(state: State, start: int) -> None:
        state.rewards_balances.insert(RewardsBalance(owner="alice", liquid_symbol=TOKEN, **{field: start}))
        smt_balances.adjust_token_rewards(state, "alice", 1, TOKEN, vests)

    return checked(step)


def too_much_contributed() -> None:
    """A contribution whose sum with earlier ones exceeds 63 bits is refused with an integer overflow, although it also exceeds the hard cap
    of at most 10^15.
    """
    state = world()
    state.hardfork_properties.modify(state.hardforks, last_hardfork=24)
    token(state, phase=CONTRIBUTION_BEGIN)
    state.smt_icos.insert(SmtIco(symbol=TOKEN, contributed=1, coin_units_hard_cap=10**15))
    with pytest.raises(IntegerOverflow, match=OVER):
        SmtContribute("alice", TOKEN, 1, Asset(MOST)).apply(state)


def claimed_accounts() -> None:
    """Claiming an account at the limit is refused."""
    chain = chain_at()
    set_median(chain.state, account_creation_fee=1)
    account = add_account(chain.state, "alice", balance=10, pending_claimed_accounts=MOST - 1)
    apply(chain, ClaimAccount("alice", Asset(1)))
    assert account.pending_claimed_accounts == MOST
    assert refused(chain, ClaimAccount("alice", Asset(1))) == "Integer Overflow:"


def reward_balance(state: State, start: int) -> None:
    """Pay the content share of a block's inflation into the reward fund."""
    state.reward_funds.modify(post_fund(state), reward_balance=start)
    pay_reward_fund(state, 1)


def numbered(state: State, start: int) -> int:
    """Emit a virtual operation and return its number."""
    state.position.virtual_op = start
    announce(state, Interest("alice"))
    return state.position.virtual_op


def sbd_seconds(state: State, start: int) -> int:
    """Add the SBD seconds of one second to an account. No interest is paid, because interest is due only after 30 days."""
    account = alice(state, sbd_balance=1, sbd_seconds=start, sbd_seconds_last_update=NOW - 1, sbd_last_interest_payment=NOW)
    balances.adjust_balance(state, account, 0, SBD)
    return account.sbd_seconds


def savings_seconds(state: State, start: int) -> int:
    """Add the SBD seconds of one second to the savings of an account."""
    times = {"savings_sbd_seconds_last_update": NOW - 1, "savings_sbd_last_interest_payment": NOW}
    account = alice(state, savings_sbd_balance=1, savings_sbd_seconds=start, **times)
    balances.adjust_savings_balance(state, account, 0, SBD)
    return account.savings_sbd_seconds


def position(state: State, start: int) -> int:
    """Update the virtual position of a witness one lap after the last update, and return the new position."""
    witness = state.witness("wit")
    state.set_props(total_vesting_shares=MOST)
    state.witness_schedules.modify(state.schedule, current_virtual_time=1)
    state.witnesses.modify(witness, votes=1, virtual_position=start)
    adjust_witness_vote(state, witness, 0)
    return witness.virtual_position


def judged(state: State, start: int) -> None:
    """A vote of 64 rshares changes the author's reputation by one."""
    table = reputation.install(state)
    vote, row = reputation_of(state, table, start, 64)
    reputation.count(state, table, vote)
    assert row.reputation == start + 1


def reputation_of(state: State, table: reputation.Reputations, start: int, rshares: int) -> tuple[Vote, reputation.Reputation]:
    """Add a vote by Alice on Bob's post. Return the vote operation and Bob's reputation."""
    comment = comment_of(state)
    state.comment_votes.insert(CommentVote(voter=state.account("alice").id, comment=comment.id, rshares=rshares))
    row = table.insert(reputation.Reputation(account="bob", reputation=start))
    return Vote("alice", "bob", "post", 1), row


def judged_anew() -> None:
    """Undoing a vote that would overflow the reputation leaves it unchanged, without an error."""
    state = world()
    table = reputation.install(state)
    table.insert(reputation.Reputation(account="alice", reputation=1))
    vote, row = reputation_of(state, table, LEAST, 64)
    reputation.take_back(state, table, vote)
    assert row.reputation == LEAST


def traded(side: str) -> Walk:
    """Return a limit test of the volume of a market bucket: record trades of 1 for 1."""

    def walk() -> None:
        state = world()
        history = market_history.MarketHistory(state)
        history.record(state, FillOrder("alice", 1, Asset(MOST - 1 if side == "coin" else 1, COIN), "bob", 1, Asset(MOST - 1, SBD)))
        trade = FillOrder("alice", 1, Asset(1, COIN), "bob", 1, Asset(1, SBD))
        history.record(state, trade)
        with pytest.raises(IntegerOverflow, match=OVER):
            history.record(state, trade)

    return walk


def regained(state: State, start: int) -> int:
    """Update an account's credits after a change of its VESTS. Credits above the maximum can wrap."""
    credits = Rc(state)
    row = credits.accounts.insert(RcAccount(account="alice", mana=start, last_max=-1))
    update_maximum(state, credits, "alice")
    return row.mana


def largest_bar(state: State, start: int) -> int:
    """Return the maximum credits of an account with `start` VESTS and an adjustment of 1 for its creation fee."""
    return maximum_rc(alice(state, vesting_shares=start), 1)


def spent(mana: int) -> Step:
    """Return a step that uses `mana` of a manabar with the mana `start`. A negative `mana` is added."""
    return lambda state, start: used(start, mana, floor=LEAST)


def deepest() -> None:
    """A reply to a comment at the maximum depth is refused."""
    state = world()
    require_depth(state, comment_of(state, depth=2**16 - 2))
    with pytest.raises(Refused, match="Comment is nested 65535 posts deep, maximum depth is 65535"):
        require_depth(state, add_comment(state, "bob", "deep", depth=2**16 - 1))


def next_lap(state: State, start: int) -> int:
    """Start a new lap for a witness without votes. If virtual time would wrap, all witnesses restart at 0."""
    return new_laps(state, start, [state.witness("wit")])


def lap_end(state: State, start: int) -> int:
    """Return the end of the lap of a witness without votes. Since hardfork 4, it can't be before the current virtual time."""
    witness = state.witness("wit")
    state.witness_schedules.modify(state.schedule, current_virtual_time=start)
    adjust_witness_vote(state, witness, 0)
    return witness.virtual_scheduled_time


def decayed_claims(state: State, start: int) -> int:
    """Let claims decay for twice the decay period, which makes them negative. Return them."""
    fund = post_fund(state)
    state.reward_funds.modify(fund, recent_claims=start, last_update=NOW - 2 * COIN_RECENT_RSHARES_DECAY_TIME_HF19)
    return decayed(state, fund)
