"""Balances, supply and prices: conversions between COIN, SBD and VESTS, and changes of balances.

Amounts are integers in the smallest unit, with a separate symbol. Divisions are in the reference's order: each one truncates, so two
algebraically equal formulas can lead to different chains. Source: operations.md §2.5, §2.7, §2.8; block-processing.md §3.2.
"""

from state.effects.arithmetic import narrowed, share
from state.effects.mana import update_manabar
from state.effects.operation_events import emit
from state.effects.smt_balances import adjust_token_balance, adjust_token_rewards, adjust_token_supply, create_token_vesting, token_balance
from state.effects.tokens import symbol_text
from state.effects.votes import propagate
from state.protocol import constants
from state.protocol.errors import Refused, require
from state.protocol.values.asset import COIN, NULL_PRICE, SBD, VESTS, Asset, Price, convert, is_smt, is_vesting, ratio
from state.protocol.values.integers import WORD128
from state.protocol.virtual import Interest
from state.tables import State
from state.tables.accounts import Account

EMPTY_VESTING_PRICE = Price(Asset(1000, COIN), Asset(1_000_000, VESTS))


# ------------------------------------------------------------------ prices


def median_price(state: State) -> Price:
    """Return the current median price (SBD per COIN), or the null price if there is none."""
    return state.feed.current_median_history


def to_sbd(state: State, coin: int) -> int:
    """Convert an amount of COIN to SBD at the median price. Return 0 if there is no price."""
    price = median_price(state)
    return 0 if price == NULL_PRICE else convert(Asset(coin, COIN), price).amount


def to_coin(state: State, sbd: int) -> int:
    """Convert an amount of SBD to COIN at the median price. Return 0 if there is no price."""
    price = median_price(state)
    return 0 if price == NULL_PRICE else convert(Asset(sbd, SBD), price).amount


def vests_to_coin(state: State, vests: int) -> int:
    """Convert VESTS to COIN at the price of the vesting fund. While the fund is empty, 1000 VESTS are worth 1 COIN."""
    props = state.props
    if props.total_vesting_fund_coin == 0 or props.total_vesting_shares == 0:
        return ratio(vests, 1000, 1_000_000)
    return ratio(vests, props.total_vesting_fund_coin, props.total_vesting_shares)


def coin_to_vests(state: State, coin: int) -> int:
    """Convert COIN to VESTS at the price of the vesting fund. While the fund is empty, 1 COIN is worth 1000 VESTS."""
    props = state.props
    if props.total_vesting_fund_coin == 0 or props.total_vesting_shares == 0:
        return ratio(coin, 1_000_000, 1000)
    return ratio(coin, props.total_vesting_shares, props.total_vesting_fund_coin)


def coin_to_reward_vests(state: State, coin: int) -> int:
    """Convert a reward of COIN to VESTS, at a price that includes unclaimed rewards. Refused while the fund is empty.

    Claiming moves both sides of the pending rewards into the fund at this price, so it changes no other account's share.
    """
    props = state.props
    shares = share(props.total_vesting_shares + props.pending_rewarded_vesting_shares)
    fund = share(props.total_vesting_fund_coin + props.pending_rewarded_vesting_coin)
    if shares <= 0 or fund <= 0:
        raise Refused("", condition="base.amount > share_type(0)")
    return ratio(coin, shares, fund)


# ------------------------------------------------------------------ liquid balances


def balance_of(state: State, account: Account, symbol: int) -> int:
    """Return the liquid balance of COIN, SBD or a token. VESTS are refused."""
    if symbol == COIN:
        return account.balance
    if symbol == SBD:
        return account.sbd_balance
    if symbol == VESTS:
        condition = "symbol.space() == asset_symbol_type::smt_nai_space"
        raise Refused("Invalid symbol: ${s}", condition=condition, s=symbol_text(symbol))
    return token_balance(state, account.name, symbol)


def adjust_balance_of(state: State, name: str, delta: int, symbol: int) -> None:
    """Change the liquid balance of the account with this name. For a token the account need not exist."""
    if is_smt(symbol):
        adjust_token_balance(state, name, delta, symbol)
    else:
        adjust_balance(state, state.account(name), delta, symbol)


def adjust_balance(state: State, account: Account, delta: int, symbol: int) -> None:
    """Change a liquid balance, or `vesting_shares` for VESTS. A debit beyond the balance is refused.

    Before an SBD balance changes, interest is paid on it. As in the reference, a debit is checked twice: before the change under every
    hardfork, and since hardfork 20 also after the change and the interest, which ruled out negative balances.
    """
    if delta < 0:
        available = balance_of(state, account, symbol)
        if available < -delta:
            raise Refused(
                "Account ${acc} does not have sufficient funds for balance adjustment. Required: ${r}, Available: ${a}",
                condition="available >= -delta",
                acc=account.name,
                r=Asset(delta, symbol),
                a=Asset(available, symbol),
            )
    accounts = state.accounts
    if symbol == COIN:
        balance = share(account.balance + delta)
        if balance < 0:
            require_funds(state, "Insufficient COIN funds")
        accounts.set_balance(account, balance)
    elif symbol == SBD:
        balance, seconds, now, paid = with_interest(state, account)
        balance = share(balance + delta)
        if balance < 0:
            require_funds(state, "Insufficient SBD funds")
        accounts.set_sbd_balance(account, balance, seconds, now, paid)
    elif symbol == VESTS:
        balance = share(account.vesting_shares + delta)
        if balance < 0:
            require_funds(state, "Insufficient VESTS funds")
        accounts.set_vesting_shares(account, balance)
    else:
        adjust_token_balance(state, account.name, delta, symbol)


def require_funds(state: State, text: str) -> None:
    """Refuse an operation that leads to a negative balance. Before hardfork 20 such a balance was stored."""
    require(state.hardfork < 20, text, condition="balance.amount.value >= 0")


def accrued(state: State, balance: int, seconds: int, since: int, paid: int) -> tuple[int, int, bool]:
    """Return the interest due on an SBD balance: the new number of seconds, the interest, and whether it is paid now.

    "Seconds" are the balance integrated over time since the last payment. Interest is paid at least 30 days after the last payment, so an
    account whose last payment is time 0 is paid on the first change of its balance.
    """
    now = state.head_time
    seconds = (seconds + balance * (now - since)) % WORD128
    if seconds > 0 and now - paid > constants.COIN_SBD_INTEREST_COMPOUND_INTERVAL_SEC:
        due = seconds // constants.COIN_SECONDS_PER_YEAR * state.props.sbd_interest_rate // constants.COIN_100_PERCENT
        return 0, narrowed(due), True
    return seconds, 0, False


def pay_interest(state: State, owner: str, due: int) -> None:
    """Emit the virtual operation of earned interest, and add the interest to the supply."""
    if due > 0:
        emit(state, Interest(owner=owner, interest=Asset(due, SBD)))
    props = state.props
    # Not to_coin: without a price the reference fails here, even for interest of 0.
    value = convert(Asset(due, SBD), median_price(state)).amount
    state.global_properties.set_sbd_supply(props, share(props.current_sbd_supply + due), share(props.virtual_supply + value))


def with_interest(state: State, account: Account) -> tuple[int, int, int, int]:
    """Return an account's liquid SBD with the interest up to now: the balance, its seconds, their time, and the time of the last payment.

    If interest is due, it is also added to the supply. `Accounts.set_sbd_balance` stores the result.
    """
    now, balance, last = state.head_time, account.sbd_balance, account.sbd_last_interest_payment
    if account.sbd_seconds_last_update == now:
        return balance, account.sbd_seconds, now, last
    seconds, due, paid = accrued(state, balance, account.sbd_seconds, account.sbd_seconds_last_update, last)
    if paid:
        balance, last = share(balance + due), now
        pay_interest(state, account.name, due)
    return balance, seconds, now, last


# ------------------------------------------------------------------ savings and rewards


def savings_of(account: Account, symbol: int) -> int:
    """Return the savings balance of an account in COIN or SBD."""
    return account.savings_balance if symbol == COIN else account.savings_sbd_balance


def adjust_savings_balance(state: State, account: Account, delta: int, symbol: int) -> None:
    """Change a savings balance. Callers check that it is sufficient; before hardfork 20 this function doesn't."""
    if symbol == COIN:
        balance = share(account.savings_balance + delta)
        if balance < 0:
            require_funds(state, "Insufficient savings COIN funds")
        state.accounts.modify(account, savings_balance=balance)
        return
    require(symbol == SBD, condition="invalid symbol")
    changes = savings_interest(state, account)
    balance = share(changes.get("savings_sbd_balance", account.savings_sbd_balance) + delta)
    if balance < 0:
        require_funds(state, "Insufficient savings SBD funds")
    state.accounts.modify(account, **changes | {"savings_sbd_balance": balance})


def savings_interest(state: State, account: Account) -> dict[str, int]:
    """Return the field changes that credit an account with the interest on its SBD savings up to now.

    If interest is due, it is also added to the supply.
    """
    now = state.head_time
    if account.savings_sbd_seconds_last_update == now:
        return {}
    seconds, due, paid = accrued(
        state,
        account.savings_sbd_balance,
        account.savings_sbd_seconds,
        account.savings_sbd_seconds_last_update,
        account.savings_sbd_last_interest_payment,
    )
    changes = {"savings_sbd_seconds": seconds, "savings_sbd_seconds_last_update": now}
    if paid:
        changes |= {"savings_sbd_balance": share(account.savings_sbd_balance + due), "savings_sbd_last_interest_payment": now}
        pay_interest(state, account.name, due)
    return changes


def adjust_reward_balance(state: State, account: Account, value: int, symbol: int, vests: int = 0) -> None:
    """Change unclaimed rewards by `value` in COIN or SBD.

    For a reward in VESTS, `vests` is the change of the VESTS, and `value` is their value in COIN.
    """
    if is_vesting(symbol):
        raise Refused("", condition="value_delta.symbol.is_vesting() == false && share_delta.symbol.is_vesting()")
    if symbol == COIN and vests == 0:
        balance = share(account.reward_coin_balance + value)
        if balance < 0:
            require_funds(state, "Insufficient reward COIN funds")
        state.accounts.set_reward_coin(account, balance)
    elif symbol == COIN:
        balance = share(account.reward_vesting_balance + vests)
        if balance < 0:
            require_funds(state, "Insufficient reward VESTS funds")
        state.accounts.set_reward_vests(account, balance, share(account.reward_vesting_coin + value))
    elif symbol == SBD:
        if vests != 0:
            raise Refused("", condition="share_delta.amount.value == 0")
        balance = share(account.reward_sbd_balance + value)
        if balance < 0:
            require_funds(state, "Insufficient reward SBD funds")
        state.accounts.set_reward_sbd(account, balance)
    else:
        adjust_token_rewards(state, account.name, value, symbol, vests)


# ------------------------------------------------------------------ supply, vesting, SBD


def adjust_supply(state: State, delta: int, symbol: int, adjust_vesting: bool = False) -> None:
    """Change the supply of COIN, SBD or a token.

    With `adjust_vesting`, which rewards before hardfork 16 use, nine times the new COIN is added to the vesting fund: nine tenths of the
    early inflation went to accounts with VESTS.
    """
    props = state.props
    if symbol == COIN:
        new_vesting = 9 * delta if adjust_vesting and delta > 0 and props.head_block_number >= constants.COIN_START_VESTING_BLOCK else 0
        supply = share(props.current_supply + delta + new_vesting)
        require(supply >= 0 or state.hardfork < 20, condition="props.current_supply.amount.value >= 0")
        virtual = share(props.virtual_supply + delta + new_vesting)
        if new_vesting:
            fund = share(props.total_vesting_fund_coin + new_vesting)
            state.set_props(current_supply=supply, virtual_supply=virtual, total_vesting_fund_coin=fund)
        else:
            state.global_properties.set_supply(props, supply, virtual)
        return
    if symbol != SBD:
        require(symbol != VESTS, "invalid symbol", condition="false")
        adjust_token_supply(state, delta, symbol)
        return
    supply = share(props.current_sbd_supply + delta)
    # A negative supply can't be converted, so it is refused under any hardfork.
    worth = convert(Asset(supply, SBD), median_price(state)).amount
    state.global_properties.set_sbd_supply(props, supply, share(worth + props.current_supply))


def add_vesting(state: State, to: Account, coin: int, vests: int) -> None:
    """Credit VESTS, add their COIN to the vesting fund, and update mana and witness votes.

    The caller must have debited or created the COIN.
    """
    if state.hardfork >= 20:
        # The bars are updated before the balance changes, because up to now they have regenerated with the previous VESTS.
        update_manabar(state, to, vests)
    adjust_balance(state, to, vests, VESTS)
    props = state.props
    fund, shares = share(props.total_vesting_fund_coin + coin), share(props.total_vesting_shares + vests)
    state.global_properties.set_vesting(props, fund, shares)
    propagate(state, to, vests)


def create_vesting(state: State, to: Account, liquid: int, symbol: int = COIN) -> int:
    """Convert COIN to VESTS of an account, or a token to vesting shares of that token. Return the new VESTS or shares."""
    if symbol != COIN:
        return create_token_vesting(state, to.name, liquid, symbol)
    vests = coin_to_vests(state, liquid)
    add_vesting(state, to, liquid, vests)
    return vests
