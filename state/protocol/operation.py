"""`Operation`, the registry of all operations, and the kind of fields that contain operations.

`@operation(tag, active="from_")` registers a frozen Struct. Its annotated fields are its schema in wire order. The tags are
those of a chain with SMT operations. A chain without SMTs writes lower tags for the operations after them (wire-format.md §4).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import attrgetter
from typing import Annotated, Any, ClassVar, TypeVar

from msgspec import Struct

from state.protocol.authority import Authority
from state.protocol.codec.code_generator import struct_packer
from state.protocol.codec.fields import kind_of_field, wire_fields
from state.protocol.codec.kinds import (
    NO_SUCH_TYPE,
    AssetKind,
    Bounded,
    Codecs,
    CoinFeeKind,
    Dump,
    Kind,
    Many,
    Pack,
    Parse,
    PriceKind,
    Unpack,
    as_it_is,
    pack_length,
    type_and_value,
    unpack_length,
    variant_tag,
)
from state.protocol.errors import Refused, require
from state.protocol.values.convert import to_array, to_text

OPERATIONS: dict[int, type[Operation]] = {}
SMT_TAGS = range(47, 54)
FIRST_VIRTUAL = 54
SHIFT_WITHOUT_SMT = len(SMT_TAGS)
OPERATION_UNITS = 8

Op = TypeVar("Op", bound="type[Operation]")


class Needed(Struct):
    """The authorities that one or more operations require: account names by role, and explicit authorities."""

    posting: set[str]
    active: set[str]
    owner: set[str]
    other: list[Authority]

    @classmethod
    def by(cls, operations: tuple[Operation, ...]) -> Needed:
        """Return the combined required authorities of the operations."""
        needed = cls(set(), set(), set(), [])
        for operation in operations:
            operation.authorities(needed)
        return needed


class Operation(Struct, frozen=True, gc=False):
    """Base of all operations. Subclasses declare fields, `validate`, and `apply`."""

    TAG: ClassVar[int] = -1
    NAME: ClassVar[str] = ""
    VIRTUAL: ClassVar[bool] = False
    SIGNER: ClassVar[str] = ""
    """The field with the account that must sign, "" if it isn't a single field."""
    SIGNER_ROLE: ClassVar[str] = ""
    """The role of its signing authority."""
    UNITS: ClassVar[int] = OPERATION_UNITS
    """Base cost in units of work, without the work that `apply` counts (state/protocol/work.py)."""
    PROTECTED: ClassVar[str] = ""
    """The field with the account that can be locked out of this operation, "" if no account can be."""

    def validate(self, codecs: Codecs) -> None:
        """Make all checks that don't depend on the state, in the reference's order and with its texts.

        Some operations need the chain's `codecs`, for packed values and for limits that are constants of the build (`codecs.spec`).
        """

    def authorities(self, needed: Needed) -> None:
        """Add the required authorities of this operation."""

    def sole_signer(self) -> tuple[str, str]:
        """Return the role and the account if the operation needs only one account's authority, named in a field, and else empty texts."""
        return (self.SIGNER_ROLE, getattr(self, self.SIGNER)) if self.SIGNER else ("", "")

    def impacted(self) -> set[str]:
        """Return the accounts whose history includes the operation."""
        needed = Needed.by((self,))
        return needed.active | needed.owner | needed.posting

    def apply(self, state: Any) -> None:
        """Check the preconditions, then change `state` (a state.tables.State)."""
        raise Refused("${name} is not available in this version", condition="false", name=f"{self.NAME}_operation")


class VirtualOperation(Operation, frozen=True):
    """Base of virtual operations, which report the effects of the chain's rules. They are refused in transactions."""

    VIRTUAL: ClassVar[bool] = True

    def validate(self, codecs: Codecs) -> None:
        raise Refused("This is a virtual operation", condition="false")

    def impacted(self) -> set[str]:
        return set()


def snake_case(name: str) -> str:
    """Convert `TransferToVesting` to `transfer_to_vesting`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def operation(
    tag: int,
    *,
    posting: str | None = None,
    active: str | None = None,
    owner: str | None = None,
    impacted: tuple[str, ...] = (),
    protected: str = "",
    units: int = OPERATION_UNITS,
) -> Callable[[Op], Op]:
    """Register an operation under its tag.

    `posting`, `active` or `owner` names the field (an account, or a set of accounts) whose authority must sign. An operation with other
    requirements defines `authorities` itself. `impacted` names the fields of affected accounts, if these aren't just the signers.
    `protected` names the field with the account that can be locked, in which case the operation is refused. `units` is the operation's work
    if it differs from the default.
    """

    def declare(cls: Op) -> Op:
        assert tag not in OPERATIONS, f"two operations with tag {tag}"
        cls.TAG, cls.NAME, cls.PROTECTED, cls.UNITS = tag, snake_case(cls.__name__), protected, units
        touched = impacted
        for role, field in (("posting", posting), ("active", active), ("owner", owner)):
            if field is not None:
                many = is_many(cls, field)
                cls.authorities = signer(role, field, many)  # type: ignore[method-assign, assignment]
                if not many:
                    cls.SIGNER, cls.SIGNER_ROLE = field, role
                    touched = impacted or (field,)
        if touched and "impacted" not in vars(cls):
            cls.impacted = touching(touched)  # type: ignore[method-assign, assignment]
        OPERATIONS[tag] = cls
        return cls

    return declare


def is_many(cls: type[Operation], field: str) -> bool:
    """Whether a field with the names of the signers contains several names instead of one."""
    kind = kind_of_field(cls, field)
    many = isinstance(kind, Many)
    assert isinstance(kind.element if many else kind, Bounded), f"{cls.__name__}.{field} has no account names"
    return many


def signer(role: str, field: str, many: bool) -> Callable[[Any, Needed], None]:
    """Return the `authorities` method for an operation that names its signers in one field. `many`: the field contains several names."""
    if many:
        return lambda self, needed: getattr(needed, role).update(getattr(self, field))
    return lambda self, needed: getattr(needed, role).add(getattr(self, field))


def touching(fields: tuple[str, ...]) -> Callable[[Any], set[str]]:
    """Return the `impacted` method for an operation that affects the accounts in these fields."""
    get: Callable[[Any], Any] = attrgetter(*fields)
    if len(fields) == 1:
        return lambda self: {get(self)}
    return lambda self: set(get(self))


class OperationKind(Kind):
    """Kind of a field that contains an operation: a variant of all operations of the chain."""

    def packer(self, codecs: Codecs) -> Pack:
        packers: dict[type, Pack] = {}

        def pack(value: Operation) -> bytes:
            cls = type(value)
            if cls not in packers:
                packers[cls] = struct_packer(codecs, cls, pack_length(wire_tag(cls.TAG, codecs.spec.smt)))
            return packers[cls](value)

        return pack

    def unpacker(self, codecs: Codecs) -> Unpack:
        # By the first byte. Tags of more than one byte are not cached.
        readers: list[Unpack | None] = [None] * 256
        classes, canonical = by_wire_tag(codecs.spec.smt), codecs.canonical

        def unpack(data: bytes, i: int) -> tuple[Any, int]:
            read = readers[data[i]]
            if read is not None:
                return read(data, i + 1)
            tag, i = unpack_length(data, i, canonical)
            require(tag in classes, condition=NO_SUCH_TYPE)
            read = codecs.unpacker(classes[tag])
            if tag < 128:
                readers[tag] = read
            return read(data, i)

        return unpack

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        made: dict[type, tuple[str, Dump]] = {}

        def parts(value: Operation) -> tuple[str, Dump]:
            cls = type(value)
            if cls not in made:
                name = codecs.spec.spell(cls.NAME if legacy else f"{cls.NAME}_operation")
                made[cls] = name, codecs.dumper(cls, legacy) or as_it_is
            return made[cls]

        def dump_pair(value: Operation) -> list[Any]:
            if value.TAG in SMT_TAGS:  # These have no legacy form: the reference shows the variant's first type (wire-format.md §5).
                value = codecs.default(OPERATIONS[0])
            name, dump = parts(value)
            return [name, dump(value)]

        def dump_object(value: Operation) -> dict[str, Any]:
            name, dump = parts(value)
            return {"type": name, "value": dump(value)}

        return dump_pair if legacy else dump_object

    def parser(self, codecs: Codecs, legacy: bool) -> Parse:
        classes = by_wire_tag(codecs.spec.smt)
        tags = {codecs.spec.spell(f"{cls.NAME}_operation"): tag for tag, cls in classes.items()}

        readers: dict[int, Parse] = {}

        def parse_object(value: Any) -> Any:
            name, body = type_and_value(value)
            tag = variant_tag(name, tags)
            if tag not in readers:
                require(tag in classes, condition=NO_SUCH_TYPE)
                readers[tag] = codecs.parser(classes[tag])
            return readers[tag](body)

        return legacy_parser(codecs) if legacy else parse_object


def legacy_parser(codecs: Codecs) -> Parse:
    """Return the parser of the condenser's `["transfer", {...}]`. The first element can be the full name or an index into the legacy list.

    As in the reference, an array with fewer than two members is an empty vote, and SMT operations can't be parsed (wire-format.md §5).
    """
    spell = codecs.spec.spell
    classes = {tag: cls for tag, cls in by_wire_tag(False).items() if tag not in SMT_TAGS or cls.VIRTUAL}
    names: dict[str, type[Operation]] = {}
    for cls in classes.values():
        full = f"legacy_{cls.NAME}_operation" if is_converted(codecs, cls) else f"{cls.NAME}_operation"
        names |= {spell(cls.NAME): cls, spell(full): cls, spell(f"{cls.NAME}_operation"): cls}

    readers: dict[type[Operation], Parse] = {}

    def parse(value: Any) -> Any:
        pair = to_array(value)
        if len(pair) < 2:
            return codecs.default(OPERATIONS[0])
        name = pair[0]
        if type(name) is int and name >= 0:
            require(name in classes, condition=NO_SUCH_TYPE)
            cls = classes[name]
        else:
            name = to_text(name)
            require(name in names, "Invalid operation name: ${n}", condition="itr != to_full_tag.end()", n=name)
            cls = names[name]
        if cls not in readers:
            readers[cls] = codecs.parser(cls, True)
        return readers[cls](pair[1])

    return parse


def is_converted(codecs: Codecs, cls: type) -> bool:
    """Whether the condenser's form of an operation differs from that of other API groups, because the operation has an asset or a price."""

    def differs(kind: Any) -> bool:
        if isinstance(kind, type):
            return bool(getattr(kind, "LEGACY_EXTRA", None)) or any(differs(field.kind) for field in wire_fields(kind))
        return isinstance(kind, (AssetKind, PriceKind, CoinFeeKind)) and not getattr(kind, "nai_only", False)

    return any(differs(field.kind) for field in wire_fields(cls))


def wire_tag(tag: int, smt: bool) -> int:
    """Return the tag of an operation on the wire. Without SMTs, virtual operations have lower tags and SMT operations are refused."""
    if smt or tag < SMT_TAGS.start:
        return tag
    require(tag not in SMT_TAGS, condition=NO_SUCH_TYPE)
    return tag - SHIFT_WITHOUT_SMT


def by_wire_tag(smt: bool) -> dict[int, type[Operation]]:
    """Return all operations of a chain by their tags on the wire."""
    return {wire_tag(tag, smt): cls for tag, cls in sorted(OPERATIONS.items()) if smt or tag not in SMT_TAGS}


AnyOperation = Annotated[Operation, OperationKind()]
Operations = Annotated[tuple[Operation, ...], Many(OperationKind())]

__all__ = ["OPERATIONS", "AnyOperation", "Needed", "Operation", "OperationKind", "Operations", "VirtualOperation", "operation"]
