"""The account `all others` of a partial chain, which stands for the accounts that aren't on the chain.

It holds all amounts in the supplies that no row on the chain holds. An import moves amounts from it to the new rows. If it doesn't have
enough, because the chain has moved on or the source is wrong, the supply grows. `proxied_vsf_votes[0]` of its row corrects the total weight
of votes: it is negative by the weight that accounts here have from accounts that aren't here.
"""

from collections import Counter

from state.effects.balances import adjust_supply, median_price, vests_to_coin
from state.protocol.authority import Authority
from state.protocol.values.asset import COIN, NULL_PRICE, SBD, VESTS, is_smt
from state.protocol.values.integers import INT64_MAX
from state.tables import State
from state.tables.accounts import Account, AccountAuthority, AccountMetadata
from state.tables.smt import RegularBalance

ALL_OTHERS = "all others"
"""The name contains a space, so nobody can register it, and every operation that names it is refused."""

CLOSED = Authority(weight_threshold=1)
COIN_MAX = INT64_MAX // 10_000
"""The largest supply of COIN, and of SBD or its value in COIN, in satoshis: the inflation of a block multiplies it by 978."""
VESTS_MAX = INT64_MAX // 4

# Keys of amounts besides the symbols COIN, SBD and VESTS: unclaimed rewards, which have totals of their own.
REWARD_VESTS, REWARD_COIN = -1, -2
Amounts = Counter[int]
"""Amounts by symbol, REWARD_VESTS or REWARD_COIN."""


def others(state: State) -> Account:
    """Return the row of `all others`. Raises ValueError if the chain isn't partial."""
    row = state.accounts.by_name.get(ALL_OTHERS)
    if row is None:
        raise ValueError("only a chain that began with a part of another chain's state can import accounts")
    return row


def make_others(state: State) -> None:
    """Insert `all others` into a state without accounts. It gets everything that the supplies contain."""
    props, now = state.props, state.head_time
    held = props.total_vesting_fund_coin + props.total_reward_fund_coin + props.pending_rewarded_vesting_coin
    held += sum(fund.reward_balance for fund in state.reward_funds) + sum(token.market_maker_coin_balance for token in state.smt_tokens)
    if held > props.current_supply:
        state.set_props(current_supply=held)
    worth_sbd = max(props.current_sbd_supply + props.init_sbd_supply, 0)
    account = state.accounts.insert(
        Account(
            name=ALL_OTHERS,
            created=now,
            mined=False,
            balance=props.current_supply - held,
            sbd_balance=worth_sbd,
            sbd_seconds_last_update=now,
            sbd_last_interest_payment=now,
            savings_sbd_seconds_last_update=now,
            savings_sbd_last_interest_payment=now,
            reward_vesting_balance=props.pending_rewarded_vesting_shares,
            reward_vesting_coin=props.pending_rewarded_vesting_coin,
            vesting_shares=props.total_vesting_shares,
        )
    )
    state.account_metadata.insert(AccountMetadata(account=account.id))
    state.account_authorities.insert(AccountAuthority(account=ALL_OTHERS, owner=CLOSED, active=CLOSED, posting=CLOSED))
    for token in state.smt_tokens:
        funds = token.total_vesting_fund_smt + token.pending_rewarded_vesting_smt + token.market_maker_token_balance
        liquid, vesting = token.current_supply - funds, token.total_vesting_shares + token.pending_rewarded_vesting_shares
        if liquid < 0:
            raise ValueError(f"the token {token.liquid_symbol} has a smaller supply than funds")
        if liquid or vesting:
            state.regular_balances.insert(
                RegularBalance(owner=ALL_OTHERS, liquid_symbol=token.liquid_symbol, liquid=liquid, vesting=vesting)
            )


def take(state: State, amounts: Amounts) -> None:
    """Take the amounts of imported rows from `all others`. Amounts that it lacks are added to the supplies. Negative amounts are added
    to it.
    """
    row = others(state)
    left = {
        COIN: row.balance - amounts[COIN],
        SBD: row.sbd_balance - amounts[SBD],
        VESTS: row.vesting_shares - amounts[VESTS],
        REWARD_VESTS: row.reward_vesting_balance - amounts[REWARD_VESTS],
        REWARD_COIN: row.reward_vesting_coin - amounts[REWARD_COIN],
    }
    if any(is_smt(symbol) for symbol in amounts if symbol > 0):
        raise ValueError("amounts of tokens can't be imported")
    state.accounts.modify(
        row,
        balance=max(left[COIN], 0),
        sbd_balance=max(left[SBD], 0),
        vesting_shares=max(left[VESTS], 0),
        reward_vesting_balance=max(left[REWARD_VESTS], 0),
        reward_vesting_coin=max(left[REWARD_COIN], 0),
    )
    grow(state, Counter({key: -amount for key, amount in left.items() if amount < 0}))


def grow(state: State, amounts: Amounts) -> None:
    """Add amounts to the supplies. VESTS come with their value in COIN, so that their price stays the same."""
    props = state.props
    if vests := amounts[VESTS]:
        coin = vests_to_coin(state, vests)
        adjust_supply(state, coin, COIN)
        state.set_props(
            total_vesting_fund_coin=props.total_vesting_fund_coin + coin, total_vesting_shares=props.total_vesting_shares + vests
        )
    if coin := amounts[COIN] + amounts[REWARD_COIN]:
        adjust_supply(state, coin, COIN)
    state.set_props(
        pending_rewarded_vesting_shares=props.pending_rewarded_vesting_shares + amounts[REWARD_VESTS],
        pending_rewarded_vesting_coin=props.pending_rewarded_vesting_coin + amounts[REWARD_COIN],
    )
    if sbd := amounts[SBD]:
        if median_price(state) == NULL_PRICE:
            state.set_props(current_sbd_supply=props.current_sbd_supply + sbd)
        else:
            adjust_supply(state, sbd, SBD)


def check_supplies(state: State) -> None:
    """Raise ValueError if a supply is so large that a later block would overflow."""
    props = state.props
    worth = props.virtual_supply - props.current_supply
    for name, amount, most in (
        ("COIN", props.current_supply, COIN_MAX),
        ("SBD", props.current_sbd_supply + props.init_sbd_supply, COIN_MAX),
        ("the value of SBD", worth, COIN_MAX),
        ("VESTS", props.total_vesting_shares + props.pending_rewarded_vesting_shares, VESTS_MAX),
    ):
        if not 0 <= amount <= most:
            raise ValueError(f"a supply of {amount} satoshis ({name}), but it can be at most {most}")
