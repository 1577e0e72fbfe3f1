"""Error objects of replies, made from refusals. Source: rpc-api.md §1.7, §1.8."""

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
    """A refusal while a transaction or block was pushed, where assertions are server errors as well (rpc-api.md §7.1).

    `transaction` is the refused transaction, None for a block; `units` is the work charged to its sender.
    """

    def __init__(self, error: ChainError, transaction: SignedTransaction | None = None) -> None:
        super().__init__(error)
        self.error, self.transaction, self.units = error, transaction, 0


class NotServed(Exception):
    """A call of a method that is listed but not served; the reply is that of an unknown method (rpc-api.md §9.2)."""

    def __init__(self, method: str) -> None:
        error = Refused("Could not find method ${method}", condition="method_itr != api_itr->second.end()", method=method)
        super().__init__(error)
        self.error = error


class InvalidRequest(Exception):
    """The received value is not a JSON-RPC request."""


class InvalidParameters(Exception):
    """A refusal of arguments by a method of `bridge`, with the reference's text (social.md §3.1)."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class BadArgument(Exception):
    """A refusal of an argument, with its name. The name of a member of an object includes the argument: `query.tag`.

    If the argument is a transaction, `unread` is the JSON that can't be parsed, and whether it is in the condenser's form.
    """

    def __init__(self, refused: "ChainError | BadArgument", name: str, unread: tuple[Any, bool] | None = None) -> None:
        super().__init__(refused)
        self.unread = unread
        self.error: ChainError = refused if isinstance(refused, ChainError) else refused.error
        self.name: str = name if isinstance(refused, ChainError) else f"{name}.{refused.name}"


class UpstreamError(Exception):
    """An error reply of another node to a forwarded call. `error` is its error object, which the client gets unchanged."""

    def __init__(self, said: dict[str, Any]) -> None:
        super().__init__(said.get("message"))
        self.error = said


class NotEnabled(Exception):
    """A call of a method that needs one of `plugins`, which are all off."""

    def __init__(self, error: Refused, plugins: tuple[str, ...]) -> None:
        super().__init__(error)
        self.error = error
        self.plugins = plugins


def code_of(error: ChainError, assertion: int) -> int:
    """Return the JSON-RPC code of a refusal; `assertion` is the code for assertions."""
    return assertion if error.CODE == ASSERTION else SERVER_ERROR


def plain_error(code: int, message: str) -> dict[str, Any]:
    """Return an error object of the envelope itself."""
    return {"code": code, "message": message}


def invalid_parameters(error: InvalidParameters) -> dict[str, Any]:
    """Return the error object of `bridge`."""
    return {"code": INVALID_PARAMETERS, "message": "Invalid parameters", "data": error.text}


def internal_error() -> dict[str, Any]:
    """Return the error object for a bug in the node; the details are in its log."""
    return {"code": SERVER_ERROR, "message": INTERNAL, "data": "internal error, see the log of the node"}


def error_object(error: ChainError, code: int, wire: Wire, clock: Clock) -> dict[str, Any]:
    """Return the error object of a refusal, spelled for a chain. `clock` returns seconds since 1970, for its time stamps."""
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
    """Return the members of `error.data` about work limits."""
    if isinstance(error, TooMuchWork):
        return {"units": error.units, "limit": error.limit, "kinds": error.kinds}
    return {"retry_after_seconds": error.seconds} if isinstance(error, RefusedTooOften) else {}


def jsonable(value: object, wire: Wire) -> Any:
    """Return the JSON form of a value of a refusal: numbers and texts unchanged, declared types in the NAI form."""
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
    """Return the source position and time of a refusal."""
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
    """Refusal of a client that has used up its allowance of refused work; `seconds` until it may try again."""

    def __init__(self, seconds: float) -> None:
        self.seconds = ceil(seconds * 10) / 10
        text = "Too many transactions from this address were refused. Try again in ${seconds} s"
        super().__init__(text, condition="allowance >= min", seconds=self.seconds)
