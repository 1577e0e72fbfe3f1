"""The properties of witness_set_properties, packed values by name: how each is read and checked, and its errors when it is cut off.

Static checks and effect read the values through the same functions. Sources: operations.md §7.2; wire-format.md §4.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from state.operations.checks import require_url
from state.protocol.codec.codecs import reading
from state.protocol.codec.kinds import Codecs, Int, Key, String, unpack_length
from state.protocol.constants import (
    COIN_100_PERCENT,
    COIN_MIN_BLOCK_SIZE_LIMIT,
    COIN_RD_MAX_BUDGET,
    COIN_RD_MAX_DECAY,
    COIN_RD_MIN_BUDGET,
    COIN_RD_MIN_DECAY,
)
from state.protocol.errors import OutOfRange, require
from state.protocol.keys.keys import NULL_KEY
from state.protocol.values.asset import COIN, SBD, Asset, Price

KEY = "key"


class WitnessProperties(Struct, frozen=True):
    """The properties that a witness sets, read; None: not given."""

    account_creation_fee: Asset | None = None
    maximum_block_size: int | None = None
    sbd_interest_rate: int | None = None
    new_signing_key: bytes | None = None
    sbd_exchange_rate: Price | None = None
    url: str | None = None
    account_subsidy_budget: int | None = None
    account_subsidy_decay: int | None = None


def read_properties(props: tuple[tuple[str, bytes], ...], codecs: Codecs) -> WitnessProperties:
    """Read all properties of an operation that has passed its checks; unknown names are ignored."""
    # The reference reads `key` and the new one into one variable, and empty bytes leave it alone: the witness keeps its key.
    given = {name: data for name, data in props if data or name != "new_signing_key"}
    return WitnessProperties(**{name: read(PACKED[name], given[name], codecs) for name, _ in CHECKS if name in given})


def check_properties(props: tuple[tuple[str, bytes], ...], codecs: Codecs) -> None:
    """Read and check each property, in the reference's order."""
    given = dict(props)
    for name, check in CHECKS:
        if name in given:
            check(read(PACKED[name], given[name], codecs), codecs)


def signing_key(props: tuple[tuple[str, bytes], ...]) -> bytes | None:
    """Return the current signing key that an operation names, None if it names none; it needs no chain's codecs."""
    data = dict(props).get(KEY)
    if data is None:
        return None
    if data and len(data) < len(NULL_KEY):
        raise too_short(PACKED[KEY], data)
    return data[: len(NULL_KEY)] or NULL_KEY


# ------------------------------------------------------------------ reading


class Packed(Struct, frozen=True):
    """The packed form of a property.

    `parts` are the pieces that the reference reads: the size of each in bytes, and its error when that piece is cut off; a text
    has none, it begins with its length. `empty` is the value of no bytes at all; where there is none they are refused (the
    reference goes on with whatever its memory holds).
    """

    type: str
    kind: Any
    parts: tuple[tuple[int, str], ...] = ()
    empty: Any = None


def number(type_: str, kind: Int) -> Packed:
    """Return the packed form of a number of fixed size."""
    return Packed(type_, kind, ((kind.bits // 8, f"error unpacking {type_}"),))


ASSET = "coin::protocol::asset"
PRICE = "coin::protocol::price"
PUBLIC_KEY = "coin::protocol::public_key_type"
ASSET_PARTS = (
    (8, f"error unpacking int64_tError unpacking field amounterror unpacking {ASSET}"),
    (4, f"error unpacking uint32_tError unpacking field symbolerror unpacking {ASSET}"),
    (4, f"Error unpacking field symbolerror unpacking {ASSET}"),
)
PRICE_PARTS = tuple(
    (size, f"{where}Error unpacking field {side}error unpacking {PRICE}") for side in ("base", "quote") for size, where in ASSET_PARTS
)
KEY_PARTS = ((33, f"fc::array<type,length>Error unpacking field key_dataerror unpacking {PUBLIC_KEY}"),)
PACKED_KEY = Packed(PUBLIC_KEY, Key(), KEY_PARTS, NULL_KEY)

PACKED = {
    KEY: PACKED_KEY,
    "account_creation_fee": Packed(ASSET, Asset, ASSET_PARTS, Asset()),
    "maximum_block_size": number("uint32_t", Int(32)),
    "sbd_interest_rate": number("uint16_t", Int(16)),
    "new_signing_key": PACKED_KEY,
    "sbd_exchange_rate": Packed(PRICE, Price, PRICE_PARTS, Price()),
    "url": Packed("string", String(), (), ""),
    "account_subsidy_budget": number("int32_t", Int(32, signed=True)),
    "account_subsidy_decay": number("uint32_t", Int(32)),
}


def read(packed: Packed, data: bytes, codecs: Codecs) -> Any:
    """Read a property from its bytes; bytes after it are ignored."""
    if not data and packed.empty is not None:
        return packed.empty
    try:
        return reading(codecs.unpacker(packed.kind), data, 0)[0]
    except OutOfRange:
        raise too_short(packed, data) from None


def too_short(packed: Packed, data: bytes) -> OutOfRange:
    """Return the reference's error for a value that ends too early; its numbers count from the piece that can't be read."""
    left, where = len(data), ""
    for size, piece in packed.parts or text_parts(data):
        where = piece
        if left < size:
            break
        left -= size
    error = OutOfRange("read datastream of length ${n} over by ${m}", n=len(data), m=1 - left)
    error.context = f"{where}error unpacking {packed.type}"
    return error


def text_parts(data: bytes) -> Iterator[tuple[int, str]]:
    """Yield the pieces of a packed text: its length, and as many bytes."""
    whole = any(byte < 128 for byte in data[:5]) or len(data) >= 5
    size, start = unpack_length(data, 0) if whole else (0, len(data) + 1)
    yield start, ""
    yield size, ""


# ------------------------------------------------------------------ checks


def check_fee(fee: Asset, codecs: Codecs) -> None:
    """Refuse an account creation fee in another currency than COIN, or below the build's minimum."""
    minimum = codecs.spec.constants.COIN_MIN_ACCOUNT_CREATION_FEE
    require(fee.symbol == COIN, "account_creation_fee must be in COIN", condition="account_creation_fee.symbol == COIN_SYMBOL")
    require(
        fee.amount >= minimum,
        "account_creation_fee smaller than minimum account creation fee",
        condition="account_creation_fee.amount >= COIN_MIN_ACCOUNT_CREATION_FEE",
    )


def check_block_size(size: int, _: Codecs) -> None:
    """Refuse a block size, in bytes, below the minimum; there is no upper limit here, as in the reference."""
    require(
        size >= COIN_MIN_BLOCK_SIZE_LIMIT,
        "maximum_block_size smaller than minimum max block size",
        condition="maximum_block_size >= COIN_MIN_BLOCK_SIZE_LIMIT",
    )


def check_interest_rate(rate: int, _: Codecs) -> None:
    """Refuse an interest on SBD, in basis points, of more than 100 %."""
    require(rate <= COIN_100_PERCENT, "sbd_interest_rate must not exceed 100%", condition="sbd_interest_rate <= COIN_100_PERCENT")


def check_exchange_rate(rate: Price, _: Codecs) -> None:
    """Refuse another price than SBD for COIN, in this direction only."""
    require(
        rate.base.symbol == SBD and rate.quote.symbol == COIN,
        "Price feed must be a COIN/SBD price",
        condition="( is_asset_type( sbd_exchange_rate.base, SBD_SYMBOL ) && is_asset_type( sbd_exchange_rate.quote, COIN_SYMBOL ) )",
    )
    rate.validate()


def check_budget(budget: int, _: Codecs) -> None:
    """Refuse a budget of free accounts, in 1/10000 of one per block, outside of its limits."""
    least, most = COIN_RD_MIN_BUDGET, COIN_RD_MAX_BUDGET
    require(budget >= least, "Budget must be at least ${n}", condition="account_subsidy_budget >= COIN_RD_MIN_BUDGET", n=least)
    require(budget <= most, "Budget must be at most ${n}", condition="account_subsidy_budget <= COIN_RD_MAX_BUDGET", n=most)


def check_decay(decay: int, _: Codecs) -> None:
    """Refuse a decay of unclaimed free accounts outside of its limits."""
    least, most = COIN_RD_MIN_DECAY, COIN_RD_MAX_DECAY
    require(decay >= least, "Decay must be at least ${n}", condition="account_subsidy_decay >= COIN_RD_MIN_DECAY", n=least)
    require(decay <= most, "Decay must be at most ${n}", condition="account_subsidy_decay <= COIN_RD_MAX_DECAY", n=most)


def check_key(key: bytes, _: Codecs) -> None:
    """Accept any key that can be read."""
    assert len(key) == len(NULL_KEY)


def check_url(address: str, _: Codecs) -> None:
    """Refuse an empty or long address of a witness, or one that is not UTF-8."""
    require_url(address)


CHECKS: tuple[tuple[str, Callable[[Any, Codecs], None]], ...] = (
    ("account_creation_fee", check_fee),
    ("maximum_block_size", check_block_size),
    ("sbd_interest_rate", check_interest_rate),
    ("new_signing_key", check_key),
    ("sbd_exchange_rate", check_exchange_rate),
    ("url", check_url),
    ("account_subsidy_budget", check_budget),
    ("account_subsidy_decay", check_decay),
)
