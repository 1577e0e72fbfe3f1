"""Compares JSON values with the shapes of results in methods.json. The tests check every reply in this way."""

import re
from collections.abc import Iterator
from typing import Any

from tests.conftest import described_methods

TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
TEXTS = {
    "hex40": re.compile(r"[0-9a-f]{40}"),
    "hex64": re.compile(r"[0-9a-f]{64}"),
    "hex130": re.compile(r"[0-9a-f]{130}"),
    "uint128_string": re.compile(r"\d{1,39}"),
    "decimal_string": re.compile(r"-?\d+"),
    "decimal_string17": re.compile(r"-?\d+\.\d{17}"),
    "timestamp": TIMES,
    "public_key": re.compile(r"TST[1-9A-HJ-NP-Za-km-z]{36,51}"),
    "legacy_asset": re.compile(r"-?(\d+\.\d{3} (COIN|SBD)|\d+\.\d{6} VESTS)"),
    "name": re.compile(r"[a-z0-9.-]{0,16}"),
    "curve_name": re.compile(r"[a-z_]+"),
    "string": re.compile(r".*", re.DOTALL),
}
NAI = {"amount": re.compile(r"-?\d+"), "nai": re.compile(r"@@\d{9}")}
WORD_MAX = 2**32 - 1
MAP = re.compile(r"object<name,\{(\w+):(\w+)\}>")
ARRAY = re.compile(r"array<(.+)>(?:\[(\d+)\])?")


# Members of recorded replies that the descriptions lack: the other symbol of a bucket, on chains with tokens.
BUCKET_SYMBOL = {"symbol": {"nai": "string", "decimals": "int"}}


def shapes() -> dict[str, Any]:
    """Return the shape of each method's result."""
    described = {name: entry["result"] for name, entry in described_methods().items()}
    described["condenser_api.get_market_history"][0] |= BUCKET_SYMBOL
    described["market_history_api.get_market_history"]["buckets"][0] |= BUCKET_SYMBOL
    return described


def mismatches(shape: Any, value: Any, path: str = "$") -> Iterator[str]:
    """Yield the differences between a value and a shape: missing or extra members, other types, other texts."""
    if isinstance(shape, dict) and "$or_null" in shape:
        if value is not None:
            yield from mismatches(shape["$or_null"], value, path)
    elif isinstance(shape, dict) and "$map" in shape:
        yield from _object(dict.fromkeys(value, shape["$map"]), value, path)
    elif isinstance(shape, dict):
        yield from _object(shape, value, path)
    elif isinstance(shape, list) and len(shape) > 1:
        yield from _row(shape, value, path)
    elif isinstance(shape, list):
        yield from _array(shape[0], None, value, path)
    elif match := MAP.fullmatch(shape):
        yield from _object({name: {match[1]: match[2]} for name in value}, value, path)
    elif match := ARRAY.fullmatch(shape):
        yield from _array(match[1], match[2], value, path)
    elif shape.startswith("{"):
        yield from _object(dict(member.split(":") for member in shape.strip("{}").split(",")), value, path)
    elif not _is_plain(shape, value):
        yield f"{path}: {value!r} is no {shape}"


def _object(shape: dict[str, Any], value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path}: {value!r} is no object"
        return
    names = {name.rstrip("?"): inner for name, inner in shape.items()}
    for name in names:
        if name not in value and f"{name}?" not in shape:
            yield f"{path}.{name} is missing"
    for name, member in value.items():
        if name not in names:
            yield f"{path}.{name} is in no description"
        else:
            yield from mismatches(names[name], member, f"{path}.{name}")


def _row(shape: list[Any], value: Any, path: str) -> Iterator[str]:
    """Yield the differences of an array whose elements have individual shapes."""
    if not isinstance(value, list) or len(value) != len(shape):
        yield f"{path}: {value!r} is no array of {len(shape)}"
        return
    for i, (element, member) in enumerate(zip(shape, value, strict=True)):
        yield from mismatches(element, member, f"{path}[{i}]")


def _array(element: Any, size: str | None, value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, list) or (size is not None and len(value) != int(size)):
        yield f"{path}: {value!r} is no array of {size or 'any size'}"
        return
    for i, member in enumerate(value):
        if isinstance(element, str) and element.startswith("["):
            for j, (kind, part) in enumerate(zip(element.strip("[]").split(","), member, strict=True)):
                yield from mismatches(kind, part, f"{path}[{i}][{j}]")
        else:
            yield from mismatches(element, member, f"{path}[{i}]")


def _is_plain(shape: str, value: Any) -> bool:
    """Whether a value has the named primitive type."""
    if shape in TEXTS:
        return isinstance(value, str) and TEXTS[shape].fullmatch(value) is not None
    match shape:
        case "int":
            return type(value) is int and value <= WORD_MAX
        case "bigint":
            return (type(value) is int and value <= WORD_MAX) or (isinstance(value, str) and value.isdigit() and int(value) > WORD_MAX)
        case "number":
            return type(value) in (int, float)
        case "any":
            return True
        case "bool":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "nai_asset":
            texts = isinstance(value, dict) and value.keys() == {"amount", "precision", "nai"}
            return texts and all(pattern.fullmatch(value[name]) for name, pattern in NAI.items())
        case "legacy_operation":
            return isinstance(value, list) and len(value) == 2
        case "appbase_operation":
            return isinstance(value, dict) and value.keys() == {"type", "value"}
    raise AssertionError(f"unknown shape {shape}")
