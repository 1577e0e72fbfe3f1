"""The properties of witness_set_properties, packed values by name: their decoding, checks, and errors for truncated bytes.

Static checks and effect decode the values with the same functions. Sources: operations.md §7.2; wire-format.md §4.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from struct import Struct as Layout
from typing import Any

from msgspec import Struct

from state.operations.checks import require_url
from state.protocol import constants
from state.protocol.codec.kinds import Codecs, Int, unpack_length
from state.protocol.errors import ChainError, cut_short, require
from state.protocol.keys.keys import NULL_KEY
from state.protocol.values.asset import COIN, SBD, Asset, Price
from state.protocol.values.text import decode

KEY = "key"


class WitnessProperties(Struct, frozen=True):
    """The decoded properties that a witness sets; None if not given."""

    account_creation_fee: Asset | None = None
    maximum_block_size: int | None = None
    sbd_interest_rate: int | None = None
    new_signing_key: bytes | None = None
    sbd_exchange_rate: Price | None = None
    url: str | None = None
    account_subsidy_budget: int | None = None
    account_subsidy_decay: int | None = None


def read_properties(props: tuple[tuple[str, bytes], ...], codecs: Codecs) -> WitnessProperties:
    """Decode all properties of an operation that has passed its static checks. Unknown names are ignored."""
    # The reference decodes `key` and `new_signing_key` into one variable. Empty bytes leave it unchanged, so the witness keeps its key.
    given = {name: data for name, data in props if data or name != "new_signing_key"}
    return WitnessProperties(**{name: read(PACKED[name], given[name], codecs) for name, _ in CHECKS if name in given})


def check_properties(props: tuple[tuple[str, bytes], ...], codecs: Codecs) -> None:
    """Decode and check each property, in the reference's order."""
    given = dict(props)
    for name, check in CHECKS:
        if name in given:
            check(read(PACKED[name], given[name], codecs), codecs)


def signing_key(props: tuple[tuple[str, bytes], ...]) -> bytes | None:
    """Return the current signing key that an operation contains, or None if it contains none. Unlike `read_properties`, this needs no
    codecs.
    """
    data = dict(props).get(KEY)
    if not data:
        return data if data is None else NULL_KEY
    with inside(f"error unpacking {PUBLIC_KEY}"):
        return read_key(data, 0)[0]


Read = Callable[[bytes, int, Codecs], tuple[Any, int]]

ASSET = "coin::protocol::asset"
PRICE = "coin::protocol::price"
PUBLIC_KEY = "coin::protocol::public_key_type"
AMOUNT_BYTES = 8
TEXT_BYTES_MAX = 10 * 1024 * 1024


class Packed(Struct, frozen=True):
    """The packed form of a property: the reference's name of its type, and its decoder.

    `empty` is the value of empty bytes. Without `empty`, empty bytes are refused (the reference continues with uninitialised memory).
    """

    type: str
    read: Read
    empty: Any = None


@contextmanager
def inside(where: str) -> Iterator[None]:
    """Add the name of the field being decoded to the context of a refusal. For nested fields, the innermost name comes first."""
    try:
        yield
    except ChainError as error:
        error.context += where
        raise


def take(data: bytes, i: int, size: int) -> bytes:
    """Return the next `size` bytes. Refuse data that ends before them."""
    if len(data) - i < size:
        raise cut_short(len(data), len(data) - i)
    return data[i : i + size]


def number(type_: str, kind: Int) -> Packed:
    """Return how an integer of fixed size is read from bytes. `type_` is the name of its type in error messages."""
    layout = Layout("<" + kind.layout)

    def read_number(data: bytes, i: int, _: Codecs) -> tuple[int, int]:
        with inside(f"error unpacking {type_}"):
            return layout.unpack(take(data, i, layout.size))[0], i + layout.size

    return Packed(type_, read_number)


def read_asset(data: bytes, i: int, codecs: Codecs) -> tuple[Asset, int]:
    """Decode an asset: its amount, then its symbol, which is stored in two halves."""
    with inside(f"error unpacking {ASSET}"):
        with inside("error unpacking int64_tError unpacking field amount"):
            amount = int.from_bytes(take(data, i, AMOUNT_BYTES), "little", signed=True)
        with inside("Error unpacking field symbol"):
            symbol, i = codecs.symbols.unpack(data, i + AMOUNT_BYTES)
    return Asset(amount, symbol), i


def read_price(data: bytes, i: int, codecs: Codecs) -> tuple[Price, int]:
    """Decode the two assets of a price."""
    with inside(f"error unpacking {PRICE}"):
        with inside("Error unpacking field base"):
            base, i = read_asset(data, i, codecs)
        with inside("Error unpacking field quote"):
            quote, i = read_asset(data, i, codecs)
    return Price(base, quote), i


def read_key(data: bytes, i: int, _: Codecs | None = None) -> tuple[bytes, int]:
    """Decode a public key."""
    with inside(f"fc::array<type,length>Error unpacking field key_dataerror unpacking {PUBLIC_KEY}"):
        return take(data, i, len(NULL_KEY)), i + len(NULL_KEY)


def read_text(data: bytes, i: int, _: Codecs) -> tuple[str, int]:
    """Decode a text, which follows its length."""
    try:
        size, i = unpack_length(data, i)
    except IndexError:
        raise cut_short(len(data), 0, method="get") from None
    require(size < TEXT_BYTES_MAX, condition="size.value < MAX_ARRAY_ALLOC_SIZE")
    return decode(take(data, i, size)), i + size


PACKED_KEY = Packed(PUBLIC_KEY, read_key, NULL_KEY)
PACKED = {
    KEY: PACKED_KEY,
    "account_creation_fee": Packed(ASSET, read_asset, Asset()),
    "maximum_block_size": number("uint32_t", Int(32)),
    "sbd_interest_rate": number("uint16_t", Int(16)),
    "new_signing_key": PACKED_KEY,
    "sbd_exchange_rate": Packed(PRICE, read_price, Price()),
    "url": Packed("string", read_text, ""),
    "account_subsidy_budget": number("int32_t", Int(32, signed=True)),
    "account_subsidy_decay": number("uint32_t", Int(32)),
}


def read(packed: Packed, data: bytes, codecs: Codecs) -> Any:
    """Decode a property. Trailing bytes are ignored."""
    if not data and packed.empty is not None:
        return packed.empty
    with inside(f"error unpacking {packed.type}"):
        return packed.read(data, 0, codecs)[0]


def check_fee(fee: Asset, codecs: Codecs) -> None:
    """Refuse an account creation fee that is not in COIN or below the build's minimum."""
    minimum = codecs.spec.constants.COIN_MIN_ACCOUNT_CREATION_FEE
    require(fee.symbol == COIN, "account_creation_fee must be in COIN", condition="account_creation_fee.symbol == COIN_SYMBOL")
    require(
        fee.amount >= minimum,
        "account_creation_fee smaller than minimum account creation fee",
        condition="account_creation_fee.amount >= COIN_MIN_ACCOUNT_CREATION_FEE",
    )


def check_block_size(size: int, _: Codecs) -> None:
    """Refuse a maximum block size, in bytes, that is too small. There is no upper limit here."""
    require(
        size >= constants.COIN_MIN_BLOCK_SIZE_LIMIT,
        "maximum_block_size smaller than minimum max block size",
        condition="maximum_block_size >= COIN_MIN_BLOCK_SIZE_LIMIT",
    )


def check_interest_rate(rate: int, _: Codecs) -> None:
    """Refuse an interest rate on SBD above 100 %, in basis points."""
    require(rate <= constants.COIN_100_PERCENT, "sbd_interest_rate must not exceed 100%", condition="sbd_interest_rate <= COIN_100_PERCENT")


def check_exchange_rate(rate: Price, _: Codecs) -> None:
    """Refuse a price feed unless its base is SBD and its quote is COIN."""
    require(
        rate.base.symbol == SBD and rate.quote.symbol == COIN,
        "Price feed must be a COIN/SBD price",
        condition="( is_asset_type( sbd_exchange_rate.base, SBD_SYMBOL ) && is_asset_type( sbd_exchange_rate.quote, COIN_SYMBOL ) )",
    )
    rate.validate()


def check_budget(budget: int, _: Codecs) -> None:
    """Refuse an out-of-range budget for free accounts. The unit is 1/10000 of an account per block."""
    least, most = constants.COIN_RD_MIN_BUDGET, constants.COIN_RD_MAX_BUDGET
    require(budget >= least, "Budget must be at least ${n}", condition="account_subsidy_budget >= COIN_RD_MIN_BUDGET", n=least)
    require(budget <= most, "Budget must be at most ${n}", condition="account_subsidy_budget <= COIN_RD_MAX_BUDGET", n=most)


def check_decay(decay: int, _: Codecs) -> None:
    """Refuse an out-of-range decay of the pool of free accounts."""
    least, most = constants.COIN_RD_MIN_DECAY, constants.COIN_RD_MAX_DECAY
    require(decay >= least, "Decay must be at least ${n}", condition="account_subsidy_decay >= COIN_RD_MIN_DECAY", n=least)
    require(decay <= most, "Decay must be at most ${n}", condition="account_subsidy_decay <= COIN_RD_MAX_DECAY", n=most)


CHECKS: tuple[tuple[str, Callable[[Any, Codecs], None]], ...] = (
    ("account_creation_fee", check_fee),
    ("maximum_block_size", check_block_size),
    ("sbd_interest_rate", check_interest_rate),
    ("new_signing_key", lambda key, _: None),
    ("sbd_exchange_rate", check_exchange_rate),
    ("url", lambda address, _: require_url(address)),
    ("account_subsidy_budget", check_budget),
    ("account_subsidy_decay", check_decay),
)
