"""Balances and supply of tokens. A balance has a row only while it is not zero. Source: operations.md §2.6-§2.8.

state.effects.balances handles COIN, SBD and VESTS, and calls this module for every other symbol.
"""

from state.effects.arithmetic import share
from state.effects.tokens import liquid_variant, symbol_text
from state.protocol.errors import require
from state.protocol.values.asset import is_vesting, paired, ratio
from state.tables import State
from state.tables.smt import RegularBalance, RewardsBalance, SmtToken


def token_of(state: State, symbol: int) -> SmtToken:
    """Return the token with exactly this symbol. An unknown symbol is refused."""
    return state.smt_tokens.by_symbol.find(symbol)


def token_balance(state: State, owner: str, symbol: int) -> int:
    """Return the balance of an owner in a token, or in its vesting shares."""
    row = state.regular_balances.by_owner_liquid_symbol.get(owner, liquid_variant(symbol))
    if row is None:
        return 0
    return row.vesting if is_vesting(symbol) else row.liquid


def adjust_token_balance(state: State, owner: str, delta: int, symbol: int) -> None:
    """Change the balance of an owner in a token, or in its vesting shares. The owner need not be an account."""
    liquid_symbol, vesting = liquid_variant(symbol), is_vesting(symbol)
    balances = state.regular_balances
    row = balances.by_owner_liquid_symbol.get(owner, liquid_symbol)
    if row is None:
        require_funds(delta, symbol)
        if delta:
            parts = {"vesting" if vesting else "liquid": delta}
            balances.insert(RegularBalance(owner=owner, liquid_symbol=liquid_symbol, **parts))
        return
    held, other = (row.vesting, row.liquid) if vesting else (row.liquid, row.vesting)
    balance = share(held + delta)
    require_funds(balance, symbol)
    if balance == 0 and other == 0:
        balances.remove(row)
    elif vesting:
        balances.modify(row, vesting=balance)
    else:
        balances.modify(row, liquid=balance)


def adjust_token_rewards(state: State, owner: str, value: int, symbol: int, vests: int = 0) -> None:
    """Change unclaimed token rewards by `value` tokens.

    For a reward in vesting shares, `vests` is the change of the shares, and `value` is their value in tokens.
    """
    rewards = state.rewards_balances
    row = rewards.by_owner_liquid_symbol.get(owner, symbol)
    if row is None:
        require_funds(value, symbol)
        if value:
            parts = {"pending_vesting_value": value, "pending_vesting_shares": vests} if vests else {"pending_liquid": value}
            rewards.insert(RewardsBalance(owner=owner, liquid_symbol=symbol, **parts))
        return
    held, other = (row.pending_vesting_value, row.pending_liquid) if vests else (row.pending_liquid, row.pending_vesting_value)
    balance = share(held + value)
    require_funds(balance, symbol)
    if balance == 0 and other == 0:
        rewards.remove(row)
    elif vests:
        rewards.modify(row, pending_vesting_value=balance, pending_vesting_shares=share(row.pending_vesting_shares + vests))
    else:
        rewards.modify(row, pending_liquid=balance)


def adjust_token_supply(state: State, delta: int, symbol: int) -> None:
    """Change a token's current supply. A negative supply is refused."""
    token = token_of(state, symbol)
    supply = share(token.current_supply + delta)
    require(supply >= 0, condition="smt_new_supply >= 0")
    state.smt_tokens.modify(token, current_supply=supply)


def create_token_vesting(state: State, owner: str, liquid: int, symbol: int, to_reward: bool = False) -> int:
    """Convert tokens to vesting shares at the token's own price, and return the shares. With `to_reward` they are credited as unclaimed
    rewards.

    Unlike VESTS, these shares don't change manabars or witness votes.
    """
    require(not is_vesting(symbol), condition="liquid.symbol.is_vesting() == false")
    token = token_of(state, symbol)
    # As in the reference: a token with voting can't be powered up, and a token without voting can't be a reward.
    require(token.allow_voting == to_reward, "No voting - no rewards", condition="smt.allow_voting == to_reward_balance")
    if to_reward:
        fund = share(token.total_vesting_fund_smt + token.pending_rewarded_vesting_smt)
        shares = share(token.total_vesting_shares + token.pending_rewarded_vesting_shares)
    else:
        fund, shares = token.total_vesting_fund_smt, token.total_vesting_shares
    # The price is 1 while the fund is empty.
    created = ratio(liquid, shares, fund) if fund and shares else liquid
    if to_reward:
        adjust_token_rewards(state, owner, liquid, symbol, created)
        state.smt_tokens.modify(
            token,
            pending_rewarded_vesting_shares=share(token.pending_rewarded_vesting_shares + created),
            pending_rewarded_vesting_smt=share(token.pending_rewarded_vesting_smt + liquid),
        )
    else:
        adjust_token_balance(state, owner, created, paired(symbol))
        state.smt_tokens.modify(
            token,
            total_vesting_fund_smt=share(token.total_vesting_fund_smt + liquid),
            total_vesting_shares=share(token.total_vesting_shares + created),
        )
    return created


def require_funds(amount: int, symbol: int) -> None:
    """Refuse a negative balance of a token."""
    require(amount >= 0, "Insufficient SMT ${smt} funds", condition="result >= 0", smt=symbol_text(symbol))
