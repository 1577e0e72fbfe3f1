"""Amounts whose sums or products exceed 64 bits, in rules that add or multiply more than once."""

from typing import Any

import pytest
from msgspec import structs

from state.chain.hardforks import apply_hardfork
from state.chain.steps.cashout import RewardPool, pay, payout_of
from state.chain.steps.market import pay_liquidity_reward
from state.chain.steps.money import clear_null_account_balance, percent_per_block, update_median_feed, update_virtual_supply
from state.chain.steps.proposals import process_proposals
from state.chain.steps.schedule import update_witness_schedule
from state.effects.balances import adjust_balance, coin_to_reward_vests
from state.effects.clearing import clear_account
from state.effects.mining_rewards import part_of_year
from state.effects.rewards import add_sbd_reward
from state.operations.accounts import AccountCreate, AccountCreateWithDelegation
from state.operations.content import Beneficiary, Vote
from state.operations.vesting import DelegateVestingShares
from state.operations.witnesses import AccountWitnessVote
from state.protocol.authority import key_authority
from state.protocol.constants import (
    COIN_APR_PERCENT_MULTIPLY_PER_BLOCK,
    COIN_APR_PERCENT_SHIFT_PER_BLOCK,
    COIN_HF_21_STALL_BLOCK,
    COIN_LIQUIDITY_REWARD_BLOCKS,
)
from state.protocol.transaction import SignedBlock
from state.protocol.values.asset import COIN, SBD, VESTS, Asset, Price
from state.protocol.virtual import LiquidityReward as Reward
from state.tables import State
from state.tables.market import LiquidityReward
from state.tables.proposals import Proposal, ProposalVote
from tests.helpers.chains import (
    BLOCK,
    MAIN_SPEC,
    NOW,
    add_account,
    add_comment,
    add_witness,
    apply,
    chain_at,
    completed,
    key_of,
    refused,
    refused_step,
    set_median,
)

MOST = 2**63 - 1
OVER = "Integer Overflow:"
ANY = (key_authority(key_of("new")),) * 3


def set_price(state: State, sbd: int, coin: int) -> None:
    """Set the median price to `sbd` SBD for `coin` COIN."""
    state.feed_histories.modify(state.feed, current_median_history=Price(Asset(sbd, SBD), Asset(coin, COIN)))


# ------------------------------------------------------------------ fees that witnesses agree on


def test_thirty_fees() -> None:
    chain = chain_at(19)
    add_account(chain.state, "alice", balance=1000)
    made = AccountCreate(Asset(5), "alice", "new", *ANY, key_of("new"))
    set_median(chain.state, account_creation_fee=MOST // 30 + 1)
    assert refused(chain, made) == OVER
    set_median(chain.state, account_creation_fee=MOST // 30)
    assert "Insufficient Fee" in refused(chain, made)


def test_thirty_fees_five_times() -> None:
    chain = chain_at(19)
    add_account(chain.state, "alice", balance=1000, vesting_shares=1000)
    chain.state.set_props(total_vesting_fund_coin=2, total_vesting_shares=1)
    made = AccountCreateWithDelegation(Asset(5), Asset(1, VESTS), "alice", "new", *ANY, key_of("new"))
    set_median(chain.state, account_creation_fee=MOST // 150 + 1)
    assert refused(chain, made) == OVER
    set_median(chain.state, account_creation_fee=MOST // 150)
    assert "Insufficient Delegation" in refused(chain, made)
    chain.state.accounts.modify(chain.state.account("alice"), balance=MOST)
    set_median(chain.state, account_creation_fee=1)
    assert refused(chain, structs.replace(made, fee=Asset(MOST // 5 + 1))) == OVER


def test_ten_fees_as_the_least_delegation() -> None:
    chain = chain_at(19)
    add_account(chain.state, "alice", vesting_shares=1000)
    add_account(chain.state, "bob")
    chain.state.set_props(total_vesting_fund_coin=2, total_vesting_shares=1)
    lent = DelegateVestingShares("alice", "bob", Asset(5, VESTS))
    set_median(chain.state, account_creation_fee=MOST // 10 + 1)
    assert refused(chain, lent) == OVER
    set_median(chain.state, account_creation_fee=MOST // 10)
    assert "Account must delegate a minimum of" in refused(chain, lent)


@pytest.mark.parametrize("whose", ["the median", "a witness's"])
def test_hardfork_20_raises_fees(whose: str) -> None:
    state = chain_at(19).state
    witness = state.witness(state.schedule.current_shuffled_witnesses[0])
    if whose == "the median":
        set_median(state, account_creation_fee=MOST // 30 + 1)
    else:
        state.witnesses.modify(witness, props=structs.replace(witness.props, account_creation_fee=MOST // 30 + 1))
    assert refused_step(state, lambda: apply_hardfork(state, 20)) == OVER


# ------------------------------------------------------------------ rewards of comments


def paid_state(hardfork: int = 23) -> State:
    """A state with Alice and with a comment by Bob. The vesting fund has as much COIN as VESTS."""
    state = chain_at(hardfork).state
    for name in ("alice", "bob"):
        add_account(state, name)
    state.set_props(total_vesting_fund_coin=1000, total_vesting_shares=1000, current_supply=10, virtual_supply=10)
    return state


@pytest.mark.parametrize("fields", [{"beneficiaries": (Beneficiary("alice", 10_000),)}, {}])
def test_parts_of_a_payout(fields: dict[str, Any]) -> None:
    state = paid_state()
    comment = add_comment(state, "bob", "post", **fields)
    assert refused_step(state, lambda: pay(state, comment, MOST // 10_000 + 1, 0)) == OVER


def test_parts_of_a_payout_that_fit() -> None:
    state = paid_state()
    comment = add_comment(state, "bob", "post", beneficiaries=(Beneficiary("alice", 10_000),))
    set_price(state, 1, 2)
    state.set_props(current_supply=MOST // 2, sbd_print_rate=0)
    pay(state, comment, MOST // 10_000, 0)
    assert state.account("alice").reward_coin_balance > 10**14


def test_the_printed_part_of_a_reward() -> None:
    state = paid_state()
    bob = state.account("bob")
    assert refused_step(state, lambda: add_sbd_reward(state, bob, MOST // 10_000 + 1)) == OVER
    state.set_props(sbd_print_rate=5000)
    state.set_props(current_supply=2**62)
    add_sbd_reward(state, bob, MOST // 10_000 + 1)
    assert bob.reward_coin_balance == bob.reward_sbd_balance == MOST // 20_000 + 1


@pytest.mark.parametrize("field", ["pending_rewarded_vesting_shares", "pending_rewarded_vesting_coin"])
def test_the_price_of_rewards_in_vests(field: str) -> None:
    state = paid_state()
    state.set_props(**{field: MOST - 1000})
    coin_to_reward_vests(state, 1)
    state.set_props(**{field: MOST - 999})
    assert refused_step(state, lambda: coin_to_reward_vests(state, 1)) == OVER


def test_max_accepted_payout_worth_more_than_63_bits() -> None:
    state = paid_state()
    comment = add_comment(state, "bob", "post", net_rshares=10**6, max_accepted_payout=10**9)
    pool = RewardPool(1000, 10**6, curve=2, constant=0, curation_percent=0)
    # The maximum payout in COIN becomes negative, and is compared as a large unsigned number. At this price the payout itself is too small
    # to be paid.
    set_price(state, 1, 10**10)
    assert payout_of(state, comment, pool) == 0
    pool = structs.replace(pool, balance=10**12)
    assert payout_of(state, comment, pool) == 10**12
    set_price(state, 1, 2 * 10**10)
    assert refused_step(state, lambda: payout_of(state, comment, pool)) == "Assert Exception:result.hi == 0: "


# ------------------------------------------------------------------ supplies and prices


def test_the_floor_of_the_median_price() -> None:
    state = chain_at(spec=MAIN_SPEC).state
    names = [f"wit{i:02}" for i in range(7)]
    for name in names:
        add_account(state, name)
        add_witness(state, name, sbd_exchange_rate=Price(Asset(1, SBD), Asset(4, COIN)), last_sbd_exchange_update=NOW)
    padded = tuple(names) + ("",) * 14
    state.witness_schedules.modify(state.schedule, current_shuffled_witnesses=padded, num_scheduled_witnesses=7)
    state.set_props(current_sbd_supply=MOST // 9 + 1, current_supply=1)
    assert refused_step(state, lambda: update_median_feed(state, SignedBlock(number=1200))) == OVER
    state.set_props(current_sbd_supply=MOST // 9, current_supply=0)
    text = "Assert Exception:quote.amount > share_type(0): "
    assert refused_step(state, lambda: update_median_feed(state, SignedBlock(number=1200))) == text


@pytest.mark.parametrize(
    ("sbd", "coin", "supply", "expected"),
    [
        # From 2^63 on, the value of SBD in COIN becomes negative. The sum can then be negative, and the percentage is computed with
        # unsigned numbers.
        (2**30, 2**33, 5, (-(2**63) + 5, 10_000)),
        (2**30, 2**33, MOST, (-1, 10_000)),
        (2**32 - 1, 2**32 + 1, 2, "Assert Exception:hi == 0: "),
        (2**30, 2**34, 5, "Assert Exception:result.hi == 0: "),
        (1, MOST, 1, OVER),
        (0, 1, 0, "Division by zero.:Division by zero.: "),
    ],
)
def test_the_virtual_supply(sbd: int, coin: int, supply: int, expected: tuple[int, int] | str) -> None:
    state = chain_at().state
    set_price(state, 1, coin)
    state.set_props(current_sbd_supply=sbd, current_supply=supply)
    if isinstance(expected, str):
        assert refused_step(state, lambda: update_virtual_supply(state, BLOCK)) == expected
    else:
        update_virtual_supply(state, BLOCK)
        assert (state.props.virtual_supply, state.props.sbd_print_rate) == expected


def test_percentages_of_a_negative_supply_are_those_of_a_large_one() -> None:
    factor, shift = COIN_APR_PERCENT_MULTIPLY_PER_BLOCK, COIN_APR_PERCENT_SHIFT_PER_BLOCK
    assert percent_per_block(-(2**63), 375) == (2**128 - 2**63 * 375 * factor + 2 ** (shift - 1)) >> shift > 10**9
    assert part_of_year(-(2**63), 375, factor, shift) == percent_per_block(-(2**63), 375)


@pytest.mark.parametrize(
    "fields",
    [
        {"balance": MOST, "savings_balance": 1},
        {"balance": MOST, "reward_coin_balance": 1},
        {"sbd_balance": MOST, "savings_sbd_balance": 1},
        {"sbd_balance": MOST, "reward_sbd_balance": 1},
        {"vesting_shares": MOST, "reward_vesting_balance": 1},
    ],
)
def test_sums_of_an_accounts_funds(fields: dict[str, int]) -> None:
    state = paid_state(22)
    state.set_props(total_vesting_fund_coin=1, total_vesting_shares=MOST)
    state.accounts.modify(state.account("null"), **fields)
    assert refused_step(state, lambda: clear_null_account_balance(state, BLOCK)) == OVER
    alice, bob = state.account("alice"), state.account("bob")
    state.accounts.modify(alice, **fields)
    assert refused_step(state, lambda: clear_account(state, alice, bob)) == OVER


# ------------------------------------------------------------------ interest


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        # At 100 % a year, interest of 2^64 SBD or more for a second can't be an amount. From 2^63 on it becomes negative and has no COIN
        # value.
        (2**64 * 31_536_000, "Assert Exception:hi == 0: "),
        (2**63 * 31_536_000, "Assert Exception:result.hi == 0: "),
        ((2**63 - 1) * 31_536_000, OVER),
    ],
)
def test_interest(seconds: int, text: str) -> None:
    state = paid_state()
    alice = state.account("alice")
    state.set_props(sbd_interest_rate=10_000)
    state.accounts.modify(alice, sbd_balance=1, sbd_seconds=seconds, sbd_seconds_last_update=NOW - 1)
    assert refused_step(state, lambda: adjust_balance(state, alice, 0, SBD)) == text


# ------------------------------------------------------------------ votes


def test_both_bars_together() -> None:
    """The sum of both manabars wraps, so the voter's mana is too low even for the smallest downvote."""
    chain = chain_at(number=COIN_HF_21_STALL_BLOCK + 1)
    state = chain.state
    alice = add_account(state, "alice")
    add_account(state, "bob")
    add_comment(state, "bob", "post")
    state.accounts.modify(alice, vesting_shares=MOST, voting_mana=MOST, voting_mana_time=NOW, downvote_mana_time=NOW)
    state.accounts.modify(alice, downvote_mana=1)
    down = Vote("alice", "bob", "post", -1)
    assert "Account does not have enough mana to downvote. voting_mana: 9223372036854775807 downvote_mana: 1 " in refused(chain, down)
    state.accounts.modify(alice, downvote_mana=0)
    apply(chain, down)


def test_downvote_mana_of_all_that_there_can_be() -> None:
    chain = chain_at(number=COIN_HF_21_STALL_BLOCK + 1)
    state = chain.state
    alice, _ = add_account(state, "alice"), add_account(state, "bob")
    most = 2**63 - 4
    bars = {"voting_mana": most, "voting_mana_time": NOW, "downvote_mana": most // 4, "downvote_mana_time": NOW}
    state.accounts.modify(alice, vesting_shares=most, **bars)
    state.set_props(total_vesting_fund_coin=1, total_vesting_shares=most)
    apply(chain, DelegateVestingShares("alice", "bob", Asset(5, VESTS)))
    state.accounts.modify(alice, vesting_shares=most, delegated_vesting_shares=0, **bars)
    state.set_props(downvote_pool_percent=1)
    state.accounts.modify(alice, downvote_mana=most // 10_000)
    text = "Assert Exception:lo <= uint64_t( std::numeric_limits<int64_t>::max() ): "
    assert refused(chain, DelegateVestingShares("alice", "bob", Asset(6, VESTS))) == text


def test_minus_one_vote() -> None:
    """Hardfork 2 allows negative votes for a witness. With -1 votes, computing the witness's next turn divides by zero."""
    chain = chain_at(2)
    state = chain.state
    for name in ("wit", "pit"):
        add_account(state, name)
        add_witness(state, name)
    add_account(state, "alice", vesting_shares=1)
    state.set_props(total_vesting_shares=10)
    apply(
        chain, AccountWitnessVote("alice", "wit", True), AccountWitnessVote("alice", "pit", True), AccountWitnessVote("alice", "wit", False)
    )
    assert (state.witness("wit").votes, state.witness("pit").votes) == (1, 0)
    assert refused(chain, AccountWitnessVote("alice", "pit", False)) == "Division by zero.:Division by zero.: "
    # If the witness schedule reaches such a witness, the block is refused.
    for witness in list(state.witnesses):
        state.witnesses.modify(witness, votes=-1)
    text = refused_step(state, lambda: update_witness_schedule(state, SignedBlock(number=21)))
    assert text == "Division by zero.:Division by zero.: "
    assert refused_step(state, lambda: apply_hardfork_4(state)) == text


def apply_hardfork_4(state: State) -> None:
    """Apply hardfork 4, which restarts the schedule of all witnesses. Skip hardfork 3, which would recount the votes."""
    state.hardfork_properties.modify(state.hardforks, last_hardfork=3)
    apply_hardfork(state, 4)


# ------------------------------------------------------------------ payouts


@pytest.mark.parametrize(("coin", "sbd", "times"), [(2**32, 2**32, 0), (2**32, 2**32 + 1, 1), (2**62, 3, 1), (-(2**32), -(2**32) - 1, 0)])
def test_a_market_maker_whose_volumes_have_no_product(coin: int, sbd: int, times: int) -> None:
    state = chain_at(11, MAIN_SPEC).state
    events = completed(state, Reward)
    alice = add_account(state, "alice")
    state.liquidity_rewards.insert(LiquidityReward(owner=alice.id, coin_volume=coin, sbd_volume=sbd, weight=1))
    pay_liquidity_reward(state, SignedBlock(number=COIN_LIQUIDITY_REWARD_BLOCKS))
    assert len(events) == times


@pytest.mark.parametrize(
    ("days", "text"),
    [
        # The treasury pays a hundredth of its 2^62 SBD per day. 2^64 can't be an amount, and a negative payment is subtracted from the
        # receiver's balance.
        (400, "Assert Exception:hi == 0: "),
        (399, "Account bob does not have sufficient funds"),
        (290, OVER),
    ],
)
def test_a_treasury_that_has_not_paid_for_long(days: int, text: str) -> None:
    state = paid_state()
    treasury = state.account(state.spec.treasury)
    state.accounts.modify(treasury, sbd_balance=2**62 + 100, sbd_seconds_last_update=NOW)
    state.accounts.modify(state.account("bob"), sbd_seconds_last_update=NOW)
    state.accounts.modify(state.account("alice"), vesting_shares=1)
    state.proposals.insert(Proposal(creator="alice", receiver="bob", end_date=NOW + 86_400, daily_pay=2**56))
    state.proposal_votes.insert(ProposalVote(voter="alice", proposal_id=0))
    state.set_props(last_budget_time=NOW - days * 86_400)
    assert text in refused_step(state, lambda: process_proposals(state, SignedBlock(timestamp=NOW)))
