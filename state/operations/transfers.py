"""Transfers of liquid funds, and savings.

Declarations and what can be refused without state. Sources: operations.md §5; wire-format.md §4.1.
"""

from __future__ import annotations

from state.effects.balances import adjust_balance
from state.effects.treasury import require_sbd_for_treasury
from state.operations.checks import require_account_name, require_memo
from state.protocol.asset import COIN, SBD, Asset, is_vesting
from state.protocol.codec import Codecs
from state.protocol.errors import require
from state.protocol.kinds import AccountName, Text, UInt32
from state.protocol.operation import Operation, operation
from state.tables import State


@operation(2, active="from_", impacted=("from_", "to"))
class Transfer(Operation, frozen=True):
    """Move liquid funds from one account to another."""

    from_: AccountName = ""
    to: AccountName = ""
    amount: Asset = Asset()
    memo: Text = ""

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.from_)
        require_account_name(self.to)
        require(
            not is_vesting(self.amount.symbol),
            "Transfer of vesting is not allowed.",
            condition="amount.symbol.is_vesting() == false",
        )
        require(self.amount.amount > 0, "Cannot transfer a negative amount (aka: stealing)", condition="amount.amount > 0")
        require_memo(self.memo)

    def apply(self, state: State) -> None:
        require_sbd_for_treasury(state, self.to, self.amount)

        adjust_balance(state, state.account(self.from_), -self.amount.amount, self.amount.symbol)
        adjust_balance(state, state.account(self.to), self.amount.amount, self.amount.symbol)


@operation(32, active="from_", impacted=("from_", "to"))
class TransferToSavings(Operation, frozen=True):
    """Move liquid funds into somebody's savings."""

    from_: AccountName = ""
    to: AccountName = ""
    amount: Asset = Asset()
    memo: Text = ""

    def validate(self, codecs: Codecs) -> None:
        require_savings(self.from_, self.to, self.amount, self.memo)


@operation(33, active="from_", impacted=("from_", "to"))
class TransferFromSavings(Operation, frozen=True):
    """Ask for funds out of the savings; they arrive after three days."""

    from_: AccountName = ""
    request_id: UInt32 = 0
    to: AccountName = ""
    amount: Asset = Asset()
    memo: Text = ""

    def validate(self, codecs: Codecs) -> None:
        require_savings(self.from_, self.to, self.amount, self.memo)


@operation(34, active="from_")
class CancelTransferFromSavings(Operation, frozen=True):
    """Take back a request for savings that is not due yet."""

    from_: AccountName = ""
    request_id: UInt32 = 0

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.from_)


def require_savings(from_: str, to: str, amount: Asset, memo: str) -> None:
    """What transfers to and from savings share."""
    require_account_name(from_)
    require_account_name(to)
    require(amount.amount > 0, condition="amount.amount > 0")
    require(amount.symbol in (COIN, SBD), condition="amount.symbol == COIN_SYMBOL || amount.symbol == SBD_SYMBOL")
    require_memo(memo)
