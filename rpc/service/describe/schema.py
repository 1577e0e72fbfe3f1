"""JSON schemas (draft 7) of arguments and results, made from the same declarations as the codec. Nothing here knows methods.

Records and types with a meaning of their own are components, which others refer to. A type that differs between the two forms is there
twice, that of the condenser with `Condenser` in front (operations: under the name that they have there).
"""

import inspect
from collections.abc import Callable
from typing import Any, get_args, get_origin, get_type_hints

from msgspec import Struct

from rpc.service.describe.shape import Anything, Declared, Listed, Mapped, Members, Names, Nullable, Number, OneOf, Row, Shape
from rpc.service.show import blank, record_codecs
from rpc.service.shown import Always, Amount, At, Real, Whole
from state.protocol.codec.fields import BUILT_IN, shown_fields
from state.protocol.codec.kinds import (
    AssetKind,
    Blob,
    Bounded,
    ChainVariant,
    Choice,
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
    Variant,
    Wide,
)
from state.protocol.operation import SMT_TAGS, Operation, OperationKind, by_wire_tag
from state.protocol.transaction import SignedTransaction, Wire

Schema = dict[str, Any]

CONDENSER = "Condenser"
# Classes of records end in this to differ from those of rows; clients see the name without it.
RECORD = "Record"
COMPONENTS = "#/components/schemas/"


class Schemas:
    """Makes the schemas of one chain and collects the components that they refer to."""

    def __init__(self, wire: Wire) -> None:
        self.codecs = record_codecs(wire.spec)
        self.spell = wire.spec.spell
        self._made: dict[str, tuple[Any, Schema]] = {}
        self._references: dict[tuple[Any, bool], Schema] = {}

    @property
    def components(self) -> dict[str, Schema]:
        """Every component met so far, by name."""
        return {name: schema for name, (_, schema) in sorted(self._made.items())}

    def of(self, shape: Shape, legacy: bool) -> Schema:
        """The schema of a shape, in one of the two forms."""
        match shape:
            case Declared(of=of):
                return self.declared(of, legacy)
            case Listed(element=element):
                return array(self.of(element, legacy))
            case Row(elements=elements):
                return row(*[self.of(element, legacy) for element in elements])
            case Mapped(element=element):
                return {"type": "object", "additionalProperties": self.of(element, legacy)}
            case Members(fields=fields, optional=optional):
                return record({self.spell(name): self.of(member, legacy) for name, member in fields.items()}, optional)
            case Nullable(of=of):
                return one_of(self.of(of, legacy), {"type": "null"})
            case OneOf(of=several):
                return one_of(*[self.of(each, legacy) for each in several])
            case Names(names=names):
                return {"type": "string", "enum": list(names)}
            case Number():
                return {"type": "number"}
            case Anything():
                return {}

    def declared(self, of: Any, legacy: bool) -> Schema:
        """The schema of a declared class or a kind."""
        of = BUILT_IN.get(of, of) if isinstance(of, type) else of
        if isinstance(of, type):
            name = of.__name__.removesuffix(RECORD)
            return self._form((name, CONDENSER + name), of, legacy, lambda form: self._record(of, form))
        return self._named(of, legacy) or self._plain(of) or self._holding(of, legacy)

    # -------------------------------------------------------------- components

    def _component(self, name: str, of: Any, schema: Schema) -> Schema:
        known = self._made.setdefault(name, (of, schema))
        assert known[0] is of or known[1] == schema, f"{of} and {known[0]} are both called {name}"
        return {"$ref": COMPONENTS + name}

    def _form(self, names: tuple[str, str], of: Any, legacy: bool, make: Callable[[bool], Schema]) -> Schema:
        """A component that may look different in the condenser, where it then has the other name."""
        if (of, legacy) not in self._references:
            appbase = make(False)
            schema = make(True) if legacy else appbase
            self._references[of, legacy] = self._component(names[schema != appbase], of, schema)
        return self._references[of, legacy]

    def _record(self, cls: Any, legacy: bool) -> Schema:
        fields = shown_fields(cls, legacy)
        properties = {self.spell(field.json): self.declared(field.kind, legacy) for field in fields}
        optional = {self.spell(field.json) for field in fields if isinstance(field.kind, Maybe)}
        for name, hint in get_type_hints(cls).items():
            # Blocks hold transactions, for which Wire has functions of its own: this field carries no kind.
            if get_origin(hint) is tuple and get_args(hint)[0] is SignedTransaction:
                properties[name] = array(self.declared(SignedTransaction, legacy))
        return described(cls, record(properties, optional))

    def _operations(self, legacy: bool) -> Schema:
        """Every operation that the chain has, each a component of its own."""
        classes = by_wire_tag(self.codecs.spec.smt).values()
        return one_of(*[self._operation(cls, legacy) for cls in classes]) | {"description": "An operation of the chain."}

    def _operation(self, cls: type[Operation], legacy: bool) -> Schema:
        name, full = self.spell(cls.NAME), self.spell(f"{cls.NAME}_operation")
        value = self._form((full, name), cls, legacy and cls.TAG not in SMT_TAGS, lambda form: self._record(cls, form))
        if legacy:
            return row({"const": name}, value)
        return record({"type": {"const": full}, "value": value})

    # -------------------------------------------------------------- kinds

    def _plain(self, kind: Any) -> Schema | None:
        """Return the schema of a kind that is a JSON type with limits."""
        match kind:
            case Int(bits=bits, signed=signed):
                low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
                return {"type": "integer", "minimum": low, "maximum": high}
            case Flag():
                return {"type": "boolean"}
            case Choice(names=names):
                return {"type": "string", "enum": list(names)}
            case Hash(size=size):
                return text(f"{2 * size} hex digits", f"^[0-9a-f]{{{2 * size}}}$")
            case Blob():
                return text("bytes as hex digits", "^([0-9a-f]{2})*$")
            case Release():
                return text("a version like 0.23.1", r"^\d+\.\d+\.\d+$")
            case Bounded(size=size):
                return {"type": "string", "maxLength": size}
            case String():
                return {"type": "string"}
            case Real():
                return text("a real number as text", r"^-?\d+\.\d{17}$")
            case Always(value=value):
                return {"const": value}
        return None

    def _named(self, kind: Any, legacy: bool) -> Schema | None:
        """Return a reference to the component of a kind that is one."""
        match kind:
            case Bounded(size=16):
                return self._component("AccountName", Bounded, NAME)
            case Seconds():
                return self._component("Time", Seconds, TIME)
            case Key():
                pattern = f"^{self.codecs.spec.key_prefix}[1-9A-HJ-NP-Za-km-z]+$"
                return self._component("PublicKey", Key, text("A public key: prefix and base58.", pattern))
            case Whole(always=True) | Wide():
                return self._component("IntegerText", Wide, INTEGER_TEXT)
            case Int(bits=64) | Whole():
                return self._component("Integer", Int, INTEGER)
            case AssetKind() | CoinFeeKind() | Amount():
                is_text = isinstance(blank(kind, self.codecs, legacy), str)
                return self._component(CONDENSER * is_text + "Asset", is_text, self._asset_text() if is_text else ASSET)
            case PriceKind():
                return self._form(("Price", CONDENSER + "Price"), PriceKind, legacy, self._price)
            case SymbolKind():
                return self._component("Symbol", SymbolKind, SYMBOL)
            case OperationKind():
                return self._form(("Operation", CONDENSER + "Operation"), OperationKind, legacy, self._operations)
        return None

    def _holding(self, kind: Any, legacy: bool) -> Schema:
        """Kinds that hold others; of any further one, what its default value looks like."""
        match kind:
            case At(kind=inner) | Maybe(element=inner):
                return self.declared(inner, legacy)
            case Many(element=element):
                return array(self.declared(element, legacy))
            case Pairs(key=key, value=value):
                return array(row(self.declared(key, legacy), self.declared(value, legacy)))
            case Variant():
                return self._variant(kind, legacy and kind.legacy_pairs)
            case ChainVariant():
                return self._holding(kind.variant(self.codecs), legacy)
        return alike(blank(kind, self.codecs, legacy))

    def _variant(self, kind: Variant, pairs: bool) -> Schema:
        values = [(self.spell(name), self.declared(inner, pairs)) for name, inner in kind.members]
        if pairs:
            return one_of(*[row({"const": tag}, value) for tag, (_, value) in enumerate(values)])
        return one_of(*[record({"type": {"const": name}, "value": value}) for name, value in values])

    def _asset_text(self) -> Schema:
        letters = sorted(self.codecs.symbols.letters.values())
        return text(f"An amount with its symbol ({', '.join(letters)}).", rf"^-?\d+\.\d+ ({'|'.join(letters)})$")

    def _price(self, legacy: bool) -> Schema:
        amount = self.declared(AssetKind(), legacy)
        return record({"base": amount, "quote": amount}) | {"description": "What `quote` costs, in `base`."}


def reachable(of: Any, components: dict[str, Schema]) -> dict[str, Schema]:
    """Return the components that a value refers to, directly or through others."""
    found: dict[str, Schema] = {}
    waiting = [of]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            name = str(value.get("$ref", "")).removeprefix(COMPONENTS)
            if name and name not in found:
                found[name] = components[name]
                waiting.append(components[name])
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return dict(sorted(found.items()))


# ------------------------------------------------------------------ parts of schemas


def array(items: Schema) -> Schema:
    """An array of any size."""
    return {"type": "array", "items": items}


def row(*items: Schema) -> Schema:
    """An array with these members."""
    return {"type": "array", "items": list(items), "minItems": len(items), "maxItems": len(items)}


def record(properties: dict[str, Schema], optional: Any = ()) -> Schema:
    """An object with these members, of which some may be left out."""
    return {"type": "object", "properties": properties, "required": [name for name in properties if name not in optional]}


def one_of(*schemas: Schema) -> Schema:
    """Whatever one of these takes."""
    return schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}


def text(description: str, pattern: str) -> Schema:
    """A text of some form."""
    return {"type": "string", "description": description, "pattern": pattern}


def described(cls: type[Struct], schema: Schema) -> Schema:
    """Return a schema with the docstring of a class as its description."""
    return {"description": inspect.getdoc(cls) or "", **schema}


def alike(value: Any) -> Schema:
    """The JSON type of a value, which is not null; that of a tuple is an array with the types of its members."""
    if isinstance(value, tuple):
        return row(*map(alike, value))
    return {"type": {bool: "boolean", int: "integer", float: "number", str: "string", dict: "object"}[type(value)]}


NAME = {"type": "string", "description": 'The name of an account; "" for none.', "maxLength": 16}
TIME = text("A point of time, UTC, in seconds.", r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$")
INTEGER = {"type": ["integer", "string"], "description": "An integer; a decimal text above 4294967295.", "pattern": r"^-?\d+$"}
INTEGER_TEXT = text("An integer, always as a decimal text.", r"^-?\d+$")
ASSET = record(
    {"amount": text("In the smallest unit.", r"^-?\d+$"), "precision": {"type": "integer"}, "nai": text("The symbol.", r"^@@\d{9}$")}
)
ASSET["description"] = "An amount: its smallest units, the number of decimals, and its symbol by number."
SYMBOL = record({"nai": text("The symbol.", r"^@@\d{9}$"), "decimals": {"type": "integer"}}) | {"description": "A symbol by number."}
