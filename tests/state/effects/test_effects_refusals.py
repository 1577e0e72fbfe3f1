"""Refusals of shared effects that need a value which no operation passes, or a state which only the blocks of the first years left
behind.
"""

from collections.abc import Callable

import pytest

from state.effects.arithmetic import share
from state.effects.balances import adjust_balance, adjust_reward_balance, adjust_savings_balance, adjust_supply, coin_to_reward_vests
from state.effects.mana import downvote_maximum, regenerated
from state.effects.smt_balances import adjust_token_balance, adjust_token_rewards, create_token_vesting
from state.operations.escrow import EscrowTransfer
from state.operations.transfers import Transfer
from state.protocol.constants import COIN_HF_21_STALL_BLOCK
from state.protocol.errors import IntegerOverflow, IntegerUnderflow
from state.protocol.values.asset import COIN, SBD, VESTS, Asset, convert, paired, ratio
from state.tables import State
from state.tables.accounts import Account
from tests.helpers.chains import NOW, add_account, apply, chain_at, refused, refused_step

TOKEN = 10_000_000 << 5 | 0x10
Effect = Callable[[State, Account], object]


def debtor(hardfork: int) -> State:
    """A state in which `alice` has negative balances, which double spending in the first years made possible."""
    state = chain_at(hardfork).state
    add_account(
        state,
        "alice",
        balance=-10,
        savings_balance=-10,
        reward_coin_balance=-10,
        sbd_balance=-10,
        savings_sbd_balance=-10,
        reward_sbd_balance=-10,
        sbd_seconds_last_update=NOW,
        savings_sbd_seconds_last_update=NOW,
    )
    state.accounts.modify(state.account("alice"), vesting_shares=-10, reward_vesting_balance=-10)
    return state


FUNDS: list[tuple[Effect, str]] = [
    (lambda state, alice: adjust_balance(state, alice, 9, COIN), "Insufficient COIN funds"),
    (lambda state, alice: adjust_balance(state, alice, 9, SBD), "Insufficient SBD funds"),
    (lambda state, alice: adjust_balance(state, alice, 9, VESTS), "Insufficient VESTS funds"),
    (lambda state, alice: adjust_savings_balance(state, alice, 9, COIN), "Insufficient savings COIN funds"),
    (lambda state, alice: adjust_savings_balance(state, alice, 9, SBD), "Insufficient savings SBD funds"),
    (lambda state, alice: adjust_reward_balance(state, alice, 9, COIN), "Insufficient reward COIN funds"),
    (lambda state, alice: adjust_reward_balance(state, alice, 9, SBD), "Insufficient reward SBD funds"),
    (lambda state, alice: adjust_reward_balance(state, alice, 9, COIN, 9), "Insufficient reward VESTS funds"),
]


@pytest.mark.parametrize(("effect", "text"), FUNDS)
def test_debts_of_early_blocks_are_not_paid_in_parts(effect: Effect, text: str) -> None:
    state = debtor(20)
    assert refused_step(state, lambda: effect(state, state.account("alice"))).endswith(text)
    early = debtor(19)
    effect(early, early.account("alice"))


def test_a_credit_that_leaves_a_debt_is_refused() -> None:
    chain = chain_at()
    add_account(chain.state, "alice")
    add_account(chain.state, "bob", balance=100)
    chain.state.accounts.modify(chain.state.account("alice"), balance=-10)
    assert "Insufficient COIN funds" in refused(chain, Transfer("bob", "alice", Asset(9, COIN)))
    apply(chain, Transfer("bob", "alice", Asset(10, COIN)))


def test_symbols_without_such_a_balance() -> None:
    state = chain_at().state
    alice = add_account(state, "alice")
    assert refused_step(state, lambda: adjust_savings_balance(state, alice, 1, VESTS)).endswith("invalid symbol: ")
    assert refused_step(state, lambda: adjust_balance(state, alice, -1, VESTS)).split(": ")[1].startswith("Invalid symbol")
    assert refused_step(state, lambda: adjust_reward_balance(state, alice, 1, SBD, 1)).endswith("share_delta.amount.value == 0: ")
    assert refused_step(state, lambda: adjust_supply(state, 1, VESTS)).endswith("invalid symbol")


def test_supplies_stay_positive() -> None:
    state = chain_at(20).state
    props = state.props
    text = refused_step(state, lambda: adjust_supply(state, -props.current_supply - 1, COIN))
    assert text.endswith("props.current_supply.amount.value >= 0: ")
    # The value of SBD is computed before its supply is checked, and a negative amount has no value.
    text = refused_step(state, lambda: adjust_supply(state, -props.current_sbd_supply - 1, SBD))
    assert text == "Assert Exception:result.hi == 0: "
    early = chain_at(19).state
    adjust_supply(early, -early.props.current_supply - 1, COIN)
    assert early.props.current_supply == -1
    # A negative supply of SBD has no value.
    assert refused_step(early, lambda: adjust_supply(early, -1, SBD)).endswith("result.hi == 0: ")


def test_rewards_in_vests_need_a_price() -> None:
    state = chain_at().state
    state.set_props(total_vesting_shares=0, total_vesting_fund_coin=0)
    assert refused_step(state, lambda: coin_to_reward_vests(state, 1)).endswith("base.amount > share_type(0): ")
    state.set_props(pending_rewarded_vesting_shares=3_000, pending_rewarded_vesting_coin=2)
    assert coin_to_reward_vests(state, 1) == 1_500


# ------------------------------------------------------------------ tokens


def test_unknown_tokens() -> None:
    state = chain_at(24).state
    for adjust in (adjust_token_balance, adjust_token_rewards):
        assert "Insufficient SMT" in refused_step(state, lambda adjust=adjust: adjust(state, "alice", -1, TOKEN))  # type: ignore[misc]
        adjust(state, "alice", 5, TOKEN)
        assert "Insufficient SMT" in refused_step(state, lambda adjust=adjust: adjust(state, "alice", -6, TOKEN))  # type: ignore[misc]
    text = refused_step(state, lambda: create_token_vesting(state, "alice", 1, paired(TOKEN)))
    assert text.endswith("liquid.symbol.is_vesting() == false: ")


# ------------------------------------------------------------------ bars


def test_impossible_bars() -> None:
    assert regenerated(5, NOW, 10, NOW) == 5
    state = chain_at(number=COIN_HF_21_STALL_BLOCK + 1).state
    assert refused_step(state, lambda: regenerated(5, NOW + 1, 10, NOW)) == "Assert Exception:now >= last_update_time: rethrow"
    assert refused_step(state, lambda: regenerated(5, NOW, -1, NOW)) == "Assert Exception:max_mana >= 0: rethrow"
    assert refused_step(state, lambda: downvote_maximum(state, -1)) == "Assert Exception:max_mana >= 0: rethrow"
    state.set_props(head_block_number=COIN_HF_21_STALL_BLOCK)
    assert downvote_maximum(state, -40_000) == -10_000


# ------------------------------------------------------------------ large numbers


def test_checked_numbers() -> None:
    assert share(2**63 - 1) == 2**63 - 1
    assert share(-(2**63)) == -(2**63)
    with pytest.raises(IntegerOverflow, match=r"^Integer Overflow:$"):
        share(2**63)
    with pytest.raises(IntegerUnderflow, match=r"^Integer Underflow:$"):
        share(-(2**63) - 1)


def test_products_of_prices() -> None:
    assert ratio(2**62, 2**62, 2**62) == 2**62
    assert ratio(2**62, 3, 1) == 3 * 2**62 - 2**64  # no more than 64 bits, but their highest one
    assert ratio(-1, 0, 1) == 0
    state = chain_at().state
    for amount, numerator, denominator in ((2**62, 4, 1), (-1, 1, 1), (-1, 1, 2**62)):
        text = refused_step(state, lambda a=amount, n=numerator, d=denominator: ratio(a, n, d))  # type: ignore[misc]
        assert text == "Assert Exception:result.hi == 0: "
    median = state.feed.current_median_history
    assert refused_step(state, lambda: convert(Asset(1, VESTS), median)) == "Assert Exception:invalid asset * price"


@pytest.mark.parametrize(("sbd", "coin", "symbol"), [(0, 2**63 - 1, COIN), (2**63 - 1, 0, SBD)])
def test_an_amount_and_a_fee_that_are_too_much_together(sbd: int, coin: int, symbol: int) -> None:
    chain = chain_at()
    for name in ("alice", "bob", "carol"):
        add_account(chain.state, name, balance=1_000, sbd_balance=1_000)
    amounts = Asset(sbd, SBD), Asset(coin, COIN)
    made = EscrowTransfer("alice", "bob", *amounts, 1, "carol", Asset(1, symbol), "", NOW + 3, NOW + 6)
    assert refused(chain, made) == "Integer Overflow:"
    without = EscrowTransfer("alice", "bob", *amounts, 1, "carol", Asset(0, symbol), "", NOW + 3, NOW + 6)
    assert "does not have sufficient funds for balance adjustment." in refused(chain, without)
