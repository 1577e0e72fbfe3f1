"""Assets, symbols, NAI texts and prices. Integer arithmetic has the reference's rounding and overflow.

Symbols are the reference's 32-bit `asset_num`, the same on every chain; symbols.py contains a chain's spellings.
Source: wire-format.md §1.9, §1.10; operations.md §2.2.
"""

from functools import lru_cache

from msgspec import Struct

from state.protocol.errors import Refused, require
from state.protocol.values.integers import INT64_MAX, WORD64

SBD = 3200000003
COIN = 3200000035
VESTS = 3200000070
LEGACY_SYMBOLS = (SBD, COIN, VESTS)

SBD_UNIT = 1000
"""One SBD in its smallest unit."""

NAI_MIN, NAI_MAX = 1, 99_999_999
NAI_TEXT_BYTES = 11
DECIMALS_MAX = 12
IN_SMT_SPACE = (
    "(nai_data_digits >= SMT_MIN_NAI) & (nai_data_digits <= SMT_MAX_NAI) & (nai_1bit == SMT_ASSET_NUM_CONTROL_MASK) & "
    "(nai_decimal_places <= COIN_ASSET_MAX_DECIMALS)"
)
NAI_SHIFT, DECIMALS_MASK, CONTROL_BIT, VESTING_BIT = 5, 0x0F, 0x10, 0x20
_LEGACY_OFFSET = 99_999_999
_DAMM_ROWS = """
    0317598642 7092154863 4206871359 1750983426 6123045978
    3674209581 5869720134 8945362017 9438617205 2581436790
"""
_DAMM = tuple(tuple(map(int, row)) for row in _DAMM_ROWS.split())


class Asset(Struct, frozen=True):
    """An amount in the smallest unit of a symbol, for values on the wire. Most rows store plain integers instead."""

    amount: int = 0
    symbol: int = COIN

    def __str__(self) -> str:
        return f'{{"amount":"{self.amount}","precision":{decimals(self.symbol)},"nai":"{nai_text(self.symbol)}"}}'


class Price(Struct, frozen=True):
    """An exchange rate: `base` is worth `quote`. A price of 0 COIN / 0 COIN means that no price is set."""

    base: Asset = Asset()
    quote: Asset = Asset()

    @property
    def is_null(self) -> bool:
        """Whether no price has been set."""
        return self == NULL_PRICE

    def validate(self) -> None:
        """Refuse a price unless both amounts are positive and the symbols differ."""
        require(self.base.amount > 0, condition="base.amount > share_type(0)")
        require(self.quote.amount > 0, condition="quote.amount > share_type(0)")
        require(self.base.symbol != self.quote.symbol, condition="base.symbol != quote.symbol")


NULL_PRICE = Price()


def is_smt(symbol: int) -> bool:
    """Whether a symbol is an SMT, that is, not one of the three fixed symbols."""
    return symbol not in LEGACY_SYMBOLS


def is_vesting(symbol: int) -> bool:
    """Whether a symbol is VESTS or the vesting shares of an SMT."""
    return symbol == VESTS or (is_smt(symbol) and symbol & VESTING_BIT != 0)


def decimals(symbol: int) -> int:
    """Return the number of digits after the point."""
    return symbol & DECIMALS_MASK


def nai_digits(symbol: int) -> int:
    """Return the 8 data digits of a symbol's NAI, without the check digit."""
    digits = symbol >> NAI_SHIFT
    return digits - _LEGACY_OFFSET if symbol in LEGACY_SYMBOLS else digits


def paired(symbol: int) -> int:
    """Return the vesting variant of a liquid symbol, or the liquid variant of a vesting symbol. SBD is paired with itself."""
    if symbol == COIN:
        return VESTS
    if symbol == VESTS:
        return COIN
    return symbol if symbol == SBD else symbol ^ VESTING_BIT


def check_digit(digits: int) -> int:
    """Return the Damm check digit of 8 data digits."""
    state = 0
    for digit in f"{digits:08d}":
        state = _DAMM[state][int(digit)]
    return state


@lru_cache(maxsize=4096)
def nai_text(symbol: int) -> str:
    """Return the NAI of a symbol: `@@`, 8 data digits and the check digit."""
    digits = nai_digits(symbol)
    return f"@@{digits:08d}{check_digit(digits)}"


def symbol_from_digits(digits: int, precision: int) -> int:
    """Return the symbol with these NAI data digits. If the symbol is one of the three fixed ones, refuse a wrong precision."""
    if digits <= 3:
        symbol = LEGACY_SYMBOLS[digits - 1]
        name = ("SBD", "COIN", "VESTS")[digits - 1]
        require(decimals(symbol) == precision, condition=f"decimal_places == COIN_PRECISION_{name}")
        return symbol
    require(precision <= DECIMALS_MAX, "Invalid decimal_places", condition="decimal_places <= COIN_ASSET_MAX_DECIMALS")
    return digits << NAI_SHIFT | CONTROL_BIT | precision


def require_symbol(symbol: int) -> None:
    """Refuse a symbol that is neither fixed nor a possible SMT: the reference's `asset_symbol_type::validate`."""
    if symbol in LEGACY_SYMBOLS:
        return
    in_range = NAI_MIN <= symbol >> NAI_SHIFT <= NAI_MAX and symbol & CONTROL_BIT and decimals(symbol) <= DECIMALS_MAX
    require(in_range, "Cannot determine space for asset ${n}", condition=IN_SMT_SPACE, n=symbol)


def ratio(amount: int, numerator: int, denominator: int) -> int:
    """Return ⌊amount·numerator/denominator⌋ like the reference, which computes it in 128 bits.

    Negative results, results from 2^64 on, and a denominator of 0 are refused. As in the reference, a result from 2^63 to 2^64 becomes
    negative.
    """
    if denominator <= 0:
        raise Refused("", condition="divisor > 0")
    result = amount * numerator // denominator
    if 0 <= result <= INT64_MAX:
        return result
    require(0 <= result < WORD64, condition="result.hi == 0")
    return result - WORD64


def convert(asset: Asset, price: Price) -> Asset:
    """Convert an asset to the other symbol of a price, rounded down."""
    if asset.symbol == price.base.symbol:
        return Asset(ratio(asset.amount, price.quote.amount, price.base.amount), price.quote.symbol)
    if asset.symbol == price.quote.symbol:
        return Asset(ratio(asset.amount, price.base.amount, price.quote.amount), price.base.symbol)
    raise Refused("invalid asset * price", asset=asset, price=price)


def price_key(price: Price) -> tuple[int, int, int]:
    """Return the sort key of a price: its symbols, then base/quote with 128 fractional bits, enough to distinguish any two ratios."""
    base, quote = price.base, price.quote
    ratio_key = (base.amount << 128) // quote.amount if quote.amount else 0
    return base.symbol, quote.symbol, ratio_key
