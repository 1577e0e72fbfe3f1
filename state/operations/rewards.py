"""Claims of rewards. Sources: operations.md §14; wire-format.md §4.1."""

from __future__ import annotations

from typing import Annotated

from state.effects.arithmetic import share
from state.effects.balances import adjust_balance, adjust_reward_balance, with_interest
from state.effects.mana import update_manabar
from state.effects.votes import propagate
from state.operations import checks
from state.protocol.codec.kinds import AccountName, AssetKind, Codecs, Extensions, Many
from state.protocol.errors import existing, require
from state.protocol.operation import Operation, operation
from state.protocol.values.asset import COIN, SBD, VESTS, Asset, decimals, nai_digits, nai_text
from state.tables import State
from state.tables.accounts import Account

NEGATIVE = "Cannot claim a negative amount"
NOTHING = "Must claim something."


@operation(39, posting="account")
class ClaimRewardBalance(Operation, frozen=True):
    """Claim earned rewards, which moves them to the spendable balances."""

    account: AccountName = ""
    reward_coin: Asset = Asset()
    reward_sbd: Asset = Asset()
    reward_vests: Asset = Asset()

    def validate(self, codecs: Codecs) -> None:
        checks.require_account_name(self.account)
        coin, sbd, vests = self.reward_coin, self.reward_sbd, self.reward_vests
        require(coin.symbol == COIN, "Reward Coin must be COIN", condition="is_asset_type( reward_coin, COIN_SYMBOL )")
        require(sbd.symbol == SBD, "Reward Coin must be SBD", condition="is_asset_type( reward_sbd, SBD_SYMBOL )")
        require(vests.symbol == VESTS, "Reward Coin must be VESTS", condition="is_asset_type( reward_vests, VESTS_SYMBOL )")
        require(coin.amount >= 0, NEGATIVE, condition="reward_coin.amount >= 0")
        require(sbd.amount >= 0, NEGATIVE, condition="reward_sbd.amount >= 0")
        require(vests.amount >= 0, NEGATIVE, condition="reward_vests.amount >= 0")
        require(
            coin.amount > 0 or sbd.amount > 0 or vests.amount > 0,
            NOTHING,
            condition="reward_coin.amount > 0 || reward_sbd.amount > 0 || reward_vests.amount > 0",
        )

    def apply(self, state: State) -> None:
        account = state.account(self.account)
        coin, sbd, vests = self.reward_coin.amount, self.reward_sbd.amount, self.reward_vests.amount
        require_earned(coin, account.reward_coin_balance, COIN, "op.reward_coin <= acnt.reward_coin_balance")
        require_earned(sbd, account.reward_sbd_balance, SBD, "op.reward_sbd <= acnt.reward_sbd_balance")
        require_earned(vests, account.reward_vesting_balance, VESTS, "op.reward_vests <= acnt.reward_vesting_balance")

        worth = worth_of(account, vests)
        # Interest is paid even when no SBD is claimed.
        balance, seconds, now, paid = with_interest(state, account)
        if state.hardfork >= 20:
            # Before hardfork 20 mana was a percentage, which new VESTS didn't change.
            update_manabar(state, account, vests)
        state.accounts.set_sbd_balance(account, share(balance + sbd), seconds, now, paid)
        state.accounts.modify(
            account,
            balance=share(account.balance + coin),
            reward_coin_balance=account.reward_coin_balance - coin,
            reward_sbd_balance=account.reward_sbd_balance - sbd,
            **vesting_claim(account, vests, worth),
        )
        release_vesting(state, account, vests, worth)


@operation(47, posting="account")
class ClaimRewardBalance2(Operation, frozen=True):
    """Claim earned rewards in any currencies, listed by ascending NAI."""

    account: AccountName = ""
    extensions: Extensions = ()
    reward_tokens: Annotated[tuple[Asset, ...], Many(AssetKind())] = ()

    def validate(self, codecs: Codecs) -> None:
        checks.require_account_name(self.account)
        require(self.reward_tokens, NOTHING, condition="reward_tokens.empty() == false")
        # The check of the order precedes the check of the amount, token by token.
        before = -1
        for token in self.reward_tokens:
            digits = nai_digits(token.symbol)
            require_order(before, digits, token.symbol)
            require(token.amount >= 0, NEGATIVE, condition="itr->amount >= 0")
            before = digits
        require(any(token.amount for token in self.reward_tokens), NOTHING, condition="is_substantial_reward")

    def apply(self, state: State) -> None:
        for token in self.reward_tokens:
            if token.amount == 0:
                continue
            account = existing(
                state.accounts.by_name.get(self.account), "Could NOT find account ${a}", condition="a != nullptr", a=self.account
            )
            amount, symbol = token.amount, token.symbol
            if symbol == VESTS:
                require_earned(amount, account.reward_vesting_balance, VESTS, "token <= a->reward_vesting_balance")
                worth = worth_of(account, amount)
                # Unlike claim_reward_balance, this doesn't update the manabars: claimed VESTS bring no mana.
                state.accounts.modify(account, **vesting_claim(account, amount, worth))
                release_vesting(state, account, amount, worth)
                continue
            if symbol == COIN:
                condition = "is_asset_type( token, COIN_SYMBOL ) == false || token <= a->reward_coin_balance"
                require_earned(amount, account.reward_coin_balance, COIN, condition)
            elif symbol == SBD:
                condition = "is_asset_type( token, SBD_SYMBOL ) == false || token <= a->reward_sbd_balance"
                require_earned(amount, account.reward_sbd_balance, SBD, condition)
            # Vesting shares of tokens can't be claimed: adjust_reward_balance refuses their symbol.
            adjust_reward_balance(state, account, -amount, symbol)
            adjust_balance(state, account, amount, symbol)


def require_order(left: int, right: int, symbol: int) -> None:
    """Refuse unless the left NAI is smaller than the right one. `symbol` is the right NAI's symbol, which the message for equal NAIs
    contains.
    """
    require(
        left <= right, "Reward tokens have not been inserted in ascending order.", condition="itl->symbol.to_nai() <= itr->symbol.to_nai()"
    )
    require(
        left != right,
        "Duplicate symbol ${s} inserted into claim reward operation container.",
        condition="itl->symbol.to_nai() != itr->symbol.to_nai()",
        s=f'{{"nai":"{nai_text(symbol)}","decimals":{decimals(symbol)}}}',
    )


def require_earned(claim: int, actual: int, symbol: int, condition: str) -> None:
    """Refuse to claim more than the earned amount."""
    if claim > actual:
        name = {COIN: "COIN", SBD: "SBD", VESTS: "VESTS"}[symbol]
        text = f"Cannot claim that much {name}. Claim: ${{c}} Actual: ${{a}}"
        require(False, text, condition=condition, c=Asset(claim, symbol), a=Asset(actual, symbol))


def worth_of(account: Account, vests: int) -> int:
    """Return the COIN value of a part of an account's unclaimed VESTS. All of the account's unclaimed VESTS are worth all of its unclaimed
    COIN.
    """
    if vests == account.reward_vesting_balance:
        return account.reward_vesting_coin
    return vests * account.reward_vesting_coin // account.reward_vesting_balance


def vesting_claim(account: Account, vests: int, worth: int) -> dict[str, int]:
    """Return the new values of an account's fields after it claims VESTS."""
    return {
        "vesting_shares": share(account.vesting_shares + vests),
        "reward_vesting_balance": account.reward_vesting_balance - vests,
        "reward_vesting_coin": account.reward_vesting_coin - worth,
    }


def release_vesting(state: State, account: Account, vests: int, worth: int) -> None:
    """Move claimed VESTS from the pending totals into the vesting fund, and add them to witness votes."""
    props = state.props
    state.set_props(
        total_vesting_shares=share(props.total_vesting_shares + vests),
        total_vesting_fund_coin=share(props.total_vesting_fund_coin + worth),
        pending_rewarded_vesting_shares=share(props.pending_rewarded_vesting_shares - vests),
        pending_rewarded_vesting_coin=share(props.pending_rewarded_vesting_coin - worth),
    )
    propagate(state, account, vests)
