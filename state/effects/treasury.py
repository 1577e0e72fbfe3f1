"""Rules for the treasury that pays proposals, which accepts only SBD. Source: operations.md §5.1, §6.1."""

from state.protocol.errors import require
from state.protocol.values.asset import SBD, Asset
from state.tables import State


def is_closed_treasury(state: State, name: str) -> bool:
    """Whether an account is the treasury and its rules apply. Before hardfork 21 they apply only to pushed transactions."""
    return name == state.spec.treasury and (state.hardfork >= 21 or state.is_pushing)


def require_sbd_for_treasury(state: State, to: str, amount: Asset) -> None:
    """Refuse a transfer to the treasury that is not SBD."""
    if is_closed_treasury(state, to):
        require(amount.symbol == SBD, "Can only transfer SBD to ${s}", condition="is_asset_type( amount, SBD_SYMBOL )", s=to)
