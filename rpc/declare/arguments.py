"""Arguments of RPC methods: how an annotation determines the conversion from JSON, the value of a missing argument, and its JSON form.

The codecs of state.protocol convert scalars and declared types. This module adds lists, start keys, enumerations and query objects. Source:
rpc-api.md §1.9.
"""

import enum
import types
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from rpc.declare.errors import BadArgument
from state.protocol.codec.fields import kind_of_hint, wire_fields
from state.protocol.codec.kinds import (
    AccountName,
    Bool,
    Codecs,
    Hash160,
    Hash256,
    Int32,
    Int64,
    Kind,
    PublicKey,
    Seconds,
    Text,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    as_it_is,
)
from state.protocol.constants import TIME_MAX
from state.protocol.errors import ChainError, require
from state.protocol.transaction import SignedBlock, SignedTransaction, Wire
from state.protocol.values.convert import to_array, to_choice, to_object

__all__ = [
    "APPBASE",
    "LEGACY",
    "AccountName",
    "AnyOf",
    "Argument",
    "Bool",
    "EnumTitle",
    "ExactLength",
    "Example",
    "Form",
    "Hash160",
    "Hash256",
    "Int32",
    "Int64",
    "MaxValue",
    "OneOfNames",
    "Permlink",
    "PublicKey",
    "Text",
    "Timestamp",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "argument",
    "is_query",
    "object_reader",
    "register_converter",
]

MISSING: Any = object()
# The reference accepts any number that fits into a request. Here there is a limit, since millions of names would make a reply of many
# gigabytes.
ARRAY_SIZE_MAX = 10_000
Value = TypeVar("Value")
Read = Callable[[Any], Any]
Default = Callable[[], Any]


class Form(enum.Enum):
    """The two JSON dialects: LEGACY for condenser_api, APPBASE for all other API groups."""

    LEGACY = "legacy"
    APPBASE = "appbase"


LEGACY, APPBASE = Form.LEGACY, Form.APPBASE
Converter = Callable[[Any, Wire, Form], Any]


class TimestampKind(Seconds):
    """A time argument. A date before 1970 becomes the epoch, since it would otherwise wrap to a time that no date string can represent."""

    def parser(self, codecs: Codecs, legacy: bool) -> Read:
        read = super().parser(codecs, legacy)

        def parse(value: Any) -> int:
            seconds: int = read(value)
            return 0 if TIME_MAX // 2 < seconds < TIME_MAX else seconds

        return parse


Timestamp = Annotated[int, TimestampKind()]


class Example(Struct, frozen=True):
    """Annotation of an argument: the value for the example call in the docs. Needed if no example can be derived from the argument's type.

    Use: `Permlink = Annotated[Text, Example("first-post")]`.
    """

    value: Any


Permlink = Annotated[Text, Example("first-post")]


class MaxValue(Struct, frozen=True):
    """Annotation of an integer argument: a value above `maximum` is refused. This is checked after all arguments have been converted.

    Use: `BlogLimit = Annotated[UInt32, MaxValue(500, "Cannot retrieve more than 500 ...")]`. With `key`, the text can contain the refused
    value as `${key}`.
    """

    maximum: int
    text: str = ""
    condition: str = ""
    key: str = ""

    @property
    def refused_condition(self) -> str:
        """The condition in the message that refuses a greater value."""
        return self.condition or f"args.limit <= {self.maximum}"

    def check(self, value: int) -> None:
        """Refuse a value greater than `maximum`."""
        require(value <= self.maximum, self.text, condition=self.refused_condition, **({self.key: value} if self.key else {}))


class ExactLength(Struct, frozen=True):
    """Annotation of a tuple argument. An array of another size is refused with this message. Without the annotation, it is filled with
    defaults.
    """

    text: str
    condition: str = ""

    def check(self, given: list[Any], size: int) -> None:
        """Refuse an array that doesn't have exactly `size` elements."""
        require(len(given) == size, self.text, condition=self.condition or f"key.size() == {size}")


class EnumTitle(Struct, frozen=True):
    """Annotation of an enumeration: the name of its type in the reference's messages, spelled with coind's brand."""

    text: str


class OneOfNames(Struct, frozen=True):
    """Annotation of an enumeration: the names that a method accepts, for the docs only. The method itself must refuse other names."""

    names: tuple[str, ...]


class AnyOf(Struct, frozen=True):
    """Annotation that lists the possible types of an argument, for the docs. The method converts the argument itself, because its type
    depends on another argument.
    """

    annotations: tuple[Any, ...]


class Argument(Struct, Generic[Value], frozen=True):
    """Converts JSON to the type of an annotation, for one chain and one JSON form."""

    read: Callable[[Any], Value]
    """Converts from JSON. Raises ChainError, for objects BadArgument, if it refuses the value."""
    default: Callable[[], Value]
    """Returns the value of a missing argument."""
    shown: Default
    """Returns the JSON form of the default for jsonrpc.get_signature; UNSET to leave it out there."""
    check: Callable[[Any], None] | None = None
    """Checks the value after all arguments are converted."""


class PreparsedTransaction(dict[str, Any]):
    """The JSON of a transaction in a call's params, together with the transaction, which was parsed before the call."""

    def __init__(self, value: dict[str, Any], transaction: SignedTransaction) -> None:
        super().__init__(value)
        self.transaction = transaction


def _transaction(value: Any, wire: Wire, form: Form) -> SignedTransaction:
    return value.transaction if type(value) is PreparsedTransaction else wire.transaction_from_json(value, form is LEGACY)


CONVERTERS: dict[Any, Converter] = {
    SignedTransaction: _transaction,
    SignedBlock: lambda value, wire, form: wire.block_from_json(value, form is LEGACY),
}
PLAIN: dict[Any, Any] = {int: Int64, str: Text, bool: Bool}
UNREAD = (Any, object)


def register_converter(of: type, converter: Converter) -> None:
    """Register the function that converts JSON to arguments of a type. A missing argument gets the result of converting an empty object."""
    assert of not in CONVERTERS, f"{of} has a converter"
    CONVERTERS[of] = converter


def argument(annotation: Any, wire: Wire, form: Form = APPBASE) -> Argument[Any]:
    """Return the converter for an annotation. Methods call this for the argument `start`, whose type depends on the requested order."""
    bare, marks = annotation, getattr(annotation, "__metadata__", ())
    if marks:
        bare = annotation.__origin__
    made = _argument(annotation, PLAIN.get(bare, bare), marks, wire, form)
    limits = [mark for mark in marks if isinstance(mark, MaxValue)]
    return msgspec.structs.replace(made, check=limits[0].check) if limits else made


def shown_default(default: Default, member: Argument[Any]) -> Any:
    """Return the JSON form of an argument's default, which is its type's default if none is declared. Return UNSET if there is neither."""
    if default is member.default:
        return member.shown()
    declared = default()
    if declared is None:
        return msgspec.UNSET
    return declared.name if isinstance(declared, enum.Enum) else declared


def object_reader(fields: Sequence[tuple[str, Read, Default]], wire: Wire) -> Callable[[Any], list[Any]]:
    """Return a function that converts a JSON object to a list of the values of `fields`. Both spellings of a field's name are accepted.

    The function ignores other members, and raises BadArgument if a member's value is refused.
    """
    plan = [(wire.spec.spell(name), name, read, default) for name, read, default in fields]

    def read_object(value: Any) -> list[Any]:
        members = value if type(value) is dict else to_object(value)
        out: list[Any] = []
        try:
            for spelled, name, read, default in plan:
                member = members.get(spelled, MISSING)
                if member is MISSING and spelled != name:
                    member = members.get(name, MISSING)
                out.append(default() if member is MISSING else read(member))
        except (ChainError, BadArgument) as error:
            raise BadArgument(error, plan[len(out)][0]) from None
        return out

    return read_object


def is_query(cls: Any) -> bool:
    """Whether a type is a query object: a Struct whose fields aren't declared for the wire format."""
    return isinstance(cls, type) and issubclass(cls, Struct) and len(wire_fields(cls)) < len(cls.__struct_fields__)


# ------------------------------------------------------------------ one function per family of types


def _argument(annotation: Any, bare: Any, marks: tuple[Any, ...], wire: Wire, form: Form) -> Argument[Any]:
    if bare in CONVERTERS:
        converter = CONVERTERS[bare]
        return Argument(lambda value: converter(value, wire, form), lambda: converter({}, wire, form), dict)
    if bare in UNREAD:
        return Argument(as_it_is, lambda: None, lambda: None)
    origin = get_origin(bare)
    if origin in (Union, types.UnionType):
        return _optional(bare, wire, form)
    if is_query(bare) and not any(isinstance(mark, Kind) for mark in marks):
        return _query(bare, wire, form)
    if isinstance(bare, type) and issubclass(bare, enum.Enum):
        return _choice(bare, marks, wire)
    kind = kind_of_hint(annotation) or kind_of_hint(bare)
    if kind is not None:
        return _declared(kind, wire, form)
    if origin is list:
        return _list(get_args(bare)[0], wire, form)
    if origin is dict:
        return Argument(to_object, dict, dict)
    if origin is tuple:
        return _tuple(get_args(bare), marks, wire, form)
    raise TypeError(f"no way to read {annotation} from JSON is known")


def _declared(kind: Any, wire: Wire, form: Form) -> Argument[Any]:
    codecs, legacy = wire.codecs, form is LEGACY
    dump = codecs.dumper(kind, legacy) or as_it_is
    return Argument(codecs.parser(kind, legacy), lambda: codecs.default(kind), lambda: dump(codecs.default(kind)))


def _optional(annotation: Any, wire: Wire, form: Form) -> Argument[Any]:
    inner = [part for part in get_args(annotation) if part is not type(None)]
    if len(inner) != 1:
        raise TypeError(f"{annotation} is more than one type")
    read = argument(inner[0], wire, form).read
    return Argument(lambda value: None if value is None else read(value), lambda: None, lambda: msgspec.UNSET)


def _list(element: Any, wire: Wire, form: Form) -> Argument[Any]:
    read = argument(element, wire, form).read

    def read_list(value: Any) -> list[Any]:
        given = to_array(value)
        text = "An array may have at most ${most} members here"
        require(len(given) <= ARRAY_SIZE_MAX, text, condition=f"size <= {ARRAY_SIZE_MAX}", most=ARRAY_SIZE_MAX)
        return [read(item) for item in given]

    return Argument(read_list, list, list)


def _tuple(elements: tuple[Any, ...], marks: tuple[Any, ...], wire: Wire, form: Form) -> Argument[Any]:
    members = [argument(element, wire, form) for element in elements]
    exactly = next((mark for mark in marks if isinstance(mark, ExactLength)), None)
    size = len(members)

    def read(value: Any) -> tuple[Any, ...]:
        given = to_array(value)
        if exactly is None:
            return tuple([m.read(given[i]) if i < len(given) else m.default() for i, m in enumerate(members)])
        exactly.check(given, size)
        # The reference passes these members as arguments of one C++ call. Its compiler evaluates them from last to first.
        return tuple([m.read(item) for m, item in zip(members[::-1], given[::-1], strict=True)])[::-1]

    return Argument(read, lambda: tuple([m.default() for m in members]), lambda: [m.shown() for m in members])


def _choice(cls: type[enum.Enum], marks: tuple[Any, ...], wire: Wire) -> Argument[Any]:
    """Return the converter for an enumeration. It accepts names, and indices in declaration order. Aliases are accepted only by name."""
    names, members = cls.__members__, list(cls)
    own_names = [member.name for member in members]
    title = wire.spec.spell(next((mark.text for mark in marks if isinstance(mark, EnumTitle)), cls.__name__))

    def read(value: Any) -> enum.Enum:
        named = names.get(value) if type(value) is str else None
        return members[to_choice(value, own_names, title)] if named is None else named

    return Argument(read, lambda: members[0], lambda: members[0].name)


def _query(cls: Any, wire: Wire, form: Form) -> Argument[Any]:
    hints = get_type_hints(cls, include_extras=True)
    members = {field.name: argument(hints[field.name], wire, form) for field in msgspec.structs.fields(cls)}
    defaults = {field.name: _field_default(field, members[field.name]) for field in msgspec.structs.fields(cls)}
    read_members = object_reader([(name.rstrip("_"), m.read, defaults[name]) for name, m in members.items()], wire)

    def read(value: Any) -> Any:
        return cls(**dict(zip(members, read_members(value), strict=True)))

    def shown() -> dict[str, Any]:
        every = {name.rstrip("_"): shown_default(defaults[name], m) for name, m in members.items()}
        return {name: value for name, value in every.items() if value is not msgspec.UNSET}

    return Argument(read, lambda: read({}), shown)


def _field_default(field: msgspec.structs.FieldInfo, member: Argument[Any]) -> Default:
    """Return a function that returns the default of a query's member: the declared default, or else that of the member's type."""
    if field.default is not msgspec.NODEFAULT:
        declared = field.default
        return lambda: declared
    if field.default_factory is not msgspec.NODEFAULT:
        factory: Default = field.default_factory
        return factory
    return member.default
