"""Columns of declared types: the columns of each field with their Arrow types, and functions that fill them.

They are derived from the kinds of the fields. The functions are generated once per type and chain, with a list comprehension for each
column.

| kind of a field | columns |
|---|---|
| text, account name | string; bytes that aren't UTF-8 become U+FFFD, as in JSON |
| integer | int32 up to 16 bits or signed with 32, int64 up to 32 bits or signed with 64, decimal(20, 0) unsigned with 64; text with 128 |
| bool | bool |
| time | timestamp in milliseconds, UTC |
| asset | `amount` int64 in the smallest unit, and `amount_symbol`: the name of a symbol of the chain, the NAI of a user token |
| price | `rate_base`, `rate_base_symbol`, `rate_quote`, `rate_quote_symbol` |
| symbol, key, hash, bytes, version, enumeration | string: letters or NAI, text with the chain's prefix, hex, hex, `0.23.0`, name |
| list, set | list; of assets: of structs with amount and symbol |
| map | map |
| declared type, for example an authority | struct |
| one of several types, for example extensions | string: JSON in the API's form |
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, singledispatch
from typing import Any

import pyarrow as pa
from msgspec import Struct

from rpc.declare.record_encoder import record_codecs
from rpc.declare.record_fields import Amount, ConstantField, FieldPath, Whole
from rpc.json.encoding import encoded, scrubbed
from state.operations.content import CommentOptions, CommentPayoutBeneficiaries
from state.protocol.codec import kinds
from state.protocol.codec.code_generator import compile_function
from state.protocol.codec.fields import kind_of, wire_fields
from state.protocol.operation import Operation, by_wire_tag
from state.protocol.spec import ChainSpec
from state.protocol.values.asset import COIN, nai_text

TEXT, INT32, INT64, BOOL = pa.string(), pa.int32(), pa.int64(), pa.bool_()
UINT64 = pa.decimal128(20, 0)
TIME = pa.timestamp("ms", "UTC")
MILLISECONDS = 1000

AS_IT_IS = "{0}"
AMOUNT, AMOUNT_SYMBOL = "{0}.amount", "symbol({0}.symbol)"


class ColumnPart(Struct, frozen=True):
    """A column for a field: the suffix of its name, its type, and the expression of its value, in which `{0}` is replaced by the field's
    value.
    """

    suffix: str
    type: Any
    value: str = AS_IT_IS
    is_nested: bool = False


class Record(kinds.Kind):
    """Kind of a field whose value is an object. Each field of the object is given by its name, an attribute path and a kind."""

    def __init__(self, *fields: tuple[str, str, Any]) -> None:
        self.fields = fields

    def dumper(self, codecs: kinds.Codecs, legacy: bool) -> kinds.Dump | None:
        dumps = [
            (codecs.spec.spell(name), attribute, codecs.dumper(kind, legacy) or kinds.as_it_is) for name, attribute, kind in self.fields
        ]
        return lambda value: {name: dump(getattr(value, attribute)) for name, attribute, dump in dumps}


class JsonColumn(kinds.Kind):
    """Kind of a field that only JSON can represent. A function encodes its values."""

    def __init__(self, shown: Callable[[Any], Any]) -> None:
        self.shown = shown

    def dumper(self, codecs: kinds.Codecs, legacy: bool) -> kinds.Dump | None:
        return self.shown


class Columns(Struct, frozen=True):
    """Columns by name and type (an Arrow schema), and the function that converts objects to one list of values for each column."""

    schema: Any
    lists: Callable[[Sequence[Any]], list[list[Any]]]

    def arrays(self, values: Sequence[Any]) -> list[Any]:
        """Return the columns of these objects as Arrow arrays."""
        return [array_of(column, field) for column, field in zip(self.lists(values), self.schema, strict=True)]


class ArrowSchemas:
    """The columns of all declared types of a chain.

    With `is_flat`, lists, maps and structs become JSON text in the API's form, for file formats without nested values.
    """

    def __init__(self, spec: ChainSpec, *, is_flat: bool = False) -> None:
        self.codecs, self.is_flat = record_codecs(spec), is_flat
        self._names: dict[str, Any] = {"symbol": cache(self.symbol_text), "coin": self.symbol_text(COIN)}
        self._made: dict[type, Columns] = {}

    def symbol_text(self, symbol: int) -> str:
        """Return the name of a symbol of the chain, or the NAI of a user token."""
        return self.codecs.symbols.letters.get(symbol) or nai_text(symbol)

    def of(self, cls: type) -> Columns:
        """Return the columns of a declared type."""
        if cls not in self._made:
            fields = [(self.codecs.spec.spell(field.json), f"v.{field.name}", field.kind) for field in wire_fields(cls)]
            if cls is CommentOptions:
                fields.append(("beneficiaries", f"{self.bound(beneficiaries)}(v.extensions)", BENEFICIARIES))
            self._made[cls] = self.columns(fields)
        return self._made[cls]

    def columns(self, fields: Iterable[tuple[str, str, Any]]) -> Columns:
        """Return the columns of fields. Each field is given by its name, its kind, and the expression that reads it from an object `v`."""
        lines, lists, schema = [], [], []
        for number, (title, expression, kind) in enumerate(fields):
            parts = self.parts(kind)
            if len(parts) == 1 and parts[0].value == AS_IT_IS:
                lists.append(f"[{expression} for v in values]")
            else:
                lines.append(f"f{number} = [{expression} for v in values]")
                lists += [f"[{part.value.format('x')} for x in f{number}]" for part in parts]
            schema += [pa.field(f"{title}{part.suffix}", part.type) for part in parts]
        lines.append(f"return [{', '.join(lists)}]")
        return Columns(pa.schema(schema), compile_function("lists", ["values"], lines, dict(self._names)))

    def parts(self, kind: Any) -> list[ColumnPart]:
        """Return the columns of a kind of field. A kind that no Arrow type can represent becomes a JSON column."""
        kind = kind_of(kind)
        found = parts_of(kind, self)
        if found is None or (self.is_flat and any(part.is_nested for part in found)):
            dump = self.codecs.dumper(kind) or kinds.as_it_is
            return [ColumnPart("", TEXT, f"{self.bound(lambda value: encoded(dump(value)).decode())}({{0}})")]
        return found

    def member(self, kind: Any) -> tuple[Any, str]:
        """Return the Arrow type and the value expression for an element of a list or a map. An asset becomes a struct of amount
        and symbol.
        """
        parts = self.parts(kind)
        if len(parts) == 1:
            return parts[0].type, parts[0].value
        fields = [pa.field(part.suffix[1:] or "amount", part.type) for part in parts]
        return pa.struct(fields), f"({', '.join(part.value for part in parts)})"

    def struct(self, members: Iterable[tuple[str, str, Any]]) -> ColumnPart:
        """Return the column of a struct, whose values are tuples. Each member is given by its name, attribute and kind."""
        fields, values = [], []
        for name, attribute, kind in members:
            for part in self.parts(kind):
                fields.append(pa.field(f"{self.codecs.spec.spell(name)}{part.suffix}", part.type))
                values.append(inner(part, attribute))
        return ColumnPart("", pa.struct(fields), f"({', '.join(values)},)", is_nested=True)

    def bound(self, value: Any) -> str:
        """Bind an object to a name in the generated code. Return the name."""
        name = f"o{len(self._names)}"
        self._names[name] = value
        return name


@singledispatch
def parts_of(kind: object, schemas: ArrowSchemas) -> list[ColumnPart] | None:
    """Return the columns of a kind or a declared class, or None if only JSON can represent its values."""
    # Some kinds only change the condenser's form of another one.
    element = getattr(kind, "element", None)
    return None if element is None else parts_of(kind_of(element), schemas)


parts_of.register(type, lambda kind, schemas: [schemas.struct(members(kind))])
parts_of.register(Record, lambda kind, schemas: [schemas.struct(kind.fields)])
parts_of.register(kinds.Maybe, lambda kind, schemas: [optional(part) for part in schemas.parts(kind.element)])
parts_of.register(kinds.AssetKind, lambda kind, schemas: [ColumnPart("", INT64, AMOUNT), ColumnPart("_symbol", TEXT, AMOUNT_SYMBOL)])
parts_of.register(kinds.CoinFeeKind, lambda kind, schemas: [ColumnPart("", INT64, AMOUNT), ColumnPart("_symbol", TEXT, "coin")])
parts_of.register(
    Amount, lambda kind, schemas: [ColumnPart("", INT64), ColumnPart("_symbol", TEXT, repr(schemas.symbol_text(kind.symbol)))]
)


@parts_of.register
def _price(kind: kinds.PriceKind, schemas: ArrowSchemas) -> list[ColumnPart]:
    sides = [("base", schemas.parts(kinds.AssetKind())), ("quote", schemas.parts(kinds.AssetKind()))]
    return [ColumnPart(f"_{side}{part.suffix}", part.type, inner(part, side)) for side, parts in sides for part in parts]


parts_of.register(kinds.Int, lambda kind, schemas: [ColumnPart("", int_type(kind.bits, kind.signed))])
parts_of.register(Whole, lambda kind, schemas: [ColumnPart("", INT64)])
parts_of.register(kinds.String, lambda kind, schemas: [ColumnPart("", TEXT)])
parts_of.register(kinds.Flag, lambda kind, schemas: [ColumnPart("", BOOL)])
parts_of.register(kinds.Seconds, lambda kind, schemas: [ColumnPart("", TIME, f"{{0}} * {MILLISECONDS}")])
parts_of.register(kinds.Hash, lambda kind, schemas: [ColumnPart("", TEXT, "{0}.hex()")])
parts_of.register(kinds.Blob, lambda kind, schemas: [ColumnPart("", TEXT, "{0}.hex()")])
parts_of.register(kinds.SymbolKind, lambda kind, schemas: [ColumnPart("", TEXT, "symbol({0})")])


@parts_of.register(kinds.Key)
@parts_of.register(kinds.Release)
@parts_of.register(kinds.Choice)
@parts_of.register(kinds.Wide)
def _text(kind: kinds.Kind, schemas: ArrowSchemas) -> list[ColumnPart]:
    return [ColumnPart("", TEXT, f"{schemas.bound(schemas.codecs.dumper(kind))}({{0}})")]


@parts_of.register
def _many(kind: kinds.Many, schemas: ArrowSchemas) -> list[ColumnPart] | None:
    """Return the columns of a list field, or None if only JSON can represent the list's elements."""
    if parts_of(kind_of(kind.element), schemas) is None:
        return None
    of, value = schemas.member(kind.element)
    return [ColumnPart("", pa.list_(of), value if value == AS_IT_IS else f"[{value.format('e')} for e in {{0}}]", is_nested=True)]


@parts_of.register
def _pairs(kind: kinds.Pairs, schemas: ArrowSchemas) -> list[ColumnPart]:
    (key_type, key), (value_type, value) = schemas.member(kind.key), schemas.member(kind.value)
    is_plain = key == value == AS_IT_IS
    pairs = AS_IT_IS if is_plain else f"[({key.format('k')}, {value.format('e')}) for k, e in {{0}}]"
    return [ColumnPart("", pa.map_(key_type, value_type), pairs, is_nested=True)]


BENEFICIARIES = next(field.kind for field in wire_fields(CommentPayoutBeneficiaries))


def beneficiaries(extensions: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the beneficiaries of a comment's reward, which are in one of the extensions of a comment_options operation."""
    return next((each.beneficiaries for each in extensions if type(each) is CommentPayoutBeneficiaries), ())


def members(cls: type) -> list[tuple[str, str, Any]]:
    """Return the fields of a declared type, each as its name in JSON, its attribute path and its kind."""
    found = []
    for field in wire_fields(cls):
        attribute, kind = field.name, field.kind
        if isinstance(kind, FieldPath):
            attribute, kind = kind.path, kind.kind
        if not isinstance(kind, ConstantField):
            found.append((field.json, attribute, kind))
    return found


def inner(part: ColumnPart, attribute: str) -> str:
    """Return a column's expression for an attribute of an object, or for the object itself if `attribute` is empty."""
    return part.value.format(f"{{0}}.{attribute}" if attribute else AS_IT_IS)


def optional(part: ColumnPart) -> ColumnPart:
    """Return the column for an optional field. It is null where the field is not set."""
    value = part.value if part.value == AS_IT_IS else f"(None if {{0}} is None else {part.value})"
    return ColumnPart(part.suffix, part.type, value, part.is_nested)


def int_type(bits: int, signed: bool) -> Any:
    """Return the smallest Arrow type for integers of `bits` bits, among the types that all readers of the files support."""
    if bits == 64:
        return INT64 if signed else UINT64
    return INT64 if bits == 32 and not signed else INT32


def array_of(values: Sequence[Any], field: Any) -> Any:
    """Return the values of a column as an Arrow array. Bytes that aren't UTF-8 become U+FFFD."""
    try:
        return pa.array(values, field.type)
    except UnicodeEncodeError:
        return pa.array(scrubbed(values), field.type)
    except (OverflowError, pa.ArrowException) as error:
        error.add_note(f"while filling the column {field.name}, {field.type}")
        raise


def operations_of_chain(spec: ChainSpec) -> dict[str, type[Operation]]:
    """Return the classes of all operations of a chain, keyed by name. Virtual operations come last."""
    return {spec.spell(cls.NAME): cls for cls in by_wire_tag(spec.smt).values()}
