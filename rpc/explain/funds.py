"""Explains insufficient balances: the account's balance, the amount it needs, and the difference."""

from rpc.explain.case import Explanation, RefusalCase
from state.operations.transfers import TransferFromSavings
from state.operations.vesting import WithdrawVesting
from state.protocol.operation import Operation
from state.protocol.values.asset import COIN, SBD, VESTS, Asset

NEW_ACCOUNT = "Insufficient balance to create account."
SAVINGS = "_db.get_savings_balance( from, op.amount.symbol ) >= op.amount"
POWER_DOWN = "account.vesting_shares - account.delegated_vesting_shares >= o.vesting_shares"


def balance(case: RefusalCase) -> Explanation:
    """Explain that an account's liquid balance is too small."""
    values = case.error.values
    needed, current = values["r"], values["a"]
    assert isinstance(needed, Asset)
    assert isinstance(current, Asset)
    return insufficient_funds(case, str(values["acc"]), "balance", -needed.amount, current.amount, current.symbol)


def delegation(case: RefusalCase) -> Explanation:
    """Explain why VESTS can't be delegated: they are already delegated, being powered down, or used for votes."""
    values = case.error.values
    needed, current = values["r"], values["a"]
    assert isinstance(needed, Asset)
    assert isinstance(current, Asset)
    where = "VESTS that are neither delegated, powered down, nor used up by votes"
    return insufficient_funds(case, str(values["acc"]), where, needed.amount, current.amount, VESTS)


def savings(case: RefusalCase) -> Explanation:
    """Explain that an account's savings are too small."""
    operation = case.operation
    assert isinstance(operation, TransferFromSavings)
    account, symbol = case.state.account(operation.from_), operation.amount.symbol
    current = account.savings_balance if symbol == COIN else account.savings_sbd_balance if symbol == SBD else 0
    return insufficient_funds(case, account.name, "savings", operation.amount.amount, current, symbol)


def power_down(case: RefusalCase) -> Explanation:
    """Explain that a power-down exceeds the account's undelegated VESTS."""
    operation = case.operation
    assert isinstance(operation, WithdrawVesting)
    account = case.state.account(operation.account)
    free = account.vesting_shares - account.delegated_vesting_shares
    return insufficient_funds(case, account.name, "VESTS that are not delegated", operation.vesting_shares.amount, free, VESTS)


def creation_fee(case: RefusalCase) -> Explanation:
    """Explain that the creator can't pay the fee for a new account."""
    operation = case.operation
    assert operation is not None
    account = case.state.account(getattr(operation, "creator", ""))
    fee: Asset = getattr(operation, "fee", Asset())
    return insufficient_funds(case, account.name, "balance", fee.amount, account.balance, COIN)


def insufficient_funds(case: RefusalCase, name: str, where: str, needed: int, current: int, symbol: int) -> Explanation:
    """Return the explanation for a balance that is smaller than the needed amount. `where` names the balance."""
    text, missing = case.asset_text, needed - current
    # If an amount is the largest possible one, the difference exceeds 64 bits.
    why = f"{subject(case, case.operation)} needs {text(needed, symbol)} of {name}, which has only {text(current, symbol)} ({where})."
    to_do = f"Send at most {text(max(current, 0), symbol)}, or give {name} the missing {text(missing, symbol)} first."
    facts = {"have": text(current, symbol), "need": text(needed, symbol), "missing": text(missing, symbol)}
    return case.explained("insufficient_funds", why, to_do, account=name, where=where, **facts)


def subject(case: RefusalCase, operation: Operation | None) -> str:
    """Return the operation in words, for use as the subject of a sentence."""
    return "The transaction" if operation is None else f"Operation {case.error.operation} ({case.name_of(operation)})"
