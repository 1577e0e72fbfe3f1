"""A chain's spelling of the three fixed symbols, in bytes and in the condenser's asset texts.

Source: wire-format.md §1.9, §1.10; rpc-api.md §4.1.
"""

from __future__ import annotations

from string import ascii_uppercase
from typing import Any

from state.protocol.errors import NotCanonical, ParseError, cut_short, existing, require
from state.protocol.values import asset as assets
from state.protocol.values.asset import Asset
from state.protocol.values.convert import to_text
from state.protocol.values.integers import INT64_MAX
from state.protocol.values.text import read_integer, size

SYMBOL_BYTES = 8
SMT_BYTES = 4
WHITE_SPACE = " \t\n\v\f\r"
INNER_WHITE_SPACE = " \t\n\r"
PLAIN_DIGITS_MAX = 12
LETTERS_MAX = 8
CANNOT_PARSE = "Cannot parse asset symbol"
SYMBOL_UNKNOWN = "UNKN"
SYMBOL_NAMES = {assets.COIN: "COIN", assets.SBD: "SBD", assets.VESTS: "VESTS"}
"""The names of the fixed symbols in the reference's constants, independent of a chain's letters."""


class Symbols:
    """The names of a chain's fixed symbols, and their bytes (precision, letters, zeros)."""

    def __init__(self, coin: str, debt: str, vests: str, *, canonical: bool = False) -> None:
        self._canonical = canonical
        self.letters = {assets.COIN: coin, assets.SBD: debt, assets.VESTS: vests}
        self.packed = {
            symbol: bytes((assets.decimals(symbol),)) + letters.encode().ljust(SYMBOL_BYTES - 1, b"\0")
            for symbol, letters in self.letters.items()
        }
        self.by_bytes = {packed: symbol for symbol, packed in self.packed.items()}
        self._by_letters = {letters: symbol for symbol, letters in self.letters.items()}
        self._first_halves = {self.packed[symbol][:SMT_BYTES]: name for symbol, name in SYMBOL_NAMES.items()}

    def pack(self, symbol: int) -> bytes:
        """Encode a symbol: in 8 bytes for the three fixed symbols, otherwise in 4."""
        return self.packed.get(symbol) or symbol.to_bytes(SMT_BYTES, "little")

    def unpack(self, data: bytes, i: int) -> tuple[int, int]:
        """Decode a symbol: 8 bytes if their first half belongs to a fixed symbol, else a 4-byte number.

        The symbol of an SMT has 4 bytes. The reference also accepts the number of a fixed symbol in 4 bytes, but always packs it in 8
        bytes.
        """
        head, whole = data[i : i + SMT_BYTES], data[i : i + SYMBOL_BYTES]
        if len(head) < SMT_BYTES:
            raise cut_short(len(data), len(head))
        if head in self._first_halves:
            if len(whole) < SYMBOL_BYTES:
                raise cut_short(len(data), len(whole) - SMT_BYTES)
            require(whole in self.by_bytes, "invalid asset bits", condition=f"ser == {self._first_halves[head]}_SYMBOL_SER")
            return self.by_bytes[whole], i + SYMBOL_BYTES
        symbol = int.from_bytes(head, "little")
        assets.require_symbol(symbol)
        if self._canonical and symbol in assets.LEGACY_SYMBOLS:
            raise NotCanonical
        return symbol, i + SMT_BYTES

    def asset_text(self, asset: Asset) -> str:
        """Format an asset, for example as `1.000 COIN`. A negative amount has a leading sign (rpc-api.md §9.3). The symbol of an SMT is
        UNKN.
        """
        places = assets.decimals(asset.symbol)
        digits = str(abs(asset.amount)).rjust(places + 1, "0")
        number = f"{digits[:-places]}.{digits[-places:]}" if places else digits
        sign = "-" if asset.amount < 0 else ""
        return f"{sign}{number} {self.letters.get(asset.symbol, SYMBOL_UNKNOWN)}"

    def asset_from_text(self, value: Any) -> Asset:
        """Parse the condenser's text of an asset. A NAI object is refused, as recordings of the reference show.

        As in the reference the sign applies only to the digits before the point: `-1.500 COIN` is -500.
        """
        plain = self._plain_asset(value) if type(value) is str else None
        if plain is not None:
            return plain
        text = to_text(value).strip(WHITE_SPACE)
        number, blank, name = text.partition(" ")
        require(blank, condition="space_pos != std::string::npos")
        whole, point, fraction = number.partition(".")
        require(point or "." not in text, condition="space_pos > dot_pos")
        if not point:
            amount_of(whole)  # Without a point, the amount is checked before the symbol.
        symbol = self._symbol_of(name, size(fraction) & 0xFF)
        places = assets.decimals(symbol)
        amount = amount_of(whole + places * "0") + amount_of("1" + fraction) - 10**places
        if amount > INT64_MAX:
            raise unreadable_amount()
        return Asset(amount, symbol)

    def _symbol_of(self, text: str, places_given: int) -> int:
        """Parse the symbol of an amount that has `places_given` decimals. A NUL ends the text."""
        text = text.lstrip(INNER_WHITE_SPACE)
        rest = text.lstrip(ascii_uppercase)
        letters = text[: len(text) - len(rest)]
        require(len(letters) <= LETTERS_MAX, CANNOT_PARSE, condition="shift < 64")
        symbol = existing(self._by_letters.get(letters), CANNOT_PARSE, condition="false")
        places = assets.decimals(symbol)
        require(places_given == places, "Incorrect decimal places", condition=f"decimals == {places}")
        require(rest.lstrip(INNER_WHITE_SPACE)[:1] in ("", "\0"), CANNOT_PARSE, condition="false")
        return symbol

    def _plain_asset(self, text: str) -> Asset | None:
        """Parse a non-negative amount that has exactly the form of `asset_text`, as nearly all amounts do. Return None for other texts."""
        number, _, name = text.partition(" ")
        whole, _, fraction = number.partition(".")
        symbol = self._by_letters.get(name)
        if symbol is None or len(fraction) != assets.decimals(symbol) or len(whole) > PLAIN_DIGITS_MAX:
            return None
        return Asset(int(whole + fraction), symbol) if whole.isdigit() and fraction.isdigit() and number.isascii() else None


def amount_of(text: str) -> int:
    """Parse an amount that consists of digits with an optional sign. Raises ParseError."""
    number = read_integer(text, 64, signed=True)
    if number is None:
        raise unreadable_amount()
    return number


def unreadable_amount() -> ParseError:
    """Return the reference's error for an amount that is invalid or too large."""
    return ParseError("Couldn't parse int64_t")
