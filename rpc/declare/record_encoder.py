"""How methods write their replies: records, which are declared classes, as JSON in the form of the method. No record is known here.

A record says more about its fields than an operation does: a field may be read at a path (`FieldPath`, `OptionalFieldPath`), below an
attribute that the class names (`ROOT`), or be a constant (`ConstantField`). The codec knows nothing of these. It is given `record_dumper`,
and asks it for every declared class, so that a record inside another one, or in a list, is written as a record too.
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
# What is shown with a unit of work: fields of a record, and letters of its texts.
FIELDS_OF_UNIT, LETTERS_OF_UNIT = 24, 2000
OPERATION_UNITS = 2  # to show an operation that a record holds

Json = dict[str, Any]


class ShowsRecord(Struct, frozen=True):
    """Mark of an annotation: this JSON value shows that record."""

    record: Any


class RecordEncoder:
    """Writes values as records, in one form; a method gets it as `show`. Each record that a method shows is counted as `work`."""

    def __init__(self, wire: Wire, form: Form, work: Work | None = None) -> None:
        self.wire = wire
        self._work = work or Work()
        self._codecs = record_codecs(wire.spec)
        self.legacy = form is LEGACY
        self._dumpers: dict[Any, Dump] = {}

    def __call__(self, record: Any, value: Any) -> Any:
        """The JSON form of a value by its record."""
        return self.by(record)(value)

    def by(self, record: Any) -> Dump:
        """The function that writes values by a record."""
        dump = self._dumpers.get(record)
        if dump is None:
            dump = self._codecs.dumper(record, self.legacy) or as_it_is
            if isinstance(record, type):
                dump = self._counted(record, dump)
            self._dumpers[record] = dump
        return dump

    def _counted(self, record: type, dump: Dump) -> Dump:
        """Return a function that counts the work of what it shows."""
        fields = shown_fields(record, self.legacy)
        kinds = [getattr(field.kind, "kind", field.kind) for field in fields]
        units = 1 + len(fields) // FIELDS_OF_UNIT + OPERATION_UNITS * sum(isinstance(kind, OperationKind) for kind in kinds)
        spend, name = self._work.spend, record.__name__
        texts = [self.wire.spec.spell(field.json) for field, kind in zip(fields, kinds, strict=True) if type(kind) is String]

        def dump_counted(value: Any) -> Any:
            spend(units, name)
            shown = dump(value)
            # Here long texts take no time yet: they do when the answer is encoded.
            letters = sum([len(shown[text]) for text in texts])
            if letters >= LETTERS_OF_UNIT:
                spend(letters // LETTERS_OF_UNIT, name)
            return shown

        return dump_counted

    def each(self, record: Any, values: Iterable[Any]) -> list[Any]:
        """The JSON forms of values, in their order."""
        dump = self.by(record)
        return [dump(value) for value in values]

    def maybe(self, record: Any, value: Any) -> Any:
        """The JSON form of a value, None for None."""
        return None if value is None else self.by(record)(value)


# ------------------------------------------------------------------ records


@lru_cache(CHAINS_KEPT_MAX)
def record_codecs(spec: ChainSpec) -> ChainCodecs:
    """Return the codecs that write the records of a chain: one object for all methods, so that each record is compiled once."""
    return ChainCodecs(spec, class_dumper=record_dumper)


def record_dumper(codecs: Codecs, cls: type, legacy: bool) -> Dump:
    """Return the function that writes a value as a record: straight-line code, made by the codec's generator."""
    members = [member_of(codecs, cls, field, legacy) for field in shown_fields(cls, legacy)]
    return object_dumper(cls.__name__, members + extra_members(codecs, cls, legacy))


def member_of(codecs: Codecs, cls: type, field: Field, legacy: bool) -> Member:
    """Return how a field of a record is written."""
    key = codecs.spec.spell(field.json)
    if isinstance(field.kind, ConstantField):
        return Member(key, repr(field.kind.value))
    return Member(key, field_path(cls, field), codecs.dumper(field.kind, legacy), isinstance(field.kind, Maybe))


def field_path(cls: type, field: Field) -> str:
    """Return the expression that reads a field of `v`: at its path, or as the attribute of its name, below the ROOT of its class."""
    if isinstance(field.kind, FieldPath | OptionalFieldPath):
        path = field.kind.path
    else:
        root = getattr(cls, "ROOT", "")
        path = f"{root}.{field.name}" if root else field.name
    return f"v.{path}" if path else "v"


def blank(of: Any, codecs: Codecs, legacy: bool) -> Any:
    """Return the JSON form of a record or a kind with nothing in it; optional fields are left out.

    `jsonrpc.get_signature` shows results so, and the schemas see by it whether a kind is written as text.
    """
    if isinstance(of, ConstantField):
        return of.value
    if isinstance(of, FieldPath):
        return blank(of.kind, codecs, legacy)
    if isinstance(of, Kind) or of in BUILT_IN:
        return (codecs.dumper(of, legacy) or as_it_is)(codecs.default(of))
    fields = [field for field in shown_fields(of, legacy) if not isinstance(field.kind, Maybe)]
    return {codecs.spec.spell(field.json): blank(field.kind, codecs, legacy) for field in fields}
