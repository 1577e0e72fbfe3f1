"""Calls a service in this process, without a socket or an event loop."""

import json
from collections.abc import Awaitable
from typing import Any

import msgspec

from node.client.jsonrpc import encode_call, result_of
from rpc.caller import LOCAL
from rpc.jsonrpc.dispatch import Service


def call(service: Service, method: str, params: Any) -> Any:
    """Return the result of a call that has local rights. Parameters can include datetimes. Raises RefusedCall."""
    answer = service.answer(encode_call(1, method, msgspec.to_builtins(params)), LOCAL)
    return result_of(method, json.loads(answer if isinstance(answer, bytes) else _finished(answer)))


def _finished(answer: Awaitable[bytes]) -> bytes:
    """Run the coroutine of a call that never blocks, and return its result."""
    steps = answer.__await__()
    try:
        next(steps)
    except StopIteration as done:
        result: bytes = done.value
        return result
    raise AssertionError("in-process calls never block")
