"""JSON-RPC error objects for refusals. Source: rpc-api.md §1.7, §1.8."""

import os
from collections.abc import Callable
from math import ceil
from typing import Any

from msgspec import Struct

from state.protocol.codec.fields import BUILT_IN, wire_fields
from state.protocol.errors import ChainError, Refused
from state.protocol.transaction import SignedTransaction, Wire
from state.protocol.values.convert import json_int
from state.protocol.values.integers import WORD32
from state.protocol.values.text import time_text
from state.protocol.work import TooMuchWork

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
SERVER_ERROR = -32000
INVALID_PARAMETERS = -32602
NO_PARAMS = -32001
DISPATCH_ERROR = -32002
CALL_ERROR = -32003

ASSERTION = Refused.CODE
INTERNAL = "Unknown error - parsing rpc message failed"

Clock = Callable[[], float]


class PushFailed(Exception):
    """Raised if a pushed transaction or block is refused. In this case, failed assertions also have the error code of server errors
    (rpc-api.md §7.1).

    `transaction` is the refused transaction, or None for a block. `units` is the work to charge to its sender.
    """

    def __init__(self, error: ChainError, transaction: SignedTransaction | None = None) -> None:
        super().__init__(error)
        self.error, self.transaction, self.units = error, transaction, 0


class NotServed(Exception):
    """Raised for a method that is listed but not served. The client gets the same reply as for an unknown method (rpc-api.md §9.2)."""

    def __init__(self, method: str) -> None:
        error = Refused("Could not find method ${method}", condition="method_itr != api_itr->second.end()", method=method)
        super().__init__(error)
        self.error = error


class InvalidRequest(Exception):
    """Raised if the received value is not a JSON-RPC request."""


class InvalidParameters(Exception):
    """Raised if a method of `bridge` refuses its arguments, with the reference's message (social.md §3.1)."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class BadArgument(Exception):
    """Raised if an argument is refused. `name` is the argument's name. For a member of an object it includes both names: `query.tag`.

    If the argument is a transaction that can't be parsed, `unread` contains its JSON, and whether it is in the condenser's form.
    """

    def __init__(self, refused: "ChainError | BadArgument", name: str, unread: tuple[Any, bool] | None = None) -> None:
        super().__init__(refused)
        self.unread = unread
        self.error: ChainError = refused if isinstance(refused, ChainError) else refused.error
        self.name: str = name if isinstance(refused, ChainError) else f"{name}.{refused.name}"


class UpstreamError(Exception):
    """Raised if another node replies to a forwarded call with an error. The client receives that node's error object (`error`)."""

    def __init__(self, said: dict[str, Any]) -> None:
        super().__init__(said.get("message"))
        self.error = said


class NotEnabled(Exception):
    """Raised for a method that needs at least one of `plugins`, if none of them is enabled."""

    def __init__(self, error: Refused, plugins: tuple[str, ...]) -> None:
        super().__init__(error)
        self.error = error
        self.plugins = plugins


def code_of(error: ChainError, assertion: int) -> int:
    """Return the JSON-RPC error code of a refusal. `assertion` is the code to use for assertions."""
    return assertion if error.CODE == ASSERTION else SERVER_ERROR


def plain_error(code: int, message: str) -> dict[str, Any]:
    """Return an error object of the JSON-RPC layer, which has only a code and a message."""
    return {"code": code, "message": message}


def invalid_parameters(error: InvalidParameters) -> dict[str, Any]:
    """Return the error object for arguments that a method of `bridge` refuses."""
    return {"code": INVALID_PARAMETERS, "message": "Invalid parameters", "data": error.text}


def internal_error() -> dict[str, Any]:
    """Return the error object for a bug in the node. Only the node's log contains the details."""
    return {"code": SERVER_ERROR, "message": INTERNAL, "data": "internal error, see the log of the node"}


def error_object(error: ChainError, code: int, wire: Wire, clock: Clock) -> dict[str, Any]:
    """Return the error object for a refusal, with the names and symbols of a chain.

    `clock` returns seconds since 1970. The object contains this time.
    """
    spell = wire.spec.spell
    context = _context(error, clock)
    frames = [(error.format, error.values), (error.context, {}), *error.frames]
    stack = [
        {"context": context, "format": spell(format_), "data": {key: jsonable(v, wire) for key, v in values.items()}}
        for format_, values in frames
        if format_ or values is error.values
    ]
    return {
        "code": code,
        "message": error.message(spell),
        "data": {"code": error.CODE, "name": error.NAME, "message": spell(error.what), "stack": stack} | _of_limits(error),
    }


def _of_limits(error: ChainError) -> dict[str, Any]:
    """Return the members that are added to `error.data` if a work limit was exceeded."""
    if isinstance(error, TooMuchWork):
        return {"units": error.units, "limit": error.limit, "kinds": error.kinds}
    return {"retry_after_seconds": error.seconds} if isinstance(error, RefusedTooOften) else {}


def jsonable(value: object, wire: Wire) -> Any:
    """Convert a value in a refusal to JSON. Numbers and strings stay unchanged. Values of declared types are encoded in the NAI form."""
    if value is None or isinstance(value, (str, bool, float)):
        return value
    if isinstance(value, int):
        return json_int(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonable(item, wire) for item in value]
    if isinstance(value, dict):
        return {str(key): jsonable(item, wire) for key, item in value.items()}
    if isinstance(value, ChainError):
        return value.message(wire.spec.spell)
    if isinstance(value, Struct) and (type(value) in BUILT_IN or wire_fields(type(value))):
        return wire.codecs.dump(value)
    return str(value)


def _context(error: ChainError, clock: Clock) -> dict[str, Any]:
    """Return the source position of this refusal in the reference, and the current time."""
    file, line, method = "", 0, ""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_name not in ("require", "existing"):
            file, line, method = os.path.basename(code.co_filename), trace.tb_lineno, code.co_name
        trace = trace.tb_next
    stamp = time_text(int(clock()) % WORD32)
    return {"level": "error", "file": file, "line": line, "method": method, "hostname": "", "timestamp": stamp}


class RefusedTooOften(Refused):
    """Raised if a client has used up its allowance of refused work. It may try again after `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = ceil(seconds * 10) / 10
        text = "Too many transactions from this address were refused. Try again in ${seconds} s"
        super().__init__(text, condition="allowance >= min", seconds=self.seconds)
