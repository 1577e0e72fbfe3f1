"""Kinds of fields that only records have: other encodings of numbers, and attribute paths to values in rows.

They have no binary form. `record_encoder.py` encodes them. The kinds of numbers are also parsed, from the replies of other nodes
(node/fork/rows.py). Source: rpc-api.md §0, §1.10, §2.
"""

from __future__ import annotations

from typing import Annotated, Any

from state.protocol.codec.kinds import Codecs, Dump, Kind, Maybe, Parse
from state.protocol.codec.kinds.money import plain_asset, symbol_from_nai
from state.protocol.errors import ParseError, require
from state.protocol.values import asset as assets
from state.protocol.values.asset import Asset
from state.protocol.values.convert import JSON_NUMBER_MAX, json_int
from state.protocol.values.integers import INT64_MIN, UINT128_MAX

NUMBER_CHARACTERS_MAX = 40


class Amount(Kind):
    """An amount of COIN, SBD or VESTS, in the smallest unit. It is encoded as the condenser's string, or as an object with the NAI."""

    default = 0

    def __init__(self, symbol: int) -> None:
        self.symbol = symbol

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        symbol = self.symbol
        places, nai = assets.decimals(symbol), assets.nai_text(symbol)
        letters, unit = codecs.symbols.letters[symbol], 10**places

        def text(value: int) -> str:
            if value < 0:
                return "-" + text(-value)
            return f"{value // unit}.{value % unit:0{places}} {letters}"

        return text if legacy else lambda value: {"amount": str(value), "precision": places, "nai": nai}

    def dump_source(self, codecs: Codecs, legacy: bool) -> str:
        places = assets.decimals(self.symbol)
        if not legacy:
            return f"{{'amount': str($value), 'precision': {places}, 'nai': {assets.nai_text(self.symbol)!r}}}"
        letters, unit = codecs.symbols.letters[self.symbol], 10**places
        return f"(f'{{x // {unit}}}.{{x % {unit}:0{places}}} {letters}' if (x := $value) >= 0 else $dump(x))"

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        symbol, from_text = self.symbol, codecs.symbols.asset_from_text

        def parse(value: Any) -> int:
            asset = shown_asset(value, from_text)
            require(asset.symbol == symbol, "the amount has another symbol")
            return asset.amount

        return parse


class Whole(Kind):
    """An integer. It is encoded as text if it doesn't fit into 32 bits or if `always` is set. Otherwise it is encoded as a number.

    The reference does this because JavaScript loses digits of larger numbers.
    """

    default = 0

    def __init__(self, always: bool = False) -> None:
        self.always = always

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return str if self.always else json_int

    def dump_source(self, codecs: Codecs, legacy: bool) -> str:
        return "" if self.always else f"(x if (x := $value) <= {JSON_NUMBER_MAX} else str(x))"

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        return whole_number


class Real(Kind):
    """A real number, encoded as text with 17 digits after the decimal point."""

    default = 0

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return lambda value: f"{value:.17f}"


class FieldPath(Kind):
    """A field that is read from an attribute path, for example `FieldPath("comment.row.author", AccountName)`.

    An empty path means the complete object, for a nested record that is read from the same row. `kind` is a kind, a declared class, or an
    annotation that contains a kind.
    """

    def __init__(self, path: str, kind: Any) -> None:
        self.path = path
        self.kind = next((mark for mark in getattr(kind, "__metadata__", ()) if isinstance(mark, Kind)), kind)

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return codecs.dumper(self.kind, legacy)

    def dump_source(self, codecs: Codecs, legacy: bool) -> str:
        return self.kind.dump_source(codecs, legacy) if isinstance(self.kind, Kind) else ""


class OptionalFieldPath(Maybe):
    """A field that is read from an attribute path. If its value is None, it is omitted."""

    def __init__(self, path: str, kind: Any) -> None:
        super().__init__(FieldPath(path, kind).kind)
        self.path = path


class ConstantField(Kind):
    """A field with a constant value, for a member that the reference still returns although it no longer stores a value."""

    def __init__(self, value: int | str | list[Any]) -> None:
        self.value = value


def whole_number(value: Any) -> int:
    """Parse an integer that is encoded as a number or as text, from -2^63 to 2^128-1. Raises ParseError."""
    if type(value) is str and len(value) <= NUMBER_CHARACTERS_MAX and value.isascii() and value.removeprefix("-").isdigit():
        value = int(value)
    if type(value) is not int or not INT64_MIN <= value <= UINT128_MAX:
        raise ParseError("it is not an integer, or it is out of range")
    return value


def shown_asset(value: Any, from_text: Parse) -> Asset:
    """Parse an amount in any of its JSON forms: the condenser's text, an object with the NAI, or a list of its three members.

    `from_text` parses the text. Unlike in requests, amounts can be negative, with the sign that the dumpers write. Raises ChainError.
    """
    plain = plain_asset(value)
    if plain is not None:
        return plain
    if type(value) is str:
        asset: Asset = from_text(value.removeprefix("-"))
        return Asset(-asset.amount, asset.symbol) if value.startswith("-") else asset
    members = (
        value if type(value) is dict else dict(zip(("amount", "precision", "nai"), value, strict=False)) if type(value) is list else {}
    )
    nai, places = members.get("nai"), members.get("precision")
    if type(nai) is not str or type(places) is not int or not 0 <= places <= assets.DECIMALS_MAX:
        raise ParseError("it is not an amount")
    return Asset(whole_number(members.get("amount")), symbol_from_nai(nai, places))


Big = Annotated[int, Whole()]
BigText = Annotated[int, Whole(always=True)]
RealNumber = Annotated[float, Real()]
CoinAmount = Annotated[int, Amount(assets.COIN)]
DebtAmount = Annotated[int, Amount(assets.SBD)]
VestsAmount = Annotated[int, Amount(assets.VESTS)]
