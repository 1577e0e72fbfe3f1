"""Kinds of fields that only records have: other encodings of numbers, and attribute paths to values in rows.

They have no binary form and can't be parsed from JSON. `record_encoder.py` encodes them. Source: rpc-api.md §0, §1.10, §2.
"""

from __future__ import annotations

from typing import Annotated, Any

from state.protocol.codec.kinds import Codecs, Dump, Kind, Maybe
from state.protocol.values import asset as assets
from state.protocol.values.convert import json_int


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


class Whole(Kind):
    """An integer. It is encoded as text if it doesn't fit into 32 bits or if `always` is set. Otherwise it is encoded as a number.

    The reference does this because JavaScript loses digits of larger numbers.
    """

    default = 0

    def __init__(self, always: bool = False) -> None:
        self.always = always

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return str if self.always else json_int


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


class OptionalFieldPath(Maybe):
    """A field that is read from an attribute path. If its value is None, it is omitted."""

    def __init__(self, path: str, kind: Any) -> None:
        super().__init__(FieldPath(path, kind).kind)
        self.path = path


class ConstantField(Kind):
    """A field with a constant value, for a member that the reference still returns although it no longer stores a value."""

    def __init__(self, value: int | str | list[Any]) -> None:
        self.value = value


Big = Annotated[int, Whole()]
BigText = Annotated[int, Whole(always=True)]
RealNumber = Annotated[float, Real()]
CoinAmount = Annotated[int, Amount(assets.COIN)]
DebtAmount = Annotated[int, Amount(assets.SBD)]
VestsAmount = Annotated[int, Amount(assets.VESTS)]
