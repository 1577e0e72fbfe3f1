"""Claiming rewards. Declarations and what can be refused without state; sources: operations.md §14, wire-format.md §4.1."""

from __future__ import annotations

from typing import Annotated

from state.operations import checks
from state.protocol.asset import COIN, SBD, VESTS, Asset, decimals, nai_digits, nai_text
from state.protocol.codec import Codecs
from state.protocol.errors import require
from state.protocol.kinds import AccountName, AssetKind, Extensions, Many
from state.protocol.operation import Operation, operation

NEGATIVE = "Cannot claim a negative amount"
NOTHING = "Must claim something."


@operation(39, posting="account")
class ClaimRewardBalance(Operation, frozen=True):
    """Move earned rewards to where they can be spent."""

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


@operation(47, posting="account")
class ClaimRewardBalance2(Operation, frozen=True):
    """Move earned rewards of any currencies, listed in the order of their NAIs, to where they can be spent."""

    account: AccountName = ""
    extensions: Extensions = ()
    reward_tokens: Annotated[tuple[Asset, ...], Many(AssetKind())] = ()

    def validate(self, codecs: Codecs) -> None:
        checks.require_account_name(self.account)
        require(self.reward_tokens, NOTHING, condition="reward_tokens.empty() == false")
        # Each token is compared with the one before it, and only then its own amount is looked at.
        before = -1
        for token in self.reward_tokens:
            digits = nai_digits(token.symbol)
            require_order(before, digits, token.symbol)
            require(token.amount >= 0, NEGATIVE, condition="itr->amount >= 0")
            before = digits
        require(any(token.amount for token in self.reward_tokens), NOTHING, condition="is_substantial_reward")


def require_order(left: int, right: int, symbol: int) -> None:
    """Of two neighbours the first has the smaller NAI; `symbol` is the second's, and is told when they are equal."""
    require(
        left <= right,
        "Reward tokens have not been inserted in ascending order.",
        condition="itl->symbol.to_nai() <= itr->symbol.to_nai()",
    )
    require(
        left != right,
        "Duplicate symbol ${s} inserted into claim reward operation container.",
        condition="itl->symbol.to_nai() != itr->symbol.to_nai()",
        s=f'{{"nai":"{nai_text(symbol)}","decimals":{decimals(symbol)}}}',
    )
