"""How methods write their replies: declared records of state.protocol as JSON in the form of the method. No record is known here."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from rpc.service.arguments import LEGACY, Form
from state.protocol.codec.kinds import Dump, as_it_is
from state.protocol.transaction import Wire

Json = dict[str, Any]


class Of(Struct, frozen=True):
    """Mark of an annotation: this JSON value shows that record."""

    record: Any


class Show:
    """Writes values as records, in one form; a method gets it as `show`."""

    def __init__(self, wire: Wire, form: Form) -> None:
        self.wire = wire
        self.legacy = form is LEGACY
        self._dumpers: dict[Any, Dump] = {}

    def __call__(self, record: Any, value: Any) -> Any:
        """The JSON form of a value by its record."""
        return self.by(record)(value)

    def by(self, record: Any) -> Dump:
        """The function that writes values by a record."""
        dump = self._dumpers.get(record)
        if dump is None:
            dump = self._dumpers[record] = self.wire.codecs.dumper(record, self.legacy) or as_it_is
        return dump

    def each(self, record: Any, values: Iterable[Any]) -> list[Any]:
        """The JSON forms of values, in their order."""
        dump = self.by(record)
        return [dump(value) for value in values]

    def maybe(self, record: Any, value: Any) -> Any:
        """The JSON form of a value, None for None."""
        return None if value is None else self.by(record)(value)
