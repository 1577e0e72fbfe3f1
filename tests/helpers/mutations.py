"""Damages valid requests at random: values of other types, missing or repeated members, and invalid text."""

import json
from copy import deepcopy
from random import Random
from typing import Any

JUNK: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    2**32,
    2**63,
    2**64,
    10**30,
    1.5,
    -1e300,
    "",
    "x",
    "x" * 300,
    "alice",
    "\0",
    "\ud83d\ude00",
    "${id}",
    "1.000 TESTS",
    "2038-01-19T03:14:08",
    "00" * 40,
    [],
    {},
    [[]],
    {"type": "transfer_operation"},
    {"amount": "1", "precision": 3, "nai": "@@000000021"},
    {"type": 99, "value": {}},
)


def places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Append the container and the key of every value inside a JSON value to `found`, and return `found`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            found.append((value, key))
            places(inner, found)
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            found.append((value, i))
            places(inner, found)
    return found


def damaged_value(random: Random, value: Any) -> Any:
    """Return a replacement for a value, often similar to it."""
    choice = random.randrange(6)
    if choice == 0 and isinstance(value, str) and value:
        i = random.randrange(len(value))
        return value[:i] + chr(random.choice((0, 9, 48, 97, 127, 233, 0xFFFF))) + value[i + 1 :]
    if choice == 1 and isinstance(value, str):
        return value[: random.randrange(len(value) + 1)]
    if choice == 2 and isinstance(value, int):
        return value + random.choice((-1, 1, 2**16, -(2**31), 2**40))
    if choice == 3 and isinstance(value, list):
        return value + deepcopy(value)
    if choice == 4:
        return [value]
    return deepcopy(random.choice(JUNK))


def damaged(random: Random, request: Any) -> bytes:
    """Return the bytes of a request with one to three defects."""
    request = json.loads(json.dumps(request))
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        found = places(request, [])
        if not found:
            break
        container, key = random.choice(found)
        if random.random() < 0.2:
            del container[key]
        else:
            container[key] = damaged_value(random, container[key])
    body = json.dumps(request).encode()
    if random.random() < 0.1:
        i = random.randrange(len(body))
        body = random.choice(
            (body[:i], body[:i] + bytes((random.randrange(256),)) + body[i + 1 :], body[:i] + b"[{" * 60 + body[i:], body + body)
        )
    return body
