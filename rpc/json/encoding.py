"""Encodes values as JSON bytes."""

import re
from typing import Any

import msgspec

_SURROGATE = re.compile("[\ud800-\udfff]")
_encode = msgspec.json.Encoder().encode


def encoded(value: Any) -> bytes:
    """Encode a value as JSON. Surrogates represent bytes that aren't valid UTF-8, and are replaced by U+FFFD."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _encode(scrubbed(msgspec.to_builtins(value)))


def scrubbed(value: Any) -> Any:
    """Replace each surrogate in the strings of a JSON value by U+FFFD."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, (list, tuple)):
        return [scrubbed(item) for item in value]
    if isinstance(value, dict):
        return {scrubbed(key): scrubbed(item) for key, item in value.items()}
    return value
