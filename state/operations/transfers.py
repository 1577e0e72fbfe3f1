"""Transfers of liquid funds, and savings. Sources: operations.md §5; wire-format.md §4.1."""

from __future__ import annotations

from state.effects.balances import adjust_balance, adjust_balance_of, adjust_savings_balance, savings_of
from state.effects.treasury import is_closed_treasury, require_sbd_for_treasury
from state.operations.checks import require_account_name, require_memo
from state.protocol.codec.kinds import AccountName, Codecs, Text, UInt32
from state.protocol.constants import COIN_SAVINGS_WITHDRAW_REQUEST_LIMIT, COIN_SAVINGS_WITHDRAW_TIME
from state.protocol.errors import Refused, require
from state.protocol.operation import Operation, operation
from state.protocol.values.asset import COIN, SBD, Asset, is_vesting
from state.tables import State
from state.tables.payments import SavingsWithdraw


@operation(2, active="from_", impacted=("from_", "to"), protected="from_", units=2)
class Transfer(Operation, frozen=True):
    """Transfer liquid funds to another account."""

    from_: AccountName = ""
    to: AccountName = ""
    amount: Asset = Asset()
    memo: Text = ""

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.from_)
        require_account_name(self.to)
        if is_vesting(self.amount.symbol):
            raise Refused("Transfer of vesting is not allowed.", condition="amount.symbol.is_vesting() == false")
        if self.amount.amount <= 0:
            raise Refused("Cannot transfer a negative amount (aka: stealing)", condition="amount.amount > 0")
        require_memo(self.memo)

    def apply(self, state: State) -> None:
        require_sbd_for_treasury(state, self.to, self.amount)

        adjust_balance(state, state.account(self.from_), -self.amount.amount, self.amount.symbol)
        adjust_balance_of(state, self.to, self.amount.amount, self.amount.symbol)


@operation(32, active="from_", impacted=("from_", "to"), protected="from_")
class TransferToSavings(Operation, frozen=True):
    """Transfer liquid funds to the savings of an account."""

    from_: AccountName = ""
    to: AccountName = ""
    amount: Asset = Asset()
    memo: Text = ""

    def validate(self, codecs: Codecs) -> None:
        require_savings(self.from_, self.to, self.amount, self.memo)

    def apply(self, state: State) -> None:
        source, target = state.account(self.from_), state.account(self.to)
        require(
            not is_closed_treasury(state, self.to), "Cannot transfer savings to ${s}", condition="op.to != COIN_TREASURY_ACCOUNT", s=self.to
        )

        amount, symbol = self.amount.amount, self.amount.symbol
        adjust_balance(state, source, -amount, symbol)
        adjust_savings_balance(state, target, amount, symbol)


@operation(33, active="from_", impacted=("from_", "to"))
class TransferFromSavings(Operation, frozen=True):
    """Request a withdrawal from savings, which is paid after three days."""

    from_: AccountName = ""
    request_id: UInt32 = 0
    to: AccountName = ""
    amount: Asset = Asset()
    memo: Text = ""

    def validate(self, codecs: Codecs) -> None:
        require_savings(self.from_, self.to, self.amount, self.memo)

    def apply(self, state: State) -> None:
        source = state.account(self.from_)
        state.account(self.to)
        require(
            source.savings_withdraw_requests < COIN_SAVINGS_WITHDRAW_REQUEST_LIMIT,
            "Account has reached limit for pending withdraw requests.",
            condition="from.savings_withdraw_requests < COIN_SAVINGS_WITHDRAW_REQUEST_LIMIT",
        )
        require_sbd_for_treasury(state, self.to, self.amount)
        amount, symbol = self.amount.amount, self.amount.symbol
        require(savings_of(source, symbol) >= amount, condition="_db.get_savings_balance( from, op.amount.symbol ) >= op.amount")

        adjust_savings_balance(state, source, -amount, symbol)
        state.savings_withdraws.insert(
            SavingsWithdraw(
                from_=self.from_,
                to=self.to,
                memo=self.memo,
                request_id=self.request_id,
                amount=self.amount,
                complete=state.head_time + COIN_SAVINGS_WITHDRAW_TIME,
            )
        )
        state.accounts.modify(source, savings_withdraw_requests=source.savings_withdraw_requests + 1)


@operation(34, active="from_")
class CancelTransferFromSavings(Operation, frozen=True):
    """Cancel a pending withdrawal from savings."""

    from_: AccountName = ""
    request_id: UInt32 = 0

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.from_)

    def apply(self, state: State) -> None:
        withdrawal = state.savings_withdraws.by_from_rid.find(self.from_, self.request_id)
        source = state.account(self.from_)

        adjust_savings_balance(state, source, withdrawal.amount.amount, withdrawal.amount.symbol)
        state.savings_withdraws.remove(withdrawal)
        state.accounts.modify(source, savings_withdraw_requests=source.savings_withdraw_requests - 1)


def require_savings(from_: str, to: str, amount: Asset, memo: str) -> None:
    """Make the static checks shared by transfers to and from savings."""
    require_account_name(from_)
    require_account_name(to)
    require(amount.amount > 0, condition="amount.amount > 0")
    require(amount.symbol in (COIN, SBD), condition="amount.symbol == COIN_SYMBOL || amount.symbol == SBD_SYMBOL")
    require_memo(memo)
