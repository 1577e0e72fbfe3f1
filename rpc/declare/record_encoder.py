"""Encodes results as records (declared classes), in the JSON form of the method.

Records have more kinds of fields than operations. A field can be read from an attribute path (`FieldPath`, `OptionalFieldPath`), or from an
attribute of the object that the class's `ROOT` names, or be a constant (`ConstantField`). The codecs call `record_dumper` for every
declared class, so that nested records are encoded as records, too.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import Any

from msgspec import Struct

from rpc.declare.arguments import LEGACY, Form
from rpc.declare.record_fields import ConstantField, FieldPath, OptionalFieldPath
from state.protocol.codec.code_generator import Member, extra_members, member_of, object_dumper
from state.protocol.codec.codecs import ChainCodecs
from state.protocol.codec.fields import BUILT_IN, Field, shown_fields
from state.protocol.codec.kinds import Codecs, Dump, Kind, Maybe, String, as_it_is
from state.protocol.operation import OperationKind
from state.protocol.spec import ChainSpec
from state.protocol.transaction import Wire
from state.protocol.work import Work

CHAINS_KEPT_MAX = 8
# Number of record fields, and of characters in strings, for which one unit of work pays.
FIELDS_OF_UNIT, LETTERS_OF_UNIT = 24, 2000
OPERATION_UNITS = 2  # units of work to encode an operation in a record

Json = dict[str, Any]


class ShowsRecord(Struct, frozen=True):
    """Annotation of a reply's member whose type (`Json` or `str`) doesn't describe its JSON. `record` is the record or kind that does."""

    record: Any


class RecordEncoder:
    """Encodes values as records in one JSON form. Methods get it as the context object `show`. Each record costs units of `work`."""

    def __init__(self, wire: Wire, form: Form, work: Work | None = None) -> None:
        self.wire = wire
        self._work = work or Work()
        self._codecs = record_codecs(wire.spec)
        self.legacy = form is LEGACY
        self._dumpers: dict[Any, Dump] = {}
        self._spenders: dict[type, Callable[[], None]] = {}

    def __call__(self, record: Any, value: Any) -> Json:
        """Encode `value` as an instance of the record `record`."""
        dump = self._dumpers.get(record) or self.by(record)
        shown: Json = dump(value)
        return shown

    def by(self, record: Any) -> Dump:
        """Return the function that encodes values as instances of a record."""
        dump = self._dumpers.get(record)
        if dump is None:
            dump = self._codecs.dumper(record, self.legacy) or as_it_is
            if isinstance(record, type):
                dump = self._counted(record, dump)
            self._dumpers[record] = dump
        return dump

    def spender(self, record: type) -> Callable[[], None]:
        """Return a function that spends the units of work of an instance of a record, for one that was encoded earlier."""
        self.by(record)
        return self._spenders[record]

    def _counted(self, record: type, dump: Dump) -> Dump:
        """Wrap an encoder so that it spends units of work."""
        fields = shown_fields(record, self.legacy)
        kinds = [getattr(field.kind, "kind", field.kind) for field in fields]
        units = 1 + len(fields) // FIELDS_OF_UNIT + OPERATION_UNITS * sum(isinstance(kind, OperationKind) for kind in kinds)
        spend, name = self._work.spend, record.__name__
        self._spenders[record] = partial(spend, units, name)
        texts = [self.wire.spec.spell(field.json) for field, kind in zip(fields, kinds, strict=True) if type(kind) is String]

        def dump_counted(value: Any) -> Any:
            spend(units, name)
            shown = dump(value)
            if texts:
                # Long strings also take time later, when the reply is encoded as bytes.
                letters = sum([len(shown[text]) for text in texts])
                if letters >= LETTERS_OF_UNIT:
                    spend(letters // LETTERS_OF_UNIT, name)
            return shown

        return dump_counted

    def each(self, record: Any, values: Iterable[Any]) -> list[Any]:
        """Encode each value as an instance of the record, in order."""
        dump = self.by(record)
        return [dump(value) for value in values]

    def maybe(self, record: Any, value: Any) -> Json | None:
        """Encode a value as an instance of the record. Return None for None."""
        return None if value is None else self(record, value)


@lru_cache(CHAINS_KEPT_MAX)
def record_codecs(spec: ChainSpec) -> ChainCodecs:
    """Return the codecs for the records of a chain. All methods share them, so that each record class is compiled once."""
    return ChainCodecs(spec, class_dumper=record_dumper)


def record_dumper(codecs: Codecs, cls: type, legacy: bool) -> Dump:
    """Return a function that encodes a value as an instance of a record. The codec's generator compiles it to straight-line code."""
    members = [_member(codecs, cls, field, legacy) for field in shown_fields(cls, legacy)]
    return object_dumper(cls.__name__, members + extra_members(codecs, cls, legacy))


def _member(codecs: Codecs, cls: type, field: Field, legacy: bool) -> Member:
    """Describe a field of a record for the codec's generator."""
    if isinstance(field.kind, ConstantField):
        return Member(codecs.spec.spell(field.json), repr(field.kind.value))
    return member_of(codecs, field.json, field_path(cls, field), field.kind, legacy)


def field_path(cls: type, field: Field) -> str:
    """Return the expression that reads a field from the variable `v`.

    The expression follows the field's attribute path. If the field has none, it reads the attribute with the field's name, from the object
    that the class's ROOT names if there is a ROOT.
    """
    if isinstance(field.kind, FieldPath | OptionalFieldPath):
        path = field.kind.path
    else:
        root = getattr(cls, "ROOT", "")
        path = f"{root}.{field.name}" if root else field.name
    return f"v.{path}" if path else "v"


def blank(of: Any, codecs: Codecs, legacy: bool) -> Any:
    """Return the JSON form of a record or kind in which every field has its default value. Optional fields are omitted.

    `jsonrpc.get_signature` returns results in this form. Schemas use it to determine whether a kind is encoded as a string.
    """
    if isinstance(of, ConstantField):
        return of.value
    if isinstance(of, FieldPath):
        return blank(of.kind, codecs, legacy)
    if isinstance(of, Kind) or of in BUILT_IN:
        return (codecs.dumper(of, legacy) or as_it_is)(codecs.default(of))
    fields = [field for field in shown_fields(of, legacy) if not isinstance(field.kind, Maybe)]
    return {codecs.spec.spell(field.json): blank(field.kind, codecs, legacy) for field in fields}
