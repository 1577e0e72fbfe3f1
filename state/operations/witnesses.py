"""Witnesses: what they publish and propose, and who votes for them.

Declarations and what can be refused without state. Sources: operations.md §7; wire-format.md §4.1, §4.2, §4.5.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Struct, field

from state.operations.checks import require_account_name, require_chain_properties, require_optional_account_name, require_url
from state.operations.witness_properties import KEY, WitnessProperties, check_properties, read_properties, signing_key
from state.protocol.asset import COIN, SBD, Asset, Price
from state.protocol.authority import Authority, key_authority
from state.protocol.codec import Codecs
from state.protocol.constants import (
    COIN_DEFAULT_ACCOUNT_SUBSIDY_BUDGET,
    COIN_DEFAULT_ACCOUNT_SUBSIDY_DECAY,
    COIN_DEFAULT_SBD_INTEREST_RATE,
    COIN_MIN_BLOCK_SIZE_LIMIT,
    COIN_NULL_ACCOUNT,
)
from state.protocol.errors import require
from state.protocol.kinds import AccountName, Blob, Bool, CoinFee, CoinFeeKind, Extensions, Pairs, PublicKey, String, Text, UInt16, UInt32
from state.protocol.operation import Needed, Operation, operation

NO_KEY = bytes(33)
DEFAULT_BLOCK_SIZE = COIN_MIN_BLOCK_SIZE_LIMIT * 2
NOBODY = Authority(1, ((COIN_NULL_ACCOUNT, 1),), ())  # never satisfied


class LegacyChainProperties(Struct, frozen=True):
    """What a witness proposes for the chain in the older operations; the condenser adds two constants on output."""

    LEGACY_EXTRA: ClassVar[dict[str, int]] = {
        "account_subsidy_budget": COIN_DEFAULT_ACCOUNT_SUBSIDY_BUDGET,
        "account_subsidy_decay": COIN_DEFAULT_ACCOUNT_SUBSIDY_DECAY,
    }

    account_creation_fee: CoinFee = field(default_factory=CoinFee)
    maximum_block_size: UInt32 = DEFAULT_BLOCK_SIZE
    sbd_interest_rate: UInt16 = COIN_DEFAULT_SBD_INTEREST_RATE


class PowChainProperties(Struct, frozen=True):
    """The same inside the first kind of proof of work, where the condenser keeps the fee's NAI form."""

    account_creation_fee: Annotated[CoinFee, CoinFeeKind(nai_only=True)] = field(default_factory=CoinFee)
    maximum_block_size: UInt32 = DEFAULT_BLOCK_SIZE
    sbd_interest_rate: UInt16 = COIN_DEFAULT_SBD_INTEREST_RATE


@operation(11, active="owner")
class WitnessUpdate(Operation, frozen=True):
    """Become a witness, or change what one has published."""

    owner: AccountName = ""
    url: Text = ""
    block_signing_key: PublicKey = NO_KEY
    props: LegacyChainProperties = field(default_factory=LegacyChainProperties)
    fee: Asset = Asset()

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.owner)
        require_url(self.url)
        require(self.fee.symbol == COIN, condition="a.symbol == b.symbol")
        require(self.fee.amount >= 0, "Fee cannot be negative", condition="fee >= asset( 0, COIN_SYMBOL )")
        require_chain_properties(self.props, codecs, canonical=False)


@operation(42, impacted=("owner",))
class WitnessSetProperties(Operation, frozen=True):
    """Change what a witness has published, property by property, signed with its signing key."""

    owner: AccountName = ""
    props: Annotated[tuple[tuple[str, bytes], ...], Pairs(String(), Blob())] = ()
    extensions: Extensions = ()

    def authorities(self, needed: Needed) -> None:
        key = signing_key(self.props)
        needed.other.append(NOBODY if key is None else key_authority(key))

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.owner)
        require(any(name == KEY for name, _ in self.props), "No signing key provided", condition='props.find( "key" ) != props.end()')
        check_properties(self.props, codecs)

    def properties(self, codecs: Codecs) -> WitnessProperties:
        """The values that `validate` has checked."""
        return read_properties(self.props, codecs)


@operation(7, active="publisher", impacted=("publisher",))
class FeedPublish(Operation, frozen=True):
    """Publish a price of COIN in SBD."""

    publisher: AccountName = ""
    exchange_rate: Price = Price()

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.publisher)
        base, quote = self.exchange_rate.base.symbol, self.exchange_rate.quote.symbol
        require(
            {base, quote} == {COIN, SBD},
            "Price feed must be a COIN/SBD price",
            condition="( is_asset_type( exchange_rate.base, COIN_SYMBOL ) && is_asset_type( exchange_rate.quote, SBD_SYMBOL ) ) "
            "|| ( is_asset_type( exchange_rate.base, SBD_SYMBOL ) && is_asset_type( exchange_rate.quote, COIN_SYMBOL ) )",
        )
        self.exchange_rate.validate()


@operation(12, active="account", impacted=("account", "witness"))
class AccountWitnessVote(Operation, frozen=True):
    """Vote for a witness, or take the vote back."""

    account: AccountName = ""
    witness: AccountName = ""
    approve: Bool = True

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.account)
        require_account_name(self.witness)


@operation(13, active="account", impacted=("account", "proxy"))
class AccountWitnessProxy(Operation, frozen=True):
    """Let another account vote for witnesses in one's place; nobody ends that."""

    account: AccountName = ""
    proxy: AccountName = ""

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.account)
        require_optional_account_name(self.proxy)
        require(self.proxy != self.account, "Cannot proxy to self", condition="proxy != account")
