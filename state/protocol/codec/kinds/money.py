"""Kinds of symbols, assets, prices and the account creation fee. Source: wire-format.md §1.9, §1.10, §1.18."""

from __future__ import annotations

from struct import Struct as Layout
from typing import Any

from msgspec import Struct

from state.protocol.codec.kinds.base import Codecs, Dump, Kind, Pack, Parse, Unpack
from state.protocol.errors import LexicalCast, Refused, require
from state.protocol.values import asset as assets
from state.protocol.values.asset import Asset, Price
from state.protocol.values.convert import to_object
from state.protocol.values.integers import WORD64
from state.protocol.values.text import read_integer, size

AMOUNT_BYTES = 8
PLAIN_DIGITS_MAX = 18
FIXED_NAIS = {assets.nai_text(symbol): symbol for symbol in assets.LEGACY_SYMBOLS}
EXPECTED_KEY = "Expected key '${key}'."
EXPECTED_TEXT = "Expected a string type for value '${key}'."
EXPECTED_NATURAL = "Expected an unsigned integer type for value '${key}'."


class SymbolKind(Kind):
    """An asset symbol, packed in 8 bytes for the three fixed symbols, in 4 for SMTs."""

    default = assets.COIN

    def packer(self, codecs: Codecs) -> Pack:
        return codecs.symbols.pack

    def unpacker(self, codecs: Codecs) -> Unpack:
        return codecs.symbols.unpack

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return lambda value: {"nai": assets.nai_text(value), "decimals": assets.decimals(value)}

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        return symbol_from_json


def natural(value: Any) -> bool:
    """Whether a JSON value is an integer in the unsigned 64-bit range."""
    return type(value) is int and 0 <= value < WORD64


def symbol_from_json(value: Any) -> int:
    """Parse a symbol from `{"nai": text, "decimals": number}`. A refusal names the invalid member."""
    require(isinstance(value, dict), "Asset symbol is expected to be an object.", condition="var.is_object()")
    require("nai" in value, EXPECTED_KEY, condition="nai != o.end()", key="nai")
    nai = value["nai"]
    require(isinstance(nai, str), EXPECTED_TEXT, condition="nai->value().is_string()", key="nai")
    require("decimals" in value, EXPECTED_KEY, condition="decimals != o.end()", key="decimals")
    precision = value["decimals"]
    require(natural(precision), EXPECTED_NATURAL, condition="decimals->value().is_uint64()", key="decimals")
    require(
        precision <= assets.DECIMALS_MAX,
        "Expected decimals to be less than or equal to ${num}",
        condition="decimals->value().as_uint64() <= COIN_ASSET_MAX_DECIMALS",
        num=assets.DECIMALS_MAX,
    )
    return symbol_from_nai(nai, precision)


def symbol_from_nai(nai: str, precision: int) -> int:
    """Parse a NAI text, whose last digit is a check digit. A NUL ends the text, as in the reference."""
    nai = nai.partition("\0")[0]
    require(
        size(nai) == assets.NAI_TEXT_BYTES,
        "Incorrect NAI string length",
        condition="std::strlen( p ) == COIN_ASSET_SYMBOL_NAI_STRING_LENGTH - 1",
    )
    require(nai.startswith("@@"), "Invalid NAI string prefix", condition="p[0] == '@' && p[1] == '@'")
    digits, check = divmod(lexical_integer(nai[2:], 32, signed=False), 10)
    require(
        assets.NAI_MIN <= digits <= assets.NAI_MAX,
        "NAI out of range",
        condition="(nai_data_digits >= SMT_MIN_NAI) & (nai_data_digits <= SMT_MAX_NAI)",
    )
    require(
        assets.check_digit(digits) == check, "Invalid check digit", condition="nai_check_digit == damm_checksum_8digit(nai_data_digits)"
    )
    return assets.symbol_from_digits(digits, precision)


def lexical_integer(text: str, bits: int, signed: bool) -> int:
    """Parse an integer like boost's lexical_cast: a sign and digits, within the range. A negative number wraps in an unsigned type."""
    number = read_integer(text, bits, signed)
    if number is None:
        raise LexicalCast
    return number


def asset_from_nai(value: Any) -> Asset:
    """Parse an asset from `{"amount": text, "precision": number, "nai": text}`. A refusal names the invalid member."""
    asset = plain_asset(value)
    if asset is not None:
        return asset
    require(isinstance(value, dict), "Asset has to be treated as object.", condition="var.is_object()")
    require("amount" in value, "Amount field doesn't exist.", condition="v_object.contains( ASSET_AMOUNT_KEY )")
    amount = value["amount"]
    require(isinstance(amount, str), EXPECTED_TEXT, condition="v_object[ ASSET_AMOUNT_KEY ].is_string()", key="amount")
    number = lexical_integer(amount, 64, signed=True)
    require(number >= 0, "Asset amount cannot be negative", condition="vo.amount >= 0")
    require("precision" in value, "Precision field doesn't exist.", condition="v_object.contains( ASSET_PRECISION_KEY )")
    precision = value["precision"]
    require(natural(precision), EXPECTED_NATURAL, condition="v_object[ ASSET_PRECISION_KEY ].is_uint64()", key="precision")
    require("nai" in value, "NAI field doesn't exist.", condition="v_object.contains( ASSET_NAI_KEY )")
    nai = value["nai"]
    require(isinstance(nai, str), EXPECTED_TEXT, condition="v_object[ ASSET_NAI_KEY ].is_string()", key="nai")
    return Asset(number, symbol_from_nai(nai, precision % 256))


def plain_asset(value: Any) -> Asset | None:
    """Parse an object that has exactly the form that `asset_nai` writes and one of the fixed symbols. Return None for other objects.

    Nearly all objects have this form. This check is faster than the slow path, which makes all checks and chooses the refusal.
    """
    if type(value) is not dict:
        return None
    amount, nai = value.get("amount"), value.get("nai")
    if type(amount) is not str or type(nai) is not str or len(amount) > PLAIN_DIGITS_MAX or not (amount.isdigit() and amount.isascii()):
        return None
    symbol = FIXED_NAIS.get(nai)
    precision = value.get("precision")
    if symbol is None or type(precision) is not int or precision != symbol & assets.DECIMALS_MASK:
        return None
    return Asset(int(amount), symbol)


def asset_nai(value: Asset) -> dict[str, Any]:
    """Return the NAI form of an asset."""
    symbol = value.symbol
    return {"amount": str(value.amount), "precision": symbol & assets.DECIMALS_MASK, "nai": assets.nai_text(symbol)}


class AssetKind(Kind):
    """An amount with its symbol. In the condenser's dialect it is a text, unless the kind is `nai_only`."""

    default = Asset()

    def __init__(self, nai_only: bool = False) -> None:
        self.nai_only = nai_only

    def packer(self, codecs: Codecs) -> Pack:
        amount, symbol = Layout("<q").pack, codecs.symbols.pack
        return lambda value: amount(value.amount) + symbol(value.symbol)

    def unpacker(self, codecs: Codecs) -> Unpack:
        amount, symbol_at = Layout("<q").unpack_from, codecs.symbols.unpack

        def unpack(data: bytes, i: int) -> tuple[Asset, int]:
            symbol, end = symbol_at(data, i + AMOUNT_BYTES)
            return Asset(amount(data, i)[0], symbol), end

        return unpack

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return codecs.symbols.asset_text if legacy and not self.nai_only else asset_nai

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        return codecs.symbols.asset_from_text if legacy and not self.nai_only else asset_from_nai


class PriceKind(Kind):
    """A price: two assets. The condenser's parser refuses an invalid price, the other parser accepts it."""

    default = Price()

    def packer(self, codecs: Codecs) -> Pack:
        pack = codecs.packer(Asset)
        return lambda value: pack(value.base) + pack(value.quote)

    def unpacker(self, codecs: Codecs) -> Unpack:
        read = codecs.unpacker(Asset)

        def unpack(data: bytes, i: int) -> tuple[Price, int]:
            base, i = read(data, i)
            quote, i = read(data, i)
            return Price(base, quote), i

        return unpack

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        dump = codecs.dumper(Asset, legacy)
        assert dump is not None
        return lambda value: {"base": dump(value.base), "quote": dump(value.quote)}

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        read = codecs.parser(Asset, legacy)

        def parse(value: Any) -> Price:
            given = to_object(value)
            price = Price(*(read(given[key]) if key in given else Asset() for key in ("base", "quote")))
            if legacy:
                price.validate()
            return price

        return parse


class CoinFee(Struct, frozen=True):
    """The account creation fee in chain properties, in COIN. `symbol_bytes` is empty or a historic spelling of the symbol."""

    amount: int = 0
    symbol_bytes: bytes = b""


class CoinFeeKind(Kind):
    """Kind of the account creation fee: the reference's `legacy_coin_asset`.

    Old blocks spell the symbol in other bytes. These are retained, so that packing reproduces them and the transaction id doesn't change.
    """

    def __init__(self, nai_only: bool = False) -> None:
        self.nai_only = nai_only

    def packer(self, codecs: Codecs) -> Pack:
        today, pack = codecs.symbols.packed[assets.COIN], Layout("<q8s").pack
        return lambda value: pack(value.amount, value.symbol_bytes or today)

    def unpacker(self, codecs: Codecs) -> Unpack:
        today, read = codecs.symbols.packed[assets.COIN], Layout("<q8s").unpack_from
        letters = today[1:]
        known = {bytes((n,)) + letters for n in (1, 2, 5)} | {b"\x030.001\0\0", b"\x036.000\0\0"}

        def unpack(data: bytes, i: int) -> tuple[CoinFee, int]:
            amount, symbol = read(data, i)
            if symbol != today and symbol not in known:
                raise Refused("Cannot deserialize legacy symbol ${s}", condition="false", s=int.from_bytes(symbol, "little"))
            return CoinFee(amount, b"" if symbol == today else symbol), i + 16

        return unpack

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        dump = codecs.symbols.asset_text if legacy and not self.nai_only else asset_nai
        return lambda value: dump(Asset(value.amount, assets.COIN))

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        read = codecs.symbols.asset_from_text if legacy and not self.nai_only else asset_from_nai

        def parse(value: Any) -> CoinFee:
            asset = read(value)
            require(asset.symbol == assets.COIN, condition="a.symbol == COIN_SYMBOL")
            return CoinFee(asset.amount)

        return parse
