"""Claims of rewards. The claimed COIN and SBD become liquid, and the claimed VESTS count in votes for witnesses."""

import pytest

from state.chain.chain import Chain
from state.effects.balances import adjust_reward_balance
from state.operations.rewards import ClaimRewardBalance, ClaimRewardBalance2
from state.protocol.errors import UnknownKey
from state.protocol.values.asset import COIN, SBD, VESTS, Asset, paired
from state.protocol.virtual import Interest
from state.tables.accounts import Account
from state.tables.smt import RewardsBalance
from state.tables.witnesses import WitnessVote
from tests.helpers.chains import NOW, add_account, add_witness, apply, chain_at, completed, refused

TOKEN = 10_000_000 << 5 | 0x10


def earned_chain(hardfork: int = 23) -> Chain:
    """A chain on which Alice votes for a witness and has unclaimed rewards: 5 COIN, 7 SBD, and VESTS worth 100 COIN."""
    chain = chain_at(hardfork)
    state = chain.state
    add_account(
        state,
        "alice",
        vesting_shares=1_000,
        voting_mana=10_000,
        reward_coin_balance=5,
        reward_sbd_balance=7,
        reward_vesting_balance=300,
        reward_vesting_coin=100,
    )
    add_witness(state, "alice", votes=1_000)
    state.witness_votes.insert(WitnessVote(witness="alice", account="alice"))
    state.set_props(pending_rewarded_vesting_shares=300, pending_rewarded_vesting_coin=100)
    return chain


@pytest.fixture
def chain() -> Chain:
    return earned_chain()


def alice(chain: Chain) -> Account:
    return chain.state.account("alice")


def claim(coin: int = 0, sbd: int = 0, vests: int = 0, account: str = "alice") -> ClaimRewardBalance:
    return ClaimRewardBalance(account, Asset(coin, COIN), Asset(sbd, SBD), Asset(vests, VESTS))


def claim2(*tokens: tuple[int, int], account: str = "alice") -> ClaimRewardBalance2:
    return ClaimRewardBalance2(account, (), tuple(Asset(amount, symbol) for amount, symbol in tokens))


def totals(chain: Chain) -> tuple[int, int, int, int]:
    props = chain.state.props
    return (
        props.total_vesting_shares,
        props.total_vesting_fund_coin,
        props.pending_rewarded_vesting_shares,
        props.pending_rewarded_vesting_coin,
    )


def test_claiming_everything(chain: Chain) -> None:
    shares, fund, _, _ = totals(chain)
    apply(chain, claim(5, 7, 300))
    account = alice(chain)
    assert (account.balance, account.sbd_balance, account.vesting_shares) == (5, 7, 1_300)
    assert (account.reward_coin_balance, account.reward_sbd_balance) == (0, 0)
    assert (account.reward_vesting_balance, account.reward_vesting_coin) == (0, 0)
    assert totals(chain) == (shares + 300, fund + 100, 0, 0)
    assert chain.state.witness("alice").votes == 1_300
    # The manabar has the maximum from before the claim, plus the claimed amount.
    assert (account.voting_mana, account.voting_mana_time) == (1_300, NOW)
    assert (account.downvote_mana, account.downvote_mana_time) == (325, NOW)


def test_claiming_some_vests_rounds_their_coin_down(chain: Chain) -> None:
    shares, fund, _, _ = totals(chain)
    apply(chain, claim(vests=100))
    assert (alice(chain).reward_vesting_balance, alice(chain).reward_vesting_coin) == (200, 67)
    assert totals(chain) == (shares + 100, fund + 33, 200, 67)


def test_claims_pay_interest_on_sbd(chain: Chain) -> None:
    events = completed(chain.state, Interest)
    chain.state.set_props(sbd_interest_rate=1000)
    chain.state.accounts.modify(alice(chain), sbd_balance=31_903, sbd_seconds_last_update=NOW - 2_592_003, sbd_last_interest_payment=0)
    apply(chain, claim(coin=1))
    assert events == [Interest("alice", Asset(262, SBD))]
    assert (alice(chain).sbd_balance, alice(chain).sbd_seconds, alice(chain).sbd_last_interest_payment) == (32_165, 0, NOW)


@pytest.mark.parametrize(("coin", "vests"), [(5, 0), (0, 1)])
def test_a_claim_moves_witnesses_in_time_even_without_vests(chain: Chain, coin: int, vests: int) -> None:
    state = chain.state
    state.witness_schedules.modify(state.schedule, current_virtual_time=1_000)
    apply(chain, claim(coin, vests=vests))
    witness, votes = state.witness("alice"), 1_000 + vests
    assert (witness.votes, witness.virtual_last_update, witness.virtual_position) == (votes, 1_000, 1_000 * 1_000)
    assert witness.virtual_scheduled_time == 1_000 + (2**128 - 1 - 1_000_000) // (votes + 1)


def test_claims_before_hardfork_20_leave_the_power_alone() -> None:
    chain = earned_chain(19)
    apply(chain, claim(vests=300))
    assert (alice(chain).voting_mana, alice(chain).voting_mana_time) == (10_000, 0)
    assert alice(chain).vesting_shares == 1_300


def test_claim_refusals(chain: Chain) -> None:
    assert refused(chain, claim(1, account="nobody")) == UnknownKey().message()
    claimed, actual = Asset(6, COIN), Asset(5, COIN)
    assert f"Cannot claim that much COIN. Claim: {claimed} Actual: {actual}" in refused(chain, claim(6))
    claimed, actual = Asset(8, SBD), Asset(7, SBD)
    assert f"Cannot claim that much SBD. Claim: {claimed} Actual: {actual}" in refused(chain, claim(5, 8))
    claimed, actual = Asset(301, VESTS), Asset(300, VESTS)
    assert f"Cannot claim that much VESTS. Claim: {claimed} Actual: {actual}" in refused(chain, claim(5, 7, 301))


# ------------------------------------------------------------------ any currencies


def test_claiming_any_currencies(chain: Chain) -> None:
    state = chain.state
    adjust_reward_balance(state, alice(chain), 9, TOKEN)
    shares, fund, _, _ = totals(chain)
    apply(chain, claim2((7, SBD), (0, COIN), (100, VESTS), (9, TOKEN)))
    account = alice(chain)
    assert (account.balance, account.sbd_balance, account.reward_coin_balance) == (0, 7, 5)
    assert totals(chain) == (shares + 100, fund + 33, 200, 67)
    assert state.witness("alice").votes == 1_100
    # Mana doesn't change here.
    assert (account.voting_mana, account.voting_mana_time) == (10_000, 0)
    assert state.regular_balances.by_owner_liquid_symbol.find("alice", TOKEN).liquid == 9
    assert len(state.rewards_balances) == 0
    apply(chain, claim2((5, COIN)))
    assert (account.balance, account.reward_coin_balance) == (5, 0)


def test_claim2_refusals(chain: Chain) -> None:
    assert "Could NOT find account nobody" in refused(chain, claim2((1, COIN), account="nobody"))
    assert "Cannot claim that much COIN." in refused(chain, claim2((6, COIN)))
    assert "Cannot claim that much SBD." in refused(chain, claim2((8, SBD)))
    assert "Cannot claim that much VESTS." in refused(chain, claim2((7, SBD), (301, VESTS)))
    assert "Insufficient SMT" in refused(chain, claim2((7, SBD), (1, TOKEN)))


def test_vesting_shares_of_tokens_cannot_be_claimed(chain: Chain) -> None:
    chain.state.rewards_balances.insert(
        RewardsBalance(owner="alice", liquid_symbol=TOKEN, pending_vesting_shares=5, pending_vesting_value=5)
    )
    assert "value_delta.symbol.is_vesting() == false" in refused(chain, claim2((5, paired(TOKEN))))
