"""Encodes replies: records, which are declared classes, as JSON in the form of the method.

Fields of records extend those of operations: a field may be read at a path (`FieldPath`, `OptionalFieldPath`), below an attribute that
the class names (`ROOT`), or be a constant (`ConstantField`). The codec gets `record_dumper` and calls it for every declared class, so
nested records are encoded as records as well.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from msgspec import Struct

from rpc.declare.arguments import LEGACY, Form
from rpc.declare.record_fields import ConstantField, FieldPath, OptionalFieldPath
from state.protocol.codec.code_generator import Member, extra_members, object_dumper
from state.protocol.codec.codecs import ChainCodecs
from state.protocol.codec.fields import BUILT_IN, Field, shown_fields
from state.protocol.codec.kinds import Codecs, Dump, Kind, Maybe, String, as_it_is
from state.protocol.operation import OperationKind
from state.protocol.spec import ChainSpec
from state.protocol.transaction import Wire
from state.protocol.work import Work

CHAINS_KEPT_MAX = 8
# Fields of a record, and characters of its texts, that a unit of work encodes.
FIELDS_OF_UNIT, LETTERS_OF_UNIT = 24, 2000
OPERATION_UNITS = 2  # units to encode an operation in a record

Json = dict[str, Any]


class ShowsRecord(Struct, frozen=True):
    """Mark of an annotation: the JSON value is the encoding of `record`."""

    record: Any


class RecordEncoder:
    """Encodes values as records, in one JSON form. A method gets it as `show`. Each encoded record is counted as `work`."""

    def __init__(self, wire: Wire, form: Form, work: Work | None = None) -> None:
        self.wire = wire
        self._work = work or Work()
        self._codecs = record_codecs(wire.spec)
        self.legacy = form is LEGACY
        self._dumpers: dict[Any, Dump] = {}

    def __call__(self, record: Any, value: Any) -> Json:
        """Encode a value as a record."""
        shown: Json = self.by(record)(value)
        return shown

    def by(self, record: Any) -> Dump:
        """Return the function that encodes values as a record."""
        dump = self._dumpers.get(record)
        if dump is None:
            dump = self._codecs.dumper(record, self.legacy) or as_it_is
            if isinstance(record, type):
                dump = self._counted(record, dump)
            self._dumpers[record] = dump
        return dump

    def _counted(self, record: type, dump: Dump) -> Dump:
        """Wrap `dump` so that it counts its work."""
        fields = shown_fields(record, self.legacy)
        kinds = [getattr(field.kind, "kind", field.kind) for field in fields]
        units = 1 + len(fields) // FIELDS_OF_UNIT + OPERATION_UNITS * sum(isinstance(kind, OperationKind) for kind in kinds)
        spend, name = self._work.spend, record.__name__
        texts = [self.wire.spec.spell(field.json) for field, kind in zip(fields, kinds, strict=True) if type(kind) is String]

        def dump_counted(value: Any) -> Any:
            spend(units, name)
            shown = dump(value)
            # Long texts cost time later, when the reply is encoded as bytes.
            letters = sum([len(shown[text]) for text in texts])
            if letters >= LETTERS_OF_UNIT:
                spend(letters // LETTERS_OF_UNIT, name)
            return shown

        return dump_counted

    def each(self, record: Any, values: Iterable[Any]) -> list[Any]:
        """Encode values as records, in order."""
        dump = self.by(record)
        return [dump(value) for value in values]

    def maybe(self, record: Any, value: Any) -> Json | None:
        """Encode a value as a record; None for None."""
        return None if value is None else self(record, value)


@lru_cache(CHAINS_KEPT_MAX)
def record_codecs(spec: ChainSpec) -> ChainCodecs:
    """Return the codecs for the records of a chain. All methods share them, so each record is compiled once."""
    return ChainCodecs(spec, class_dumper=record_dumper)


def record_dumper(codecs: Codecs, cls: type, legacy: bool) -> Dump:
    """Return the function that encodes a value as a record: straight-line code from the codec's generator."""
    members = [member_of(codecs, cls, field, legacy) for field in shown_fields(cls, legacy)]
    return object_dumper(cls.__name__, members + extra_members(codecs, cls, legacy))


def member_of(codecs: Codecs, cls: type, field: Field, legacy: bool) -> Member:
    """Return the generator's description of a field."""
    key = codecs.spec.spell(field.json)
    if isinstance(field.kind, ConstantField):
        return Member(key, repr(field.kind.value))
    return Member(key, field_path(cls, field), codecs.dumper(field.kind, legacy), isinstance(field.kind, Maybe))


def field_path(cls: type, field: Field) -> str:
    """Return the expression that reads a field of `v`: its path, or the attribute of its name below the ROOT of its class."""
    if isinstance(field.kind, FieldPath | OptionalFieldPath):
        path = field.kind.path
    else:
        root = getattr(cls, "ROOT", "")
        path = f"{root}.{field.name}" if root else field.name
    return f"v.{path}" if path else "v"


def blank(of: Any, codecs: Codecs, legacy: bool) -> Any:
    """Return the JSON form of a default-valued record or kind; optional fields are left out.

    `jsonrpc.get_signature` shows results this way, and schemas use it to find out whether a kind is encoded as text.
    """
    if isinstance(of, ConstantField):
        return of.value
    if isinstance(of, FieldPath):
        return blank(of.kind, codecs, legacy)
    if isinstance(of, Kind) or of in BUILT_IN:
        return (codecs.dumper(of, legacy) or as_it_is)(codecs.default(of))
    fields = [field for field in shown_fields(of, legacy) if not isinstance(field.kind, Maybe)]
    return {codecs.spec.spell(field.json): blank(field.kind, codecs, legacy) for field in fields}
