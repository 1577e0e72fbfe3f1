"""What jsonrpc.get_signature shows of a method: arguments and result as they are by default; nothing here knows requests.

Source: rpc-api.md §1.11.
"""

from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

import msgspec

from rpc.service.arguments import LEGACY, Form, argument, shown_default
from rpc.service.method import Method, default_of
from rpc.service.show import Of
from state.protocol.transaction import Wire

NO_RESULT = (None, type(None), Any, object)


def signature(method: Method, wire: Wire) -> dict[str, Any]:
    """Default-valued arguments and result of a method."""
    return {"args": _arguments(method, wire), "ret": result_default(method.returns, wire, method.form)}


def result_default(annotation: Any, wire: Wire, form: Form) -> Any:
    """A result of this type with nothing in it; an empty object for records whose members aren't declared."""
    for mark in getattr(annotation, "__metadata__", ()):
        if isinstance(mark, Of):
            return wire.codecs.blank(mark.record, form is LEGACY)
    if annotation in NO_RESULT or annotation is dict or get_origin(annotation) is dict:
        return {}
    if annotation is list or get_origin(annotation) is list:
        return []
    if is_typeddict(annotation):
        hints = get_type_hints(annotation, include_extras=True)
        return {name: result_default(hint, wire, form) for name, hint in hints.items() if type(None) not in get_args(hint)}
    try:
        shown = argument(annotation, wire, form).shown()
    except TypeError:
        return {}
    return None if shown is msgspec.UNSET else shown


def _arguments(method: Method, wire: Wire) -> Any:
    if method.positional:
        return []
    if method.raw:
        return {}
    out = {}
    for parameter in method.parameters:
        member = argument(parameter.annotation, wire, method.form)
        shown = shown_default(default_of(parameter, member), member)
        if shown is not msgspec.UNSET:
            out[wire.spec.spell(parameter.name.rstrip("_"))] = shown
    return out
