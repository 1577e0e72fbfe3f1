"""Shapes of arguments and results. A shape is a small tree, built from an annotation, from which signatures and schemas are generated."""

import enum
import types
from typing import Any, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

import msgspec
from msgspec import Struct

from rpc.declare.arguments import CONVERTERS, PLAIN, UNREAD, AnyOf, OneOfNames, is_query
from rpc.declare.method import Method
from rpc.declare.record_encoder import ShowsRecord
from state.protocol.codec.fields import kind_of_hint

NONE = (None, type(None))


class Anything(Struct, frozen=True):
    """Any JSON value. The default is an empty object."""


class Number(Struct, frozen=True):
    """A JSON number that may have a fraction. Only `bridge` uses such numbers."""


class Declared(Struct, frozen=True):
    """A value of a declared type or kind."""

    of: Any


class ListShape(Struct, frozen=True):
    """An array of any size."""

    element: Any


class TupleShape(Struct, frozen=True):
    """An array with a separate type for each element."""

    elements: tuple[Any, ...]


class MapShape(Struct, frozen=True):
    """An object with arbitrary member names and one type for all values."""

    element: Any


class Members(Struct, frozen=True):
    """An object with these members. The `optional` members may be missing."""

    fields: dict[str, Any]
    optional: frozenset[str]


class Nullable(Struct, frozen=True):
    """Either null or a value of type `of`."""

    of: Any


class OneOf(Struct, frozen=True):
    """A value of one of several types."""

    of: tuple[Any, ...]


class Names(Struct, frozen=True):
    """A string that must be one of these names."""

    names: tuple[str, ...]


Shape = Anything | Number | Declared | ListShape | TupleShape | MapShape | Members | Nullable | OneOf | Names


def shape_of(annotation: Any) -> Shape:
    """Return the shape that an annotation declares. Raises TypeError if the annotation has no JSON form."""
    marks = getattr(annotation, "__metadata__", ())
    for mark in marks:
        if isinstance(mark, ShowsRecord):
            return Declared(mark.record)
        if isinstance(mark, AnyOf):
            return OneOf(tuple(shape_of(each) for each in mark.annotations))
        if isinstance(mark, OneOfNames):
            return Names(mark.names)
    bare = annotation.__origin__ if marks else annotation
    bare = PLAIN.get(bare, bare)
    if bare in NONE or bare in UNREAD:
        return Anything()
    if bare is float:
        return Number()
    if isinstance(bare, type) and issubclass(bare, enum.Enum):
        return Names(tuple(member.name for member in bare))
    if bare in CONVERTERS:
        return Declared(bare)
    if is_query(bare):
        return _query(bare)
    if is_typeddict(bare):
        return _typed_dict(bare)
    kind = kind_of_hint(annotation) or kind_of_hint(bare)
    return Declared(kind) if kind is not None and type(None) not in get_args(bare) else _container(bare)


def result_shape(method: Method) -> Shape:
    """Return the shape of a method's result. If the method has a key, this is an object in which the key contains the function's result."""
    returned = shape_of(method.returns)
    returned = returned if method.record is None else _showing(returned, method.record)
    return Members({method.key: returned}, frozenset()) if method.key else returned


def _showing(shape: Shape, record: Any) -> Shape:
    """Return a copy of a shape in which each undeclared JSON value has the type `record` instead."""
    match shape:
        case Anything():
            return Declared(record)
        case ListShape(element=element):
            return ListShape(_showing(element, record))
        case Nullable(of=of):
            return Nullable(_showing(of, record))
    return shape


def _container(bare: Any) -> Shape:
    origin, arguments = get_origin(bare) or bare, get_args(bare)
    if origin in (Union, types.UnionType):
        inner = [shape_of(part) for part in arguments if part is not type(None)]
        one = inner[0] if len(inner) == 1 else OneOf(tuple(inner))
        return Nullable(one) if len(inner) < len(arguments) else one
    if origin is list or (origin is tuple and arguments[1:] == (...,)):
        return ListShape(shape_of(arguments[0]) if arguments else Anything())
    if origin is tuple:
        return TupleShape(tuple(shape_of(part) for part in arguments))
    if origin is dict:
        return Anything() if not arguments or arguments[1] in UNREAD else MapShape(shape_of(arguments[1]))
    raise TypeError(f"{bare} has no JSON form")


def _typed_dict(cls: Any) -> Members:
    hints = get_type_hints(cls, include_extras=True)
    fields = {name: shape_of(get_args(hint)[0] if get_origin(hint) is NotRequired else hint) for name, hint in hints.items()}
    return Members(fields, cls.__optional_keys__)


def _query(cls: Any) -> Members:
    hints = get_type_hints(cls, include_extras=True)
    fields = msgspec.structs.fields(cls)
    optional = frozenset(field.name.rstrip("_") for field in fields if not field.required)
    return Members({field.name.rstrip("_"): shape_of(hints[field.name]) for field in fields}, optional)
