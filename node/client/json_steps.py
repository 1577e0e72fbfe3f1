"""Incremental parsing of JSON from other nodes, so that other tasks run in between."""

import json
from collections.abc import Generator
from typing import Any

from node.client.errors import TooLarge
from rpc.json.incremental import JsonSyntaxError, first_value
from rpc.json.reader import MARKS_MAX, count_marks, pieces

# Larger texts are parsed in steps. A text of this size takes at most some 10 ms.
WHOLE_SIZE_MAX = 250_000


def json_in_steps(text: bytes) -> Generator[None, None, Any]:
    """Parse a JSON text, yielding after each step. Raises ValueError or RecursionError for malformed texts, and TooLarge."""
    if len(text) <= WHOLE_SIZE_MAX:
        return json.loads(text)
    marks = 0
    for piece in pieces(text):
        marks += count_marks(piece)
        yield
    if marks > MARKS_MAX:
        raise TooLarge(f"a text of JSON has more than {MARKS_MAX} commas and brackets")
    try:
        return (yield from first_value(text, 0))
    except JsonSyntaxError as error:
        raise ValueError(error.reason) from None
