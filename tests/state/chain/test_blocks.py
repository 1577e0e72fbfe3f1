"""Steps of a block with the numbers of the worked examples in block-processing.md §8: inflation, median feed, null account, subsidies,
missed slots, and rounds.
"""

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from state.chain import blocks
from state.chain.blocks import require_merkle_root
from state.chain.digest import state_digest
from state.chain.hardforks import recount_witness_votes
from state.chain.invariants import validate_invariants
from state.chain.skip import Skip
from state.chain.steps.heads import count_missed, update_global_data
from state.chain.steps.money import (
    clear_null_account_balance,
    process_funds,
    process_subsidized_accounts,
    update_median_feed,
    update_virtual_supply,
)
from state.chain.steps.schedule import reset_virtual_schedule, shuffled, update_witness_schedule
from state.chain.transactions import EXCEPTION_BLOCKS
from state.effects.subsidies import pool_after_block, subsidy_params
from state.effects.votes import adjust_witness_vote, scheduled_after
from state.protocol.errors import DivisionByZero, Refused
from state.protocol.keys.keys import NULL_KEY
from state.protocol.transaction import SignedBlock, merkle_root
from state.protocol.values.asset import COIN, SBD, VESTS, Asset, Price
from state.protocol.virtual import ClearNullAccountBalance, ProducerReward, ShutdownWitness
from state.tables import State
from state.tables.witnesses import ELECTED, MINER, TIMESHARE, WitnessVote
from tests.conftest import ROOT
from tests.helpers.chains import BLOCK, MAIN_SPEC, NOW, add_account, add_witness, chain_at, completed, key_of

PRICE = Price(Asset(250, SBD), Asset(1_000, COIN))


def state_at(hardfork: int = 23, **props: Any) -> State:
    """A state in which the witness `alice` produces the current block."""
    state = chain_at(hardfork).state
    add_account(state, "alice")
    add_witness(state, "alice", schedule=ELECTED)
    state.set_props(current_witness="alice", **props)
    return state


# ------------------------------------------------------------------ inflation


@pytest.mark.parametrize(("kind", "reward"), [(ELECTED, 257), (TIMESHARE, 1285), (MINER, 257), (3, 257)])
def test_inflation(kind: int, reward: int) -> None:
    """Worked example E1: the rewards of block 44,000,000, when the supply is 400,000,000.000 COIN."""
    state = state_at(head_block_number=44_000_000, virtual_supply=400_000_000_000)
    state.witnesses.modify(state.witness("alice"), schedule=kind)
    events = completed(state, ProducerReward)
    props = state.props
    fund, vesting, supply = next(iter(state.reward_funds)), props.total_vesting_fund_coin, props.current_supply
    sbd = props.current_sbd_supply
    process_funds(state, BLOCK)
    assert fund.reward_balance == 1983
    assert props.total_vesting_fund_coin == vesting + 457 + reward
    assert props.current_supply == supply + 1983 + 457 + reward
    assert state.account("coin.dao").sbd_balance == 305  # one SBD is one COIN here
    assert (props.current_sbd_supply, props.sps_interval_ledger) == (sbd + 305, 305)
    assert props.virtual_supply == 400_000_000_000 + 1983 + 457 + reward + 305
    assert events == [ProducerReward("alice", Asset(state.account("alice").vesting_shares, VESTS))]


def test_inflation_before_the_treasury() -> None:
    """Worked example E1: block 1 under hardfork 16, when all rewards came from one pool."""
    state = state_at(16, head_block_number=1, virtual_supply=250_000_000_000)
    process_funds(state, BLOCK)
    assert state.props.total_reward_fund_coin == 1743
    assert state.props.virtual_supply == 250_000_000_000 + 1743 + 348 + 196


def test_early_inflation_pays_the_producer_at_the_old_price() -> None:
    """Before hardfork 16, nine times the rewards are added to the vesting fund, after the producer has been paid at the old price of
    VESTS.
    """
    state = state_at(15, head_block_number=201_600)
    state.set_props(total_vesting_fund_coin=1_000_000, total_vesting_shares=1_000_000_000, virtual_supply=10_000_000)
    events = completed(state, ProducerReward)
    process_funds(state, BLOCK)
    assert events == [ProducerReward("alice", Asset(1_000_000, VESTS))]
    assert state.props.total_vesting_fund_coin == 1_000_000 + 1_000 + 9 * 3_000
    assert (state.props.total_reward_fund_coin, state.props.virtual_supply) == (2_000, 10_000_000 + 30_000)
    process_funds(state, BLOCK)
    assert (state.account("alice").balance, len(events)) == (1_000, 1)  # who has VESTS is paid in COIN before block 864,000
    state.set_props(head_block_number=864_000)
    process_funds(state, BLOCK)
    assert (state.account("alice").balance, len(events)) == (1_000, 2)


def test_the_print_rate() -> None:
    """Worked example E7, and values at the limits."""
    state = state_at(current_supply=360_000_000_000)
    state.feed_histories.modify(state.feed, current_median_history=PRICE)
    for sbd, rate in ((9_350_000_000, 5_900), (8_000_000_000, 10_000), (10_000_000_000, 0)):
        state.set_props(current_sbd_supply=sbd)
        update_virtual_supply(state, BLOCK)
        assert (state.props.virtual_supply, state.props.sbd_print_rate) == (360_000_000_000 + sbd * 4, rate)


# ------------------------------------------------------------------ feeds


def feed_state(spec_main: bool = False, hardfork: int = 23) -> State:
    """A state with a round of eight witnesses: one has no feed, and the others have feeds of 0.244 to 0.250 SBD."""
    state = chain_at(hardfork, MAIN_SPEC).state if spec_main else chain_at(hardfork).state
    names = [f"feeder{i}" for i in range(8)]
    for i, name in enumerate(names[:7]):
        add_witness(state, name, sbd_exchange_rate=Price(Asset(244 + i, SBD), Asset(1_000, COIN)), last_sbd_exchange_update=NOW)
    add_witness(state, names[7])
    round_ = tuple(names) + ("",) * 13
    state.witness_schedules.modify(state.schedule, current_shuffled_witnesses=round_, num_scheduled_witnesses=8)
    return state


HOUR = SignedBlock(number=1200)


def test_the_median_of_seven_feeds_enters_the_history() -> None:
    state = feed_state()
    update_median_feed(state, SignedBlock(number=1201))
    assert not state.feed.price_history
    update_median_feed(state, HOUR)
    median = Price(Asset(247, SBD), Asset(1_000, COIN))
    assert (state.feed.price_history, state.feed.current_median_history) == ((median,), median)
    state.set_props(time=NOW + 604_800)  # now all are too old
    update_median_feed(state, HOUR)
    assert len(state.feed.price_history) == 1
    old = feed_state(hardfork=18)
    old.set_props(time=NOW + 604_800)
    update_median_feed(old, HOUR)
    assert len(old.feed.price_history) == 1


def test_the_history_is_limited() -> None:
    for hardfork, length in ((16, 84), (15, 168)):
        state = feed_state(hardfork=hardfork)
        state.feed_histories.modify(state.feed, price_history=(PRICE,) * length)
        update_median_feed(state, HOUR)
        assert len(state.feed.price_history) == length
        assert state.feed.price_history[-1].base.amount == 247
        assert state.feed.current_median_history == PRICE


def test_sbd_is_worth_a_tenth_of_all_coin_at_most() -> None:
    """Worked example E12: with 40,000,000.000 SBD and 300,000,000.000 COIN the price is raised. If the minimum equals the median, the
    median's own amounts remain.
    """
    state = feed_state(spec_main=True)
    state.set_props(current_sbd_supply=40_000_000_000, current_supply=300_000_000_000)
    update_median_feed(state, HOUR)
    assert state.feed.current_median_history == Price(Asset(9 * 40_000_000_000, SBD), Asset(300_000_000_000, COIN))
    state.set_props(current_sbd_supply=247_000, current_supply=9_000_000)
    state.feed_histories.modify(state.feed, price_history=())
    update_median_feed(state, HOUR)
    assert state.feed.current_median_history == Price(Asset(247, SBD), Asset(1_000, COIN))


# ------------------------------------------------------------------ the null account


def test_funds_of_the_null_account_are_destroyed() -> None:
    state = state_at()
    events = completed(state, ClearNullAccountBalance)
    null = state.account("null")
    add_account(state, "source", balance=70, savings_balance=5, sbd_balance=6, savings_sbd_balance=7, vesting_shares=3_000)
    add_account(state, "rest", vesting_shares=1_000_000)
    giver = state.account("source")
    taken = ("balance", "savings_balance", "sbd_balance", "savings_sbd_balance", "vesting_shares")
    state.accounts.modify(null, **{name: getattr(giver, name) for name in taken}, sbd_seconds_last_update=NOW)
    state.accounts.modify(null, savings_sbd_seconds_last_update=NOW)
    state.accounts.modify(giver, **dict.fromkeys(taken, 0))
    supply, sbd = state.props.current_supply, state.props.current_sbd_supply
    clear_null_account_balance(state, BLOCK)
    assert events == [ClearNullAccountBalance((Asset(78, COIN), Asset(3_000, VESTS), Asset(13, SBD)))]
    assert [getattr(null, name) for name in taken] == [0] * 5
    assert (state.props.current_supply, state.props.current_sbd_supply) == (supply - 78, sbd - 13)
    validate_invariants(state)
    clear_null_account_balance(state, BLOCK)
    assert len(events) == 1


def test_before_hardfork_14_the_null_account_keeps_its_funds() -> None:
    state = state_at(13)
    state.accounts.modify(state.account("null"), balance=5)
    clear_null_account_balance(state, BLOCK)
    assert state.account("null").balance == 5


# ------------------------------------------------------------------ subsidies


def test_subsidies_fill_for_all_and_for_an_elected_producer() -> None:
    """Worked example E14: the common pool of account subsidies, and the pool of an elected witness who produces the block."""
    state = state_at(available_account_subsidies=0)
    for _ in range(13):
        process_subsidized_accounts(state, BLOCK)
    assert state.props.available_account_subsidies == 10_361
    assert state.witness("alice").available_witness_account_subsidies > 12_000
    before = state.witness("alice").available_witness_account_subsidies
    state.witnesses.modify(state.witness("alice"), schedule=TIMESHARE)
    process_subsidized_accounts(state, BLOCK)
    assert state.witness("alice").available_witness_account_subsidies == before


def test_a_pool_has_an_equilibrium() -> None:
    params = subsidy_params(797, 347321)
    assert params.pool_eq == 157_691_079
    assert pool_after_block(params, params.pool_eq) == params.pool_eq


# ------------------------------------------------------------------ rounds and missed slots


def test_the_order_of_a_round() -> None:
    """Worked example E10: the order of the witnesses in a round."""
    numbers = [str(n) for n in range(21)]
    assert " ".join(shuffled(numbers, 1600000002)) == "16 13 6 8 1 14 10 2 3 17 12 0 20 11 5 9 4 18 15 19 7"
    assert " ".join(shuffled(numbers, 1600000065)) == "9 13 3 12 5 11 20 1 14 17 6 8 10 19 16 0 15 18 2 4 7"
    assert " ".join(shuffled(numbers[:5], 1451606463)) == "4 2 0 3 1"


def round_state(count: int) -> State:
    """A state with the genesis witness and `count` others, in descending order of votes."""
    state = chain_at().state
    for i in range(count):
        name = f"wit{i:02}"
        add_account(state, name, vesting_shares=1_000 * (count - i))
        add_witness(state, name, votes=1_000 * (count - i))
        state.witness_votes.insert(WitnessVote(witness=name, account=name))
    return state


ROUND = SignedBlock(number=21)


def test_a_round_takes_twenty_by_votes_and_one_by_virtual_time() -> None:
    state = round_state(25)
    update_witness_schedule(state, ROUND)
    schedule = state.schedule
    elected = {w.owner for w in state.witnesses if w.schedule == ELECTED}
    assert elected == {f"wit{i:02}" for i in range(20)}
    assert [w.owner for w in state.witnesses if w.schedule == TIMESHARE] == ["initminer"]
    assert set(schedule.current_shuffled_witnesses) == elected | {"initminer"}
    assert (schedule.num_scheduled_witnesses, schedule.witness_pay_normalization_factor) == (21, 25)


def test_a_missing_key_in_a_small_set_breaks_the_round() -> None:
    state = round_state(4)
    update_witness_schedule(state, ROUND)
    state.witnesses.modify(state.witness("wit01"), signing_key=NULL_KEY)
    with pytest.raises(Refused, match="number of active witnesses does not equal expected_active_witnesses=5"):
        update_witness_schedule(state, ROUND)


def test_missed_slots() -> None:
    """Worked example E15: after seven missed slots, two other witnesses have missed two blocks each. Slots of the block's producer don't
    count.
    """
    state = round_state(2)
    names = ("wit00", "wit01", "initminer")
    state.witness_schedules.modify(state.schedule, current_shuffled_witnesses=names + ("",) * 18, num_scheduled_witnesses=3)
    state.set_props(current_aslot=2, time=NOW)
    block = structs.replace(ROUND, timestamp=NOW + 4 * 3, witness="wit00")
    update_global_data(state, block, Skip.UNDO_HISTORY_CHECK)
    assert (state.props.participation_count, state.props.recent_slots_filled & 15, state.props.current_aslot) == (125, 8, 6)
    count_missed(state, 7, "wit01")
    assert [state.witness(name).total_missed for name in names] == [2, 1, 3]


def test_inactive_witnesses_of_the_main_build_lose_their_keys_slot_by_slot() -> None:
    chain = chain_at(19, MAIN_SPEC, number=40_000)
    state = chain.state
    events = completed(state, ShutdownWitness)
    for name, last in (("one", 11_199), ("two", 11_200), ("three", 0)):
        add_witness(state, name, last_confirmed_block_num=last)
    round_ = ("one", "two", "three") + ("",) * 18
    state.witness_schedules.modify(state.schedule, current_shuffled_witnesses=round_, num_scheduled_witnesses=3)
    state.set_props(current_aslot=2)
    count_missed(state, 5, "initminer")
    assert events == [ShutdownWitness(name) for name in ("one", "three", "one")]
    assert [state.witness(name).signing_key for name in ("one", "two", "three")] == [NULL_KEY, key_of("two"), NULL_KEY]


def test_no_witness_can_have_the_speed_zero() -> None:
    """Early rules allow a negative number of votes. At -1 the reference divides by zero, and refuses the operation or the block."""
    state = chain_at(1).state
    witness = state.witness("initminer")
    state.witnesses.modify(witness, votes=-1)
    assert scheduled_after(state, 5, 0, -2) == 5
    attempts: tuple[Callable[[], None], ...] = (
        lambda: adjust_witness_vote(state, witness, 0),
        lambda: reset_virtual_schedule(state),
        lambda: update_witness_schedule(state, ROUND),
    )
    for refused in attempts:
        with pytest.raises(DivisionByZero, match="Division by zero"):
            refused()


# ------------------------------------------------------------------ the list of steps


def table_of_steps() -> dict[int, str]:
    """Return the number and the description of each step in the table of block-processing.md §3.1."""
    page = (ROOT / "docs" / "reference" / "block-processing.md").read_text("utf-8")
    section = page.split("### 3.1 ", 1)[1].split("\n### ", 1)[0]
    return {int(number): words for number, words in re.findall(r"(?m)^\| (\d+) \| ([^|]*)", section)}


def test_the_steps_are_those_of_the_page() -> None:
    page, lines = table_of_steps(), inspect.getsource(blocks).splitlines()
    numbered = [(line.split("#")[0].strip(), int(line.split("# ")[1])) for line in lines if re.search(r"\S  # \d+$", line)]
    steps = [(name.rstrip(","), number) for name, number in numbered if name.endswith(",")]
    assert [name for name, _ in steps] == [step.__name__ for step in blocks.STEPS]
    assert [page[number].split()[0] for _, number in steps] == [name for name, _ in steps]
    # The page lists three more steps: two that generate actions, which don't exist in this version, and the end of undo, which the chain
    # itself does.
    rest = {number: words.split()[0] for number, words in page.items() if number not in {number for _, number in numbered}}
    assert rest == {34: "generate_required_actions", 35: "generate_optional_actions", 40: "migrate_irreversible_state"}
    applied = [number for name, number in numbered if not name.endswith(",")]
    assert applied == [*range(1, 12), 39]
    assert [number for _, number in steps] == sorted(number for _, number in steps)


# ------------------------------------------------------------------ headers


def test_a_header_that_claims_a_remembered_root_is_not_enough() -> None:
    """Exceptions are recognised by the computed Merkle root of the transactions, not by the root in the header."""
    state = chain_at().state
    for number, root in ((21, b"\1" * 20), (3_705_111, bytes.fromhex(EXCEPTION_BLOCKS[3_705_111]))):
        block = SignedBlock(number=number, transaction_merkle_root=root)
        with pytest.raises(Refused, match="Merkle check failed"):
            require_merkle_root(state, block, Skip.NOTHING)
        require_merkle_root(state, block, Skip.MERKLE_CHECK)
    require_merkle_root(state, SignedBlock(number=21, transaction_merkle_root=merkle_root(())), Skip.NOTHING)


def test_recounting_witness_votes_twice_changes_nothing() -> None:
    state = chain_at(1).state
    for i, name in enumerate(("alice", "bob", "carol"), 1):
        add_account(state, name, vesting_shares=i * 1_000_000)
        add_witness(state, name, votes=99, virtual_position=7)
        for witness in ("alice", "bob", "carol")[:i]:
            state.witness_votes.insert(WitnessVote(witness=witness, account=name))
    state.witness_schedules.modify(state.schedule, current_virtual_time=1_000)
    recount_witness_votes(state)
    assert [state.witness(name).votes for name in ("alice", "bob", "carol")] == [6_000_000, 5_000_000, 3_000_000]
    once = state_digest(state)
    recount_witness_votes(state)
    assert state_digest(state) == once
