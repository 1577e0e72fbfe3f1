"""JSON schemas (draft 7) of arguments and results, generated from the same declarations as the codecs.

Records and named types are components, to which other schemas refer. A type whose two JSON forms differ has two components. The component
for the condenser's form has a name that begins with `Condenser`. For an operation, it has the operation's name in condenser_api.
"""

import inspect
from collections.abc import Callable
from functools import singledispatch
from typing import Any, get_args, get_origin, get_type_hints

from msgspec import Struct

from rpc.declare.record_encoder import blank, record_codecs
from rpc.declare.record_fields import Amount, ConstantField, FieldPath, Real, Whole
from rpc.describe.shape import Anything, Declared, ListShape, MapShape, Members, Names, Nullable, Number, OneOf, Shape, TupleShape
from state.protocol.codec import kinds
from state.protocol.codec.fields import kind_of, shown_fields
from state.protocol.operation import SMT_TAGS, Operation, OperationKind, by_wire_tag
from state.protocol.transaction import SignedTransaction, Wire

Schema = dict[str, Any]

CONDENSER = "Condenser"
# Suffix of record classes, to distinguish them from row classes. It is removed from the names in schemas.
RECORD = "Record"
COMPONENTS = "#/components/schemas/"


class Schemas:
    """Builds schemas for one chain, and collects the components to which they refer."""

    def __init__(self, wire: Wire) -> None:
        self.codecs = record_codecs(wire.spec)
        self.spell = wire.spec.spell
        self._made: dict[str, tuple[Any, Schema]] = {}
        self._references: dict[tuple[Any, bool], Schema] = {}

    @property
    def components(self) -> dict[str, Schema]:
        """The components collected so far, keyed by name."""
        return {name: schema for name, (_, schema) in sorted(self._made.items())}

    def of(self, shape: Shape, legacy: bool) -> Schema:
        """Return the schema of a shape in one of the two JSON forms."""
        match shape:
            case Declared(of=of):
                return self.declared(of, legacy)
            case ListShape(element=element):
                return array(self.of(element, legacy))
            case TupleShape(elements=elements):
                return row(*[self.of(element, legacy) for element in elements])
            case MapShape(element=element):
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
        """Return the schema of a declared class or a kind."""
        return schema_of(kind_of(of), self, legacy)

    # -------------------------------------------------------------- components

    def component(self, name: str, of: Any, schema: Schema) -> Schema:
        """Add a component, and return a reference to it."""
        known = self._made.setdefault(name, (of, schema))
        assert known[0] is of or known[1] == schema, f"{of} and {known[0]} are both called {name}"
        return {"$ref": COMPONENTS + name}

    def form(self, names: tuple[str, str], of: Any, legacy: bool, make: Callable[[bool], Schema]) -> Schema:
        """Return a reference to the component with the first of `names`. A differing condenser form gets the second name."""
        if (of, legacy) not in self._references:
            appbase = make(False)
            schema = make(True) if legacy else appbase
            self._references[of, legacy] = self.component(names[schema != appbase], of, schema)
        return self._references[of, legacy]

    def record(self, cls: Any, legacy: bool) -> Schema:
        """Return the schema of a declared class: an object with its fields."""
        fields = shown_fields(cls, legacy)
        properties = {self.spell(field.json): self.declared(field.kind, legacy) for field in fields}
        optional = {self.spell(field.json) for field in fields if isinstance(field.kind, kinds.Maybe)}
        for name, hint in get_type_hints(cls).items():
            # The transactions of a block have no kind, since Wire encodes them with separate functions.
            if get_origin(hint) is tuple and get_args(hint)[0] is SignedTransaction:
                properties[name] = array(self.declared(SignedTransaction, legacy))
        return described(cls, record(properties, optional))

    def operations(self, legacy: bool) -> Schema:
        """Return the schema that accepts any of the chain's operations. Each operation is a component."""
        classes = by_wire_tag(self.codecs.spec.smt).values()
        return one_of(*[self._operation(cls, legacy) for cls in classes]) | {"description": "An operation of the chain."}

    def _operation(self, cls: type[Operation], legacy: bool) -> Schema:
        name, full = self.spell(cls.NAME), self.spell(f"{cls.NAME}_operation")
        value = self.form((full, name), cls, legacy and cls.TAG not in SMT_TAGS, lambda form: self.record(cls, form))
        if legacy:
            return row({"const": name}, value)
        return record({"type": {"const": full}, "value": value})

    def asset_text(self) -> Schema:
        """Return the schema of an amount as a string, which is the condenser's form."""
        letters = sorted(self.codecs.symbols.letters.values())
        return text(f"An amount with its symbol ({', '.join(letters)}).", rf"^-?\d+\.\d+ ({'|'.join(letters)})$")

    def price(self, legacy: bool) -> Schema:
        """Return the schema of a price."""
        amount = self.declared(kinds.AssetKind(), legacy)
        return record({"base": amount, "quote": amount}) | {"description": "What `quote` costs, in `base`."}


# ------------------------------------------------------------------ kinds


@singledispatch
def schema_of(kind: object, schemas: Schemas, legacy: bool) -> Schema:
    """Return the schema of a kind or a declared class in one of the two JSON forms."""
    raise TypeError(f"{type(kind).__name__} is not a kind of field")


schema_of.register(kinds.Kind, lambda kind, schemas, legacy: alike(blank(kind, schemas.codecs, legacy)))


@schema_of.register
def _declared(kind: type, schemas: Schemas, legacy: bool) -> Schema:
    name = kind.__name__.removesuffix(RECORD)
    return schemas.form((name, CONDENSER + name), kind, legacy, lambda form: schemas.record(kind, form))


@schema_of.register
def _int(kind: kinds.Int, schemas: Schemas, legacy: bool) -> Schema:
    if kind.bits == 64:
        return schemas.component("Integer", kinds.Int, INTEGER)
    low, high = (-(1 << kind.bits - 1), (1 << kind.bits - 1) - 1) if kind.signed else (0, (1 << kind.bits) - 1)
    return {"type": "integer", "minimum": low, "maximum": high}


schema_of.register(kinds.Wide, lambda kind, schemas, legacy: schemas.component("IntegerText", kinds.Wide, INTEGER_TEXT))
schema_of.register(Whole, lambda kind, schemas, legacy: schema_of(kinds.Wide() if kind.always else kinds.Int(64), schemas, legacy))
schema_of.register(Real, lambda kind, schemas, legacy: text("a real number as text", r"^-?\d+\.\d{17}$"))
schema_of.register(kinds.Flag, lambda kind, schemas, legacy: {"type": "boolean"})
schema_of.register(kinds.Choice, lambda kind, schemas, legacy: {"type": "string", "enum": list(kind.names)})
schema_of.register(kinds.Hash, lambda kind, schemas, legacy: text(f"{2 * kind.size} hex digits", f"^[0-9a-f]{{{2 * kind.size}}}$"))
schema_of.register(kinds.Blob, lambda kind, schemas, legacy: text("bytes as hex digits", "^([0-9a-f]{2})*$"))
schema_of.register(kinds.Release, lambda kind, schemas, legacy: text("a version like 0.23.1", r"^\d+\.\d+\.\d+$"))
schema_of.register(kinds.String, lambda kind, schemas, legacy: {"type": "string"})


@schema_of.register
def _bounded(kind: kinds.Bounded, schemas: Schemas, legacy: bool) -> Schema:
    if kind.size == NAME["maxLength"]:
        return schemas.component("AccountName", kinds.Bounded, NAME)
    return {"type": "string", "maxLength": kind.size}


schema_of.register(kinds.Seconds, lambda kind, schemas, legacy: schemas.component("Time", kinds.Seconds, TIME))


@schema_of.register
def _key(kind: kinds.Key, schemas: Schemas, legacy: bool) -> Schema:
    pattern = f"^{schemas.codecs.spec.key_prefix}[1-9A-HJ-NP-Za-km-z]+$"
    return schemas.component("PublicKey", kinds.Key, text("A public key: prefix and base58.", pattern))


@schema_of.register(kinds.AssetKind)
@schema_of.register(kinds.CoinFeeKind)
@schema_of.register(Amount)
def _amount(kind: kinds.Kind, schemas: Schemas, legacy: bool) -> Schema:
    is_text = isinstance(blank(kind, schemas.codecs, legacy), str)
    return schemas.component(CONDENSER * is_text + "Asset", is_text, schemas.asset_text() if is_text else ASSET)


schema_of.register(
    kinds.PriceKind, lambda kind, schemas, legacy: schemas.form(("Price", CONDENSER + "Price"), kinds.PriceKind, legacy, schemas.price)
)
schema_of.register(kinds.SymbolKind, lambda kind, schemas, legacy: schemas.component("Symbol", kinds.SymbolKind, SYMBOL))
schema_of.register(
    OperationKind,
    lambda kind, schemas, legacy: schemas.form(("Operation", CONDENSER + "Operation"), OperationKind, legacy, schemas.operations),
)
schema_of.register(ConstantField, lambda kind, schemas, legacy: {"const": kind.value})
schema_of.register(FieldPath, lambda kind, schemas, legacy: schemas.declared(kind.kind, legacy))
schema_of.register(kinds.Maybe, lambda kind, schemas, legacy: schemas.declared(kind.element, legacy))
schema_of.register(kinds.Many, lambda kind, schemas, legacy: array(schemas.declared(kind.element, legacy)))
schema_of.register(
    kinds.Pairs, lambda kind, schemas, legacy: array(row(schemas.declared(kind.key, legacy), schemas.declared(kind.value, legacy)))
)


@schema_of.register
def _variant(kind: kinds.Variant, schemas: Schemas, legacy: bool) -> Schema:
    pairs = legacy and kind.legacy_pairs
    values = [(schemas.spell(name), schemas.declared(inner, pairs)) for name, inner in kind.members]
    if pairs:
        return one_of(*[row({"const": tag}, value) for tag, (_, value) in enumerate(values)])
    return one_of(*[record({"type": {"const": name}, "value": value}) for name, value in values])


schema_of.register(kinds.ChainVariant, lambda kind, schemas, legacy: schema_of(kind.variant(schemas.codecs), schemas, legacy))


def reachable(of: Any, components: dict[str, Schema]) -> dict[str, Schema]:
    """Return the components to which a value refers, directly or through other components."""
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
    """Return the schema of an array of any size."""
    return {"type": "array", "items": items}


def row(*items: Schema) -> Schema:
    """Return the schema of an array with exactly these elements."""
    return {"type": "array", "items": list(items), "minItems": len(items), "maxItems": len(items)}


def record(properties: dict[str, Schema], optional: Any = ()) -> Schema:
    """Return the schema of an object with these members. The `optional` members may be missing."""
    return {"type": "object", "properties": properties, "required": [name for name in properties if name not in optional]}


def one_of(*schemas: Schema) -> Schema:
    """Return a schema that accepts every value that one of these schemas accepts."""
    return schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}


def text(description: str, pattern: str) -> Schema:
    """Return the schema of a string that matches a pattern."""
    return {"type": "string", "description": description, "pattern": pattern}


def described(cls: type[Struct], schema: Schema) -> Schema:
    """Add the docstring of a class to a schema as its description."""
    return {"description": inspect.getdoc(cls) or "", **schema}


def alike(value: Any) -> Schema:
    """Return a schema for the JSON type of a value, which must not be null. The schema of a tuple declares the type of each element."""
    if isinstance(value, tuple):
        return row(*map(alike, value))
    return {"type": {bool: "boolean", int: "integer", float: "number", str: "string", dict: "object"}[type(value)]}


NAME = {"type": "string", "description": 'The name of an account; "" for none.', "maxLength": 16}
TIME: Schema = text("A point in time, UTC, in seconds.", r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$")
INTEGER = {"type": ["integer", "string"], "description": "An integer; a decimal text above 4294967295.", "pattern": r"^-?\d+$"}
INTEGER_TEXT: Schema = text("An integer, always as a decimal text.", r"^-?\d+$")
ASSET = record(
    {"amount": text("In the smallest unit.", r"^-?\d+$"), "precision": {"type": "integer"}, "nai": text("The symbol.", r"^@@\d{9}$")}
)
ASSET["description"] = "An amount: its smallest units, the number of decimals, and its symbol by number."
SYMBOL: Schema = record({"nai": text("The symbol.", r"^@@\d{9}$"), "decimals": {"type": "integer"}}) | {
    "description": "A symbol by number."
}
