"""Hypothesis strategies for random values of declared types, derived from the kinds of their fields.

Not every format can represent every value: JSON has no negative assets and no historic symbols, and condenser JSON has no SMTs.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, Literal

from hypothesis import strategies as st

from state.operations.mining import SharedForm
from state.protocol.codec.codecs import ChainCodecs
from state.protocol.codec.fields import kind_of, wire_fields
from state.protocol.codec.kinds import (
    AssetKind,
    Blob,
    Bounded,
    ChainVariant,
    Choice,
    CoinFee,
    CoinFeeKind,
    Flag,
    Hash,
    Int,
    Key,
    Many,
    Maybe,
    Pairs,
    PriceKind,
    Release,
    Seconds,
    String,
    SymbolKind,
    Tagged,
    Variant,
    Wide,
)
from state.protocol.codec.kinds.containers import pair_key, sort_key, sorted_unique
from state.protocol.operation import OperationKind, by_wire_tag
from state.protocol.transaction import HardforkVote, HardforkVoteKind
from state.protocol.values import asset as assets
from state.protocol.values.asset import Asset, Price
from state.protocol.values.text import cut, decode

Form = Literal["bytes", "json", "legacy"]
FORMS: tuple[Form, ...] = ("bytes", "json", "legacy")
MEMBERS_MAX = 4
HISTORIC_SYMBOLS = (b"\x030.001\0\0", b"\x036.000\0\0")


class Values:
    """Hypothesis strategies for the types of a chain. They generate only values that a given format can represent."""

    def __init__(self, codecs: ChainCodecs, form: Form) -> None:
        self.codecs, self.form = codecs, form
        self._made: dict[Any, st.SearchStrategy[Any]] = {}

    def of(self, kind: Any) -> st.SearchStrategy[Any]:
        """Return the cached strategy for a kind or a declared class."""
        if kind not in self._made:
            self._made[kind] = values_of(kind_of(kind), self)
        return self._made[kind]

    def operations(self) -> list[Any]:
        """The operations that the format can represent."""
        return list(by_wire_tag(self.codecs.spec.smt and self.form != "legacy").values())

    def amounts(self, smt: bool) -> st.SearchStrategy[Asset]:
        least = -(2**63) if self.form == "bytes" else 0
        return st.builds(Asset, st.integers(least, 2**63 - 1), symbols(smt))

    def prices(self) -> st.SearchStrategy[Price]:
        if self.form != "legacy":
            return st.builds(Price, self.amounts(smt=True), self.amounts(smt=True))
        pairs = st.permutations(assets.LEGACY_SYMBOLS)
        positive = st.integers(1, 2**63 - 1)
        return st.builds(lambda a, b, pair: Price(Asset(a, pair[0]), Asset(b, pair[1])), positive, positive, pairs)

    def fees(self) -> st.SearchStrategy[CoinFee]:
        if self.form != "bytes":
            return st.integers(0, 2**63 - 1).map(CoinFee)
        letters = self.codecs.symbols.packed[assets.COIN][1:]
        spellings = (b"", *HISTORIC_SYMBOLS, *(bytes((n,)) + letters for n in (1, 2, 5)))
        return st.builds(CoinFee, st.integers(-(2**63), 2**63 - 1), st.sampled_from(spellings))


@singledispatch
def values_of(kind: Any, values: Values) -> st.SearchStrategy[Any]:
    """Return a strategy for a kind or a declared class."""
    raise TypeError(f"no values of {type(kind).__name__} are declared")


@values_of.register
def _declared(kind: type, values: Values) -> st.SearchStrategy[Any]:
    fields = {field.name: values.of(field.kind) for field in wire_fields(kind)}
    return st.fixed_dictionaries(fields).map(lambda given: kind(**given))


@values_of.register
def _many(kind: Many, values: Values) -> st.SearchStrategy[Any]:
    members = st.lists(values.of(kind.element), max_size=MEMBERS_MAX)
    return members.map(lambda found: sorted_unique(found, sort_key)) if kind.ascending else members.map(tuple)


@values_of.register
def _pairs(kind: Pairs, values: Values) -> st.SearchStrategy[Any]:
    entries = st.tuples(values.of(kind.key), values.of(kind.value))
    return st.lists(entries, max_size=MEMBERS_MAX).map(lambda pairs: sorted_unique(pairs, pair_key))


@values_of.register
def _variant(kind: Variant, values: Values) -> st.SearchStrategy[Any]:
    def member(tag: int, of: Any) -> st.SearchStrategy[Any]:
        found = values.of(of)
        return found if isinstance(of, type) else found.map(lambda value: Tagged(tag, value))

    return st.one_of([member(tag, of) for tag, (_, of) in enumerate(kind.members)])


for _of, _make in (
    (Int, lambda kind, _: integers(kind)),
    (Wide, lambda kind, _: st.integers(0, 2**128 - 1)),
    (Flag, lambda kind, _: st.booleans()),
    (Seconds, lambda kind, _: st.integers(0, 2**32 - 1)),
    (Choice, lambda kind, _: st.integers(0, len(kind.names) - 1)),
    (Hash, lambda kind, _: st.binary(min_size=kind.size, max_size=kind.size)),
    (Key, lambda kind, _: st.binary(min_size=33, max_size=33)),
    (Release, lambda kind, _: st.integers(0, 2**32 - 1).map(lambda number: number & kind.mask)),
    (Bounded, lambda kind, _: texts().map(lambda text: cut(text, kind.size))),
    (String, lambda kind, _: texts()),
    (Blob, lambda kind, _: st.binary(max_size=200)),
    (SymbolKind, lambda kind, _: symbols(smt=True)),
    (AssetKind, lambda kind, values: values.amounts(smt=values.form != "legacy" or kind.nai_only)),
    (PriceKind, lambda kind, values: values.prices()),
    (CoinFeeKind, lambda kind, values: values.fees()),
    (Maybe, lambda kind, values: st.none() | values.of(kind.element)),
    (type(HardforkVoteKind), lambda kind, values: values.of(HardforkVote)),
    (SharedForm, lambda kind, values: values.of(kind.element)),
    (ChainVariant, lambda kind, values: values_of(kind.variant(values.codecs), values)),
    (OperationKind, lambda kind, values: st.sampled_from(values.operations()).flatmap(values.of)),
):
    values_of.register(_of, _make)


def integers(kind: Int) -> st.SearchStrategy[int]:
    """A strategy for integers that fit into the kind's number of bits."""
    top = 1 << kind.bits
    return st.integers(-top // 2, top // 2 - 1) if kind.signed else st.integers(0, top - 1)


def texts() -> st.SearchStrategy[str]:
    """A strategy for names, arbitrary characters, arbitrary bytes, and strings whose length prefix needs two bytes."""
    return st.one_of(
        st.text("abz-.019", max_size=17),
        st.text(max_size=40),
        st.binary(max_size=40).map(decode),
        st.integers(120, 300).map(lambda n: "é" * n),
    )


def symbols(smt: bool) -> st.SearchStrategy[int]:
    """A strategy for the fixed symbols and, if `smt`, for the symbols of user tokens."""
    fixed = st.sampled_from(assets.LEGACY_SYMBOLS)
    if not smt:
        return fixed
    return fixed | st.builds(assets.symbol_from_digits, st.integers(4, assets.NAI_MAX), st.integers(0, assets.DECIMALS_MAX))
