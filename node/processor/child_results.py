"""The results and refusals of functions that run in a forked child, as bytes."""

from collections.abc import Callable
from typing import Any

import msgspec

from state.protocol.errors import Refused

VALUE_SIZE_MAX = 2_000  # characters of a value in a refusal


def encoded_result(work: Callable[[], object]) -> bytes:
    """Run a function and encode its result or its refusal, for `decoded_result`. Long values of a refusal are cut."""
    try:
        return msgspec.msgpack.encode((work(), None))
    except Refused as error:
        values = {name: str(value)[:VALUE_SIZE_MAX] for name, value in error.values.items()}
        return msgspec.msgpack.encode((None, (error.text, error.condition, values)))


def decoded_result(data: bytes) -> Any:
    """Return the result of a function, or raise its refusal."""
    result, refusal = msgspec.msgpack.decode(data)
    if refusal is not None:
        text, condition, values = refusal
        raise Refused(text, condition=condition, **values)
    return result
