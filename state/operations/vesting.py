"""Vesting: powering up and down, routes for what is powered down, delegations.

Declarations and what can be refused without state. Sources: operations.md §6; wire-format.md §4.1.
"""

from __future__ import annotations

from state.effects.balances import adjust_balance, create_vesting
from state.effects.treasury import require_sbd_for_treasury
from state.operations.checks import require_account_name, require_optional_account_name
from state.protocol.asset import COIN, VESTS, Asset, is_smt, is_vesting
from state.protocol.codec import Codecs
from state.protocol.constants import COIN_100_PERCENT
from state.protocol.errors import require
from state.protocol.kinds import AccountName, Bool, UInt16
from state.protocol.operation import Operation, operation
from state.tables import State


@operation(3, active="from_")
class TransferToVesting(Operation, frozen=True):
    """Power up: turn liquid funds into vesting shares, one's own or somebody else's."""

    from_: AccountName = ""
    to: AccountName = ""
    amount: Asset = Asset()

    def impacted(self) -> set[str]:
        return {self.from_, self.to or self.from_}

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.from_)
        symbol = self.amount.symbol
        require(
            symbol == COIN or (is_smt(symbol) and not is_vesting(symbol)),
            "Amount must be COIN or SMT liquid",
            condition="amount.symbol == COIN_SYMBOL || ( amount.symbol.space() == asset_symbol_type::smt_nai_space "
            "&& amount.symbol.is_vesting() == false )",
        )
        require_optional_account_name(self.to)
        require(self.amount.amount > 0, "Must transfer a nonzero amount", condition="amount.amount > 0")

    def apply(self, state: State) -> None:
        source, target = state.account(self.from_), state.account(self.to or self.from_)
        require_sbd_for_treasury(state, target.name, self.amount)

        adjust_balance(state, source, -self.amount.amount, self.amount.symbol)
        create_vesting(state, target, self.amount.amount)


@operation(4, active="account")
class WithdrawVesting(Operation, frozen=True):
    """Power down: have vesting shares paid out in weekly parts; 0 stops it."""

    account: AccountName = ""
    vesting_shares: Asset = Asset()

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.account)
        require(self.vesting_shares.symbol == VESTS, "Amount must be VESTS", condition="is_asset_type( vesting_shares, VESTS_SYMBOL)")


@operation(20, active="from_account", impacted=("from_account", "to_account"))
class SetWithdrawVestingRoute(Operation, frozen=True):
    """Send a part of what is powered down to another account."""

    from_account: AccountName = ""
    to_account: AccountName = ""
    percent: UInt16 = 0
    auto_vest: Bool = False

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.from_account)
        require_account_name(self.to_account)
        require(
            self.percent <= COIN_100_PERCENT,
            "Percent must be valid coin percent",
            condition="0 <= percent && percent <= COIN_100_PERCENT",
        )


@operation(40, active="delegator", impacted=("delegator", "delegatee"))
class DelegateVestingShares(Operation, frozen=True):
    """Lend vesting shares to another account; the amount is the new total."""

    delegator: AccountName = ""
    delegatee: AccountName = ""
    vesting_shares: Asset = Asset()

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.delegator)
        require_account_name(self.delegatee)
        require(self.delegator != self.delegatee, "You cannot delegate VESTS to yourself", condition="delegator != delegatee")
        shares = self.vesting_shares
        require(shares.symbol == VESTS, "Delegation must be VESTS", condition="is_asset_type( vesting_shares, VESTS_SYMBOL )")
        require(shares.amount >= 0, "Delegation cannot be negative", condition="vesting_shares >= asset( 0, VESTS_SYMBOL )")
