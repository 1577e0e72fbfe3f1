"""Signatures for jsonrpc.get_signature: samples of a method's arguments and result, with default values. Source: rpc-api.md §1.11."""

from typing import Any

import msgspec

from rpc.declare.arguments import LEGACY, Form, argument, shown_default
from rpc.declare.method import Method, Parameter, default_of
from rpc.declare.record_encoder import blank, record_codecs
from rpc.describe.shape import Declared, ListShape, Members, Names, Nullable, Number, Shape, TupleShape, result_shape
from state.protocol.transaction import Wire


def signature(method: Method, wire: Wire) -> dict[str, Any]:
    """Return a sample of a method's arguments and of its result, filled with default values."""
    return {"args": _arguments(method, wire), "ret": result_default(method, wire)}


def result_default(method: Method, wire: Wire) -> Any:
    """Return a sample of a method's result, filled with default values. If no result is declared, return an empty object."""
    return blank_shape(result_shape(method), wire, method.form)


def blank_shape(shape: Shape, wire: Wire, form: Form) -> Any:
    """Return the default JSON value of a shape. Optional members are omitted."""
    match shape:
        case Declared(of=of):
            return blank(of, record_codecs(wire.spec), form is LEGACY)
        case ListShape():
            return []
        case TupleShape(elements=elements):
            return [blank_shape(element, wire, form) for element in elements]
        case Members(fields=fields, optional=optional):
            given = {name: member for name, member in fields.items() if name not in optional and not isinstance(member, Nullable)}
            return {name: blank_shape(member, wire, form) for name, member in given.items()}
        case Nullable():
            return None
        case Names(names=names):
            return names[0]
        case Number():
            return 0
    return {}


def shown_argument(parameter: Parameter, method: Method, wire: Wire) -> Any:
    """Return the JSON form of an argument's default, or UNSET if it has none."""
    member = argument(parameter.annotation, wire, method.form)
    return shown_default(default_of(parameter, member), member)


def _arguments(method: Method, wire: Wire) -> Any:
    if method.positional:
        return []
    if method.raw:
        return {}
    shown = {wire.spec.spell(parameter.name.rstrip("_")): shown_argument(parameter, method, wire) for parameter in method.parameters}
    return {name: None if value is msgspec.UNSET else value for name, value in shown.items()}
