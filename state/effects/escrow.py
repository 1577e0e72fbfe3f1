"""Return of an escrow's funds to its sender. Source: operations.md §10.2, §17.10."""

from state.effects.balances import adjust_balance
from state.protocol.values.asset import COIN, SBD
from state.tables import State
from state.tables.payments import Escrow


def give_back_escrow(state: State, escrow: Escrow) -> None:
    """Return all funds of an escrow to its sender, including an unpaid fee, and remove it."""
    owner, fee = state.account(escrow.from_), escrow.pending_fee
    adjust_balance(state, owner, escrow.coin_balance, COIN)
    adjust_balance(state, owner, escrow.sbd_balance, SBD)
    adjust_balance(state, owner, fee.amount, fee.symbol)
    state.escrows.remove(escrow)
