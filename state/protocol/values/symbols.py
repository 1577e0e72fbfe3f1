"""How one chain spells the three fixed symbols: in bytes, and in the condenser's text of an asset.

Source: wire-format.md §1.9, §1.10; rpc-api.md §4.1.
"""

from __future__ import annotations

import re
from typing import Any

from state.protocol.errors import OutOfRange, ParseError, require
from state.protocol.values import asset as assets
from state.protocol.values.asset import Asset
from state.protocol.values.convert import to_text
from state.protocol.values.integers import INT64_MAX, INT64_MIN
from state.protocol.values.text import read_integer

SYMBOL_BYTES = 8
SMT_BYTES = 4
WHITE_SPACE = " \t\n\v\f\r"
PLAIN_DIGITS_MAX = 12
FRACTION = re.compile(r"[0-9]*", re.ASCII)
SYMBOL_UNKNOWN = "UNKN"


class Symbols:
    """The letters of a chain's fixed symbols, and their bytes: precision, letters, zeros."""

    def __init__(self, coin: str, debt: str, vests: str) -> None:
        self.letters = {assets.COIN: coin, assets.SBD: debt, assets.VESTS: vests}
        self.packed = {symbol: packed_symbol(symbol, letters) for symbol, letters in self.letters.items()}
        self.by_bytes = {packed: symbol for symbol, packed in self.packed.items()}
        self._by_letters = {letters: symbol for symbol, letters in self.letters.items()}
        self._first_halves = {packed[:SMT_BYTES] for packed in self.by_bytes}

    def pack(self, symbol: int) -> bytes:
        """The bytes of a symbol: 8 for the fixed ones, otherwise 4."""
        return self.packed.get(symbol) or symbol.to_bytes(SMT_BYTES, "little")

    def unpack(self, data: bytes, i: int) -> tuple[int, int]:
        """A symbol of 8 bytes if its first half is one of the chain's, otherwise an SMT's 4."""
        head = data[i : i + SMT_BYTES]
        if len(head) < SMT_BYTES:
            raise OutOfRange("read datastream of length ${n} over by ${m}", n=len(data), m=1 - len(head))
        if head in self._first_halves:
            symbol = self.by_bytes.get(data[i : i + SYMBOL_BYTES])
            require(symbol is not None, condition="raw symbol bytes are known")
            assert symbol is not None
            return symbol, i + SYMBOL_BYTES
        symbol = int.from_bytes(head, "little")
        assets.require_symbol(symbol)
        require(symbol not in assets.LEGACY_SYMBOLS, condition="symbol is in SMT space")
        return symbol, i + SMT_BYTES

    def asset_text(self, asset: Asset) -> str:
        """`1.000 COIN`; a negative amount has its sign in front (rpc-api.md §9.3), an SMT prints as UNKN."""
        places = assets.decimals(asset.symbol)
        digits = str(abs(asset.amount)).rjust(places + 1, "0")
        number = f"{digits[:-places]}.{digits[-places:]}" if places else digits
        sign = "-" if asset.amount < 0 else ""
        return f"{sign}{number} {self.letters.get(asset.symbol, SYMBOL_UNKNOWN)}"

    def asset_from_text(self, value: Any) -> Asset:
        """The condenser's text of an asset; a NAI object is refused, as recorded (rpc-api.md §4.1 would take it).

        As in the reference the sign belongs to the digits in front of the point alone: `-1.500 COIN` is -500.
        """
        plain = self._plain_asset(value) if type(value) is str else None
        if plain is not None:
            return plain
        number, blank, name = to_text(value).strip(WHITE_SPACE).partition(" ")
        require(blank, condition="space_pos != std::string::npos")
        whole, point, fraction = number.partition(".")
        if not point:
            amount_of(whole)  # it is read before the symbol then
        symbol = self._by_letters.get(name.lstrip(" \t"))
        require(symbol is not None, "Cannot parse asset symbol", condition="false")
        assert symbol is not None
        places = assets.decimals(symbol)
        require(len(fraction) == places, "Incorrect decimal places", condition=f"decimals == {places}")
        if not FRACTION.fullmatch(fraction):
            raise unreadable_amount()
        amount = (amount_of(whole) if whole else 0) * 10**places + int(fraction)
        if not INT64_MIN <= amount <= INT64_MAX:
            raise unreadable_amount()
        return Asset(amount, symbol)

    def _plain_asset(self, text: str) -> Asset | None:
        """The asset of a text in just the form that `asset_text` gives, and not negative; nearly all are."""
        number, _, name = text.partition(" ")
        whole, _, fraction = number.partition(".")
        symbol = self._by_letters.get(name)
        if symbol is None or len(fraction) != assets.decimals(symbol) or len(whole) > PLAIN_DIGITS_MAX:
            return None
        return Asset(int(whole + fraction), symbol) if whole.isdigit() and fraction.isdigit() and number.isascii() else None


def packed_symbol(symbol: int, letters: str) -> bytes:
    """The bytes of a fixed symbol."""
    return bytes((assets.decimals(symbol),)) + letters.encode().ljust(SYMBOL_BYTES - 1, b"\0")


def amount_of(text: str) -> int:
    """The digits in front of the point, with their sign."""
    number = read_integer(text, 64, signed=True)
    if number is None:
        raise unreadable_amount()
    return number


def unreadable_amount() -> ParseError:
    """The error of digits that are none, or too many."""
    return ParseError("Couldn't parse int64_t")
