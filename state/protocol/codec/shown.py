"""Kinds of fields that are only shown: how the replies of RPC methods write what rows hold as plain numbers, and where a
field is found when it isn't an attribute of its own name. They have no binary form and are never read from JSON.

Source: rpc-api.md §0, §1.10, §2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from state.protocol.codec.kinds import Dump, Kind, Maybe
from state.protocol.values import asset as assets
from state.protocol.values.convert import json_int

if TYPE_CHECKING:
    from state.protocol.codec.codecs import Codecs


class Amount(Kind):
    """An amount in the smallest unit of one of the three fixed symbols: the condenser's text, or the NAI object."""

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
    """An integer: text if it doesn't fit into 32 bits, or `always`."""

    default = 0

    def __init__(self, always: bool = False) -> None:
        self.always = always

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return str if self.always else json_int


class Real(Kind):
    """A real number, as text with 17 digits behind the point."""

    default = 0

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return lambda value: f"{value:.17f}"


class At(Kind):
    """A field that is read at a path of attributes of what is shown; at an empty path it is made of the whole value.

    `kind` may be an annotation that has one.
    """

    def __init__(self, path: str, kind: Any) -> None:
        self.path = path
        self.kind = next((mark for mark in getattr(kind, "__metadata__", ()) if isinstance(mark, Kind)), kind)

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return codecs.dumper(self.kind, legacy)


class MaybeAt(Maybe):
    """An optional field that is read at a path of attributes of what is shown."""

    def __init__(self, path: str, kind: Any) -> None:
        super().__init__(At(path, kind).kind)
        self.path = path


class Always(Kind):
    """A field that is always the same."""

    def __init__(self, value: int | str | list[Any]) -> None:
        self.value = value


Big = Annotated[int, Whole()]
BigText = Annotated[int, Whole(always=True)]
RealNumber = Annotated[float, Real()]
CoinAmount = Annotated[int, Amount(assets.COIN)]
DebtAmount = Annotated[int, Amount(assets.SBD)]
VestsAmount = Annotated[int, Amount(assets.VESTS)]
