"""OpenRPC document of a service: every method with its arguments, result and refusals, generated from the declarations.

The format is specified at spec.open-rpc.org.
"""

import re
from collections.abc import Generator, Iterable, Iterator
from typing import Any

import msgspec

from rpc.declare.arguments import LEGACY, Example, MaxValue
from rpc.declare.errors import CALL_ERROR, DISPATCH_ERROR, SERVER_ERROR
from rpc.declare.method import Method, Parameter, count_texts
from rpc.describe.schema import Schema, Schemas, reachable
from rpc.describe.shape import Declared, ListShape, Shape, TupleShape, result_shape, shape_of
from rpc.describe.signature import result_default, shown_argument
from state.protocol.codec.kinds import Bounded
from state.protocol.errors import Refused
from state.protocol.transaction import SignedBlock, SignedTransaction, Wire
from state.protocol.values.text import version_text
from state.store.rows import run_steps

VERSION = "1.3.2"
SOMEBODY, A_FEW = "alice", 10
ABOUT = (
    "Methods of condenser_api take their arguments by position, all others by name or by position. Missing arguments have the "
    "defaults that jsonrpc.get_signature shows. Numbers can also be sent as text."
)


def document(methods: Iterable[Method], wire: Wire) -> dict[str, Any]:
    """Return the OpenRPC document that describes these methods on one chain."""
    return run_steps(document_in_steps(methods, wire))


def document_in_steps(methods: Iterable[Method], wire: Wire) -> Generator[None, None, dict[str, Any]]:
    """Build the same document as `document`, yielding after each method."""
    schemas = Schemas(wire)
    described = []
    for method in methods:
        described.append(_method(method, schemas, wire))
        yield
    return {
        "openrpc": VERSION,
        "info": {"title": "coind", "version": version_text(wire.spec.constants.COIN_BLOCKCHAIN_VERSION), "description": ABOUT},
        "methods": described,
        "components": {"schemas": reachable(described, schemas.components)},
    }


def summary(description: str) -> str:
    """Return the first sentence of a method's description."""
    return re.split(r"(?<=\.)\s", " ".join(description.split()), maxsplit=1)[0]


def _method(method: Method, schemas: Schemas, wire: Wire) -> dict[str, Any]:
    description = wire.spec.spell(" ".join(method.description.split()))
    out: dict[str, Any] = {"name": method.name, "summary": summary(description)}
    if description != out["summary"]:
        out["description"] = description
    parameters = [parameter for parameter in method.parameters if not method.raw]
    legacy = method.form is LEGACY
    return out | {
        "tags": [{"name": method.group}],
        "paramStructure": "by-position" if method.positional else "either",
        "params": [_parameter(parameter, method, schemas, wire) for parameter in parameters],
        "result": {"name": "result", "schema": schemas.of(result_shape(method), legacy)},
        "errors": [{"code": code, "message": wire.spec.spell(message)} for code, message in _refusals(method)],
        "examples": _examples(method, wire),
    }


def _parameter(parameter: Parameter, method: Method, schemas: Schemas, wire: Wire) -> dict[str, Any]:
    schema: Schema = schemas.of(shape_of(parameter.annotation), method.form is LEGACY)
    for limit in _limits(parameter):
        schema = schema | {"maximum": limit.maximum}
    if not parameter.required:
        default = shown_argument(parameter, method, wire)
        if default is not msgspec.UNSET:
            schema = {"allOf": [schema], "default": default} if "$ref" in schema else schema | {"default": default}
    return {"name": _name(parameter, wire), "required": parameter.required, "schema": schema}


def _name(parameter: Parameter, wire: Wire) -> str:
    return wire.spec.spell(parameter.name.rstrip("_"))


def _limits(parameter: Parameter) -> list[MaxValue]:
    return [mark for mark in _marks(parameter) if isinstance(mark, MaxValue)]


def _marks(parameter: Parameter) -> tuple[Any, ...]:
    return getattr(parameter.annotation, "__metadata__", ())


def _refusals(method: Method) -> Iterator[tuple[int, str]]:
    """Yield code and message of the refusals that follow from the declaration: missing rights, a missing WebSocket or plugin, a wrong
    number of arguments, exceeded limits.
    """
    absent = Refused("Could not find method ${method}", condition="method_itr != api_itr->second.end()", method=method.name.split(".")[1])
    if method.loopback_only or method.needs_local or method.needs_session or (method.plugins and method.not_enabled is None):
        yield DISPATCH_ERROR, absent.message()
    if method.not_enabled is not None:
        yield CALL_ERROR, method.not_enabled.message()
    if method.positional and not method.raw:
        condition, text = count_texts(sum(parameter.required for parameter in method.parameters), len(method.parameters))
        yield CALL_ERROR, Refused(text, condition=condition).message()
    for parameter in method.parameters:
        for limit in _limits(parameter):
            yield CALL_ERROR, Refused(limit.text, condition=limit.refused_condition).message()
    if method.waits:
        yield SERVER_ERROR, "The chain refuses the transaction or block"


def _examples(method: Method, wire: Wire) -> list[dict[str, Any]]:
    """Return an example call and its result on an empty chain. Return an empty list if the method needs a transaction or a block."""
    shapes = [shape_of(parameter.annotation) for parameter in method.parameters]
    if method.raw or any(isinstance(shape, Declared) and shape.of in (SignedTransaction, SignedBlock) for shape in shapes):
        return []
    given = []
    for parameter, shape in zip(method.parameters, shapes, strict=True):
        value = next((mark.value for mark in _marks(parameter) if isinstance(mark, Example)), _example(shape))
        if value is msgspec.UNSET and parameter.required:
            most = [limit.maximum for limit in _limits(parameter)]
            value = min(A_FEW, *most) if most else shown_argument(parameter, method, wire)
        if parameter.required and value is None:
            return []
        if value is not msgspec.UNSET and (parameter.required or not method.positional):
            given.append({"name": _name(parameter, wire), "value": value})
    result = {"name": "result", "value": result_default(method, wire)}
    return [{"name": "example", "params": given, "result": result}]


def _example(shape: Shape) -> Any:
    """Return an example value for an account name, or a list or tuple of account names. Return UNSET for any other shape."""
    match shape:
        case Declared(of=Bounded()):
            return SOMEBODY
        case ListShape(element=element):
            inner = _example(element)
            return inner if inner is msgspec.UNSET else [inner]
        case TupleShape(elements=elements):
            members = [_example(element) for element in elements]
            return msgspec.UNSET if msgspec.UNSET in members else members
    return msgspec.UNSET
