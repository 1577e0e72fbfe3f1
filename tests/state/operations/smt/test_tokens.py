"""Tokens: creation from the pool of names, settings, funding and refusals, and balances after transfers and orders."""

import pytest
from msgspec import structs

from state.chain.chain import Chain
from state.effects.balances import adjust_balance, adjust_reward_balance, adjust_supply
from state.effects.nai import candidate, is_in_pool, replenish_pool, take_from_pool
from state.effects.smt_balances import create_token_vesting, token_balance
from state.effects.tokens import end_of_emission, last_emission, nai_number
from state.operations.market import LimitOrderCancel, LimitOrderCreate
from state.operations.smt.settings import SmtSetRuntimeParameters, SmtSetSetupParameters, SmtSetupEmissions
from state.operations.smt.tokens import SmtContribute, SmtCreate, SmtSetup
from state.operations.smt.types import (
    LINEAR,
    QUADRATIC,
    SmtCappedGenerationPolicy,
    SmtEmissionsUnit,
    SmtGenerationUnit,
    SmtParamAllowDownvotes,
    SmtParamAllowVoting,
    SmtParamRewardsV1,
    SmtParamVoteRegenerationPeriodSecondsV1,
    SmtParamWindowsV1,
)
from state.operations.transfers import Transfer
from state.operations.vesting import TransferToVesting
from state.protocol.constants import SMT_EMIT_INDEFINITELY, TIME_MAX
from state.protocol.errors import Refused, UnknownKey
from state.protocol.operation import Operation
from state.protocol.values.asset import COIN, NULL_PRICE, SBD, VESTS, Asset, Price, paired
from state.tables.smt import (
    ACCOUNT_ELEVATED,
    CONTRIBUTION_BEGIN,
    CONTRIBUTION_END,
    LAUNCH_FAILED,
    PHASE_NAMES,
    SETUP_COMPLETED,
    SmtEmission,
    SmtToken,
)
from tests.helpers.chains import NOW, add_account, apply, chain_at, push, reason, refused

FUNDS = 1_000_000
# The token names drawn from a head block id of zeros: operations.md §15.1.
FIRST = [181188044, 880090920, 982728226, 131958147, 127780647, 826683521, 929320823, 978550742, 288002843, 337232768]
TOKEN, OTHER = candidate(0), candidate(1)
CREATE = SmtCreate("alice", TOKEN, Asset(1000, SBD))
RESET = structs.replace(CREATE, smt_creation_fee=Asset(0, SBD))
UNIT = SmtGenerationUnit((("$from", 1),), (("$from", 1),))
SETUP = SmtSetup("alice", TOKEN, 10**9, SmtCappedGenerationPolicy(UNIT, UNIT, 5000, 1, 2), NOW + 10, NOW + 20, NOW + 30, 1000, 10_000)
EMIT = SmtSetupEmissions(
    "alice", TOKEN, NOW + 10, SmtEmissionsUnit((("$rewards", 1),)), 21_600, 2, NOW + 10, NOW + 10, Asset(5, TOKEN), Asset(5, TOKEN)
)
VOTING = SmtSetSetupParameters("alice", TOKEN, (SmtParamAllowVoting(False),))
RUNTIME = SmtSetRuntimeParameters("alice", TOKEN, (SmtParamAllowDownvotes(False),))
GIVE = SmtContribute("bob", TOKEN, 1, Asset(400, COIN))


def smt_chain(hardfork: int = 24) -> Chain:
    chain = chain_at(hardfork)
    for name in ("alice", "bob"):
        add_account(chain.state, name, balance=FUNDS, sbd_balance=FUNDS)
    return chain


@pytest.fixture
def chain() -> Chain:
    return smt_chain()


@pytest.fixture
def made() -> Chain:
    """A chain with a token that alice controls."""
    chain = smt_chain()
    apply(chain, CREATE)
    return chain


def token(chain: Chain) -> SmtToken:
    return chain.state.smt_tokens.by_symbol.find(TOKEN)


@pytest.mark.parametrize("operation", [CREATE, SETUP, EMIT, VOTING, RUNTIME, GIVE])
def test_tokens_exist_since_hardfork_24(operation: Operation) -> None:
    assert reason(smt_chain(23), operation) == "SMT functionality not enabled until hardfork 24"


# ------------------------------------------------------------------ creating


def test_creating_is_refused(chain: Chain) -> None:
    assert reason(chain, structs.replace(CREATE, symbol=candidate(99))) == "Cannot create an SMT that didn't come from the NAI pool."
    text = reason(chain, structs.replace(CREATE, smt_creation_fee=Asset(999, SBD)))
    assert text.startswith('Fee of {"amount":"999","precision":3,"nai":"@@000000013"} does not match the creation fee of {"amount":"1000"')
    chain.state.feed_histories.modify(chain.state.feed, current_median_history=Price(Asset(1, SBD), Asset(2, COIN)))
    text = reason(chain, structs.replace(CREATE, smt_creation_fee=Asset(1999, COIN)))
    assert text.startswith('Fee of {"amount":"999"')
    chain.state.feed_histories.modify(chain.state.feed, current_median_history=NULL_PRICE)
    text = reason(chain, structs.replace(CREATE, smt_creation_fee=Asset(2000, COIN)))
    assert text == "Cannot pay the fee using different asset symbol because there is no price feed."
    assert refused(chain, structs.replace(CREATE, control_account="nobody")) == UnknownKey().message()
    chain.state.accounts.modify(chain.state.account("alice"), sbd_balance=999)
    assert "Account alice does not have sufficient funds" in reason(chain, CREATE)
    assert reason(chain, RESET) == "Cannot reset a non-existent SMT. Did you forget to specify the creation fee?"


def test_a_name_is_taken_once(made: Chain) -> None:
    assert reason(made, structs.replace(CREATE, control_account="bob")) == "SMT 181188044 has already been created."


@pytest.mark.parametrize("fee", [Asset(1000, SBD), Asset(2000, COIN), Asset(2001, COIN)])
def test_creating_costs_the_fee(chain: Chain, fee: Asset) -> None:
    chain.state.feed_histories.modify(chain.state.feed, current_median_history=Price(Asset(1, SBD), Asset(2, COIN)))
    apply(chain, structs.replace(CREATE, smt_creation_fee=fee))
    made = token(chain)
    assert (made.control_account, made.phase, made.current_supply, made.max_supply) == ("alice", ACCOUNT_ELEVATED, 0, 0)
    assert (made.cashout_window_seconds, made.allow_voting, made.allow_downvotes) == (3600, True, True)
    alice, null = chain.state.account("alice"), chain.state.account("null")
    paid = (fee.amount, 0) if fee.symbol == COIN else (0, fee.amount)
    assert (FUNDS - alice.balance, FUNDS - alice.sbd_balance) == (null.balance, null.sbd_balance) == paid


def test_tokens_without_emissions_can_be_reset(made: Chain) -> None:
    assert reason(made, structs.replace(RESET, control_account="bob")) == "You do not control this SMT. Control Account: alice"
    apply(made, VOTING)
    before = token(made).id
    apply(made, RESET)
    assert (token(made).id, token(made).allow_voting, len(made.state.smt_tokens)) == (before + 1, True, 1)
    apply(made, EMIT)
    assert reason(made, RESET) == "Cannot reset an SMT that has existing token emissions."
    for phase in (SETUP_COMPLETED, LAUNCH_FAILED):
        made.state.smt_tokens.modify(token(made), phase=phase)
        assert reason(made, RESET) == f"SMT cannot be reset if setup is completed. Phase: {PHASE_NAMES[phase]}"


def pool(chain: Chain) -> list[int]:
    return [nai_number(symbol) for symbol in chain.state.nai_pool.nais]


def test_a_used_name_is_replaced_in_the_pool_by_blocks_only(chain: Chain) -> None:
    assert pool(chain) == FIRST
    push(chain, CREATE)
    assert pool(chain) == [FIRST[9], *FIRST[1:9]]
    chain.clear_pending()
    assert pool(chain) == FIRST
    apply(chain, CREATE)
    assert pool(chain) == [FIRST[9], *FIRST[1:9], nai_number(candidate(10))]


def test_each_head_block_draws_from_its_own_id(chain: Chain) -> None:
    state = chain.state
    state.set_props(head_block_id=bytes(16) + (0xDEADBEEF).to_bytes(4, "little"))
    apply(chain, CREATE)
    # Worked example E19.
    assert (pool(chain)[-1], state.nai_pool.nais[-1]) == (948073708, 3033835856)
    state.set_props(head_block_id=bytes(16) + b"\xff" * 4)
    apply(chain, structs.replace(CREATE, symbol=OTHER))
    assert pool(chain)[-1] == 398738403
    # The next draw wraps to seed 0, which is a token's name. All seeds up to 9 belong to tokens or are in the pool.
    apply(chain, structs.replace(CREATE, symbol=candidate(2)))
    assert pool(chain)[-1] == nai_number(candidate(10))
    assert (state.nai_pool.attempts, state.nai_pool.collisions) == (12, 10)


def test_drawing_gives_up_at_100_collisions(chain: Chain) -> None:
    state = chain.state
    state.set_props(head_block_id=b"\1" * 16 + bytes(4))
    for seed in range(100):
        if not is_in_pool(state, candidate(seed)):
            state.smt_tokens.insert(SmtToken(liquid_symbol=candidate(seed) | 3))
    take_from_pool(state, TOKEN | 5)
    assert len(pool(chain)) == 9
    state.smt_tokens.insert(SmtToken(liquid_symbol=TOKEN | 5))
    replenish_pool(state)
    assert (len(pool(chain)), state.nai_pool.attempts, state.nai_pool.collisions) == (9, 100, 100)
    replenish_pool(state)
    assert state.nai_pool.attempts == 100
    state.set_props(head_block_id=b"\1" * 16 + b"\0\0\0\1")
    replenish_pool(state)
    assert len(pool(chain)) == 10


# ------------------------------------------------------------------ settings


@pytest.mark.parametrize("operation", [EMIT, VOTING, RUNTIME])
def test_settings_are_the_controllers_before_the_setup(made: Chain, operation: Operation) -> None:
    text = reason(made, structs.replace(operation, control_account="bob"))
    assert text == "The account bob does NOT control the SMT 181188044"
    assert reason(smt_chain(), operation) == "SMT numerical asset identifier 181188044 not found"
    made.state.smt_tokens.modify(token(made), phase=SETUP_COMPLETED)
    assert reason(made, operation) == "SMT pre-setup operation no longer allowed after setup phase is over"


def test_parameters_are_stored(made: Chain) -> None:
    runtime = (
        SmtParamWindowsV1(86_400, 60),
        SmtParamVoteRegenerationPeriodSecondsV1(86_400, 10),
        SmtParamRewardsV1(77, 1234, QUADRATIC, LINEAR),
        SmtParamAllowDownvotes(False),
    )
    apply(made, VOTING, structs.replace(RUNTIME, runtime_parameters=runtime))
    row = token(made)
    assert (row.allow_voting, row.allow_downvotes) == (False, False)
    assert (row.cashout_window_seconds, row.reverse_auction_window_seconds) == (86_400, 60)
    assert (row.vote_regeneration_period_seconds, row.votes_per_regeneration_period) == (86_400, 10)
    assert (row.content_constant, row.percent_curation_rewards) == (77, 1234)
    assert (row.author_reward_curve, row.curation_reward_curve) == (QUADRATIC, LINEAR)


def schedules(chain: Chain) -> list[int]:
    return [row.schedule_time for row in chain.state.smt_emissions]


def test_schedules_follow_each_other(made: Chain) -> None:
    past = structs.replace(EMIT, schedule_time=NOW)
    assert reason(made, past) == "Emissions schedule time must be in the future"
    apply(made, EMIT)
    end = NOW + 10 + 43_200
    text = reason(made, structs.replace(EMIT, schedule_time=end))
    assert text.startswith("SMT emissions cannot overlap with existing ranges and must be in chronological order, last emission time: ")
    assert text.endswith("2020-12-01T12:00:10")
    endless = structs.replace(EMIT, schedule_time=end + 1, interval_count=SMT_EMIT_INDEFINITELY)
    apply(made, endless)
    assert schedules(made) == [NOW + 10, end + 1]
    assert "last emission time: 1969-12-31T23:59:59" in reason(made, structs.replace(EMIT, schedule_time=TIME_MAX))


def test_only_the_last_schedule_is_removed_and_only_in_full(made: Chain) -> None:
    remove = structs.replace(EMIT, remove=True)
    text = reason(made, remove)
    assert text == 'Could not find token emission for the given SMT: {"nai":"@@181188044","decimals":0}'
    last = structs.replace(EMIT, schedule_time=NOW + 99_999)
    apply(made, EMIT, last)
    text = reason(made, remove)
    assert text.startswith('SMT emissions must be removed from latest to earliest, last emission: {"id":1,"symbol":{"nai":"@@181188044"')
    assert '. Current: {"control_account":"alice",' in text
    for other in (
        structs.replace(last, rel_amount_denom_bits=1),
        structs.replace(last, emissions_unit=SmtEmissionsUnit((("$rewards", 2),))),
        structs.replace(last, rep_abs_amount=Asset(6, TOKEN)),
    ):
        assert "SMT emissions must be removed" in reason(made, structs.replace(other, remove=True))
    apply(made, structs.replace(last, remove=True))
    assert schedules(made) == [NOW + 10]
    apply(made, remove)
    assert schedules(made) == []


def test_a_schedule_belongs_to_its_token(made: Chain) -> None:
    apply(made, structs.replace(CREATE, symbol=OTHER), EMIT)
    assert last_emission(made.state, OTHER) is None
    found = last_emission(made.state, TOKEN)
    assert found is not None
    assert (found.symbol, found.token_unit) == (TOKEN, (("$rewards", 1),))


def test_ends_of_schedules_wrap() -> None:
    assert end_of_emission(SmtEmission(schedule_time=2**32 - 10, interval_seconds=21_600, interval_count=1)) == 21_590
    assert end_of_emission(SmtEmission(interval_count=SMT_EMIT_INDEFINITELY)) == TIME_MAX


# ------------------------------------------------------------------ setup and contributions


def test_setup_is_stored_for_any_account(made: Chain) -> None:
    assert reason(made, structs.replace(SETUP, symbol=OTHER)) == "SMT alice not elevated yet."
    apply(made, structs.replace(SETUP, control_account="bob"))
    row, ico = token(made), made.state.smt_icos.by_symbol.find(TOKEN)
    assert (row.phase, row.control_account, row.max_supply) == (SETUP_COMPLETED, "bob", 10**9)
    assert (ico.contribution_begin_time, ico.contribution_end_time, ico.launch_time) == (NOW + 10, NOW + 20, NOW + 30)
    assert (ico.coin_units_soft_cap, ico.coin_units_hard_cap, ico.contributed) == (1000, 10_000, 0)
    assert ico.capped_generation_policy == SETUP.initial_generation_policy
    assert "uniqueness constraint" in refused(made, SETUP)


def test_contributing_is_refused_and_counted(made: Chain) -> None:
    state = made.state
    assert reason(made, structs.replace(GIVE, symbol=OTHER)) == "Cannot contribute to an unknown SMT"
    for phase in (ACCOUNT_ELEVATED, SETUP_COMPLETED):
        state.smt_tokens.modify(token(made), phase=phase)
        assert reason(made, GIVE) == "SMT has yet to enter the contribution phase"
    state.smt_tokens.modify(token(made), phase=CONTRIBUTION_END)
    assert reason(made, GIVE) == "SMT is no longer in the contribution phase"
    state.smt_tokens.modify(token(made), phase=CONTRIBUTION_BEGIN)
    assert reason(made, GIVE) == 'Unable to find ICO data for symbol: {"nai":"@@181188044","decimals":0}'
    apply(made, SETUP)
    state.smt_tokens.modify(token(made), phase=CONTRIBUTION_BEGIN)
    too_much = structs.replace(GIVE, contribution=Asset(10_001, COIN))
    text = reason(made, too_much)
    assert text.startswith("The proposed contribution would exceed the ICO hard cap, maximum possible contribution: ")
    assert '{"amount":"10000",' in text
    apply(made, GIVE)
    # A used id: the reference searches in the wrong place, so the unique index refuses the row.
    assert "uniqueness constraint" in refused(made, GIVE)
    state.accounts.modify(state.account("bob"), balance=0)
    assert "Account bob does not have sufficient funds" in reason(made, structs.replace(GIVE, contribution_id=2))
    apply(made, SmtContribute("alice", TOKEN, 1, Asset(9600, COIN)))
    assert reason(made, GIVE) == "SMT ICO has reached its hard cap and no longer accepts contributions"
    ico = state.smt_icos.by_symbol.find(TOKEN)
    assert ico.contributed == 10_000
    assert [(row.contributor, row.contribution) for row in state.smt_contributions] == [("bob", 400), ("alice", 9600)]
    assert state.account("alice").balance == FUNDS - 9600


# ------------------------------------------------------------------ balances


def regular(chain: Chain) -> dict[str, tuple[int, int]]:
    return {row.owner: (row.liquid, row.vesting) for row in chain.state.regular_balances}


def test_tokens_go_to_any_name_and_rows_go_when_they_are_empty(made: Chain) -> None:
    state = made.state
    alice = state.account("alice")
    adjust_balance(state, alice, 100, TOKEN)
    apply(made, Transfer("alice", "nobody", Asset(30, TOKEN), ""), Transfer("alice", "bob", Asset(70, TOKEN), ""))
    assert regular(made) == {"nobody": (30, 0), "bob": (70, 0)}
    text = reason(made, Transfer("bob", "alice", Asset(71, TOKEN), ""))
    assert "Account bob does not have sufficient funds for balance adjustment." in text
    assert "sufficient funds" in reason(made, Transfer("alice", "bob", Asset(1, TOKEN), ""))
    adjust_balance(state, state.account("bob"), 5, paired(TOKEN))
    apply(made, Transfer("bob", "alice", Asset(70, TOKEN), ""))
    assert regular(made) == {"nobody": (30, 0), "bob": (0, 5), "alice": (70, 0)}
    assert token_balance(state, "bob", paired(TOKEN)) == 5
    adjust_balance(state, state.account("bob"), -5, paired(TOKEN))
    assert "bob" not in regular(made)
    adjust_balance(state, state.account("bob"), 0, TOKEN)
    assert "bob" not in regular(made)


def test_orders_move_tokens(made: Chain) -> None:
    adjust_balance(made.state, made.state.account("alice"), 100, TOKEN)
    apply(made, LimitOrderCreate("alice", 1, Asset(100, TOKEN), Asset(1000, COIN), expiration=NOW + 9))
    assert regular(made) == {}
    apply(made, LimitOrderCreate("bob", 1, Asset(400, COIN), Asset(40, TOKEN), expiration=NOW + 9), LimitOrderCancel("alice", 1))
    assert regular(made) == {"alice": (60, 0), "bob": (40, 0)}
    assert made.state.account("alice").balance == FUNDS + 400


def test_tokens_power_up_only_with_voting(made: Chain) -> None:
    state = made.state
    adjust_balance(state, state.account("alice"), 100, TOKEN)
    up = TransferToVesting("alice", "bob", Asset(40, TOKEN))
    assert reason(made, up) == "No voting - no rewards"
    assert refused(made, structs.replace(up, amount=Asset(1, OTHER)))
    apply(made, VOTING, up)
    assert (token(made).total_vesting_fund_smt, token(made).total_vesting_shares) == (40, 40)
    state.smt_tokens.modify(token(made), total_vesting_shares=80)
    apply(made, up)
    assert regular(made) == {"alice": (20, 0), "bob": (0, 120)}
    assert (token(made).total_vesting_fund_smt, token(made).total_vesting_shares) == (80, 160)


def test_rewards_in_tokens_wait(made: Chain) -> None:
    state = made.state
    alice = state.account("alice")
    adjust_reward_balance(state, alice, 7, TOKEN)
    assert create_token_vesting(state, "alice", 10, TOKEN, to_reward=True) == 10
    state.smt_tokens.modify(token(made), total_vesting_shares=10, total_vesting_fund_smt=0)
    assert create_token_vesting(state, "alice", 10, TOKEN, to_reward=True) == 20
    (row,) = state.rewards_balances
    assert (row.pending_liquid, row.pending_vesting_value, row.pending_vesting_shares) == (7, 20, 30)
    assert (token(made).pending_rewarded_vesting_smt, token(made).pending_rewarded_vesting_shares) == (20, 30)
    with pytest.raises(Refused, match="Insufficient SMT "):
        adjust_reward_balance(state, alice, -8, TOKEN)
    with pytest.raises(Refused, match="Insufficient SMT "):
        adjust_reward_balance(state, state.account("bob"), -1, TOKEN)
    with pytest.raises(Refused, match="is_vesting"):
        adjust_reward_balance(state, alice, 1, paired(TOKEN))
    adjust_reward_balance(state, alice, -7, TOKEN)
    assert len(state.rewards_balances) == 1
    adjust_reward_balance(state, alice, -20, TOKEN, vests=-30)
    assert len(state.rewards_balances) == 0


def test_the_supply_of_a_token(made: Chain) -> None:
    adjust_supply(made.state, 5, TOKEN)
    assert token(made).current_supply == 5
    with pytest.raises(Refused, match="smt_new_supply >= 0"):
        adjust_supply(made.state, -6, TOKEN)
    with pytest.raises(UnknownKey):
        adjust_supply(made.state, 1, OTHER)
    with pytest.raises(Refused, match="invalid symbol"):
        adjust_supply(made.state, 1, VESTS)
