"""Chain properties in operations of witnesses and miners, with their static checks. Source: operations.md §7; wire-format.md §4.1, §4.2."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Struct, field

from state.protocol import constants
from state.protocol.codec.kinds import Codecs, CoinFee, CoinFeeKind, UInt16, UInt32
from state.protocol.errors import require

DEFAULT_BLOCK_SIZE = constants.COIN_MIN_BLOCK_SIZE_LIMIT * 2


class LegacyChainProperties(Struct, frozen=True):
    """The chain properties proposed in older operations of witnesses and miners. The condenser adds two constants to its output."""

    LEGACY_EXTRA: ClassVar[dict[str, int]] = {
        "account_subsidy_budget": constants.COIN_DEFAULT_ACCOUNT_SUBSIDY_BUDGET,
        "account_subsidy_decay": constants.COIN_DEFAULT_ACCOUNT_SUBSIDY_DECAY,
    }

    account_creation_fee: CoinFee = field(default_factory=CoinFee)
    maximum_block_size: UInt32 = DEFAULT_BLOCK_SIZE
    sbd_interest_rate: UInt16 = constants.COIN_DEFAULT_SBD_INTEREST_RATE


class PowChainProperties(Struct, frozen=True):
    """The chain properties in the older kind of proof of work. Even the condenser encodes the fee among them in NAI form."""

    account_creation_fee: Annotated[CoinFee, CoinFeeKind(nai_only=True)] = field(default_factory=CoinFee)
    maximum_block_size: UInt32 = DEFAULT_BLOCK_SIZE
    sbd_interest_rate: UInt16 = constants.COIN_DEFAULT_SBD_INTEREST_RATE


def require_chain_properties(props: LegacyChainProperties | PowChainProperties, codecs: Codecs, *, canonical: bool) -> None:
    """Refuse chain properties that are out of range. With `canonical`, also refuse historic spellings of the fee's symbol."""
    fee = props.account_creation_fee
    minimum = codecs.spec.constants.COIN_MIN_ACCOUNT_CREATION_FEE
    require(not (canonical and fee.symbol_bytes), condition="account_creation_fee.symbol.is_canon()")
    require(fee.amount >= minimum, condition="account_creation_fee.amount >= COIN_MIN_ACCOUNT_CREATION_FEE")
    require(props.maximum_block_size >= constants.COIN_MIN_BLOCK_SIZE_LIMIT, condition="maximum_block_size >= COIN_MIN_BLOCK_SIZE_LIMIT")
    require(props.sbd_interest_rate <= constants.COIN_100_PERCENT, condition="sbd_interest_rate <= COIN_100_PERCENT")
