"""JSON from another node, read in steps so that other tasks have their turn."""

import json
from collections.abc import Generator
from typing import Any

from node.client.errors import TooLarge
from rpc.json.incremental import JsonSyntaxError, first_value
from rpc.json.reader import MARKS_MAX, count_marks, pieces

# Larger texts are read in steps: to read one of this size takes some 10 ms at worst.
WHOLE_SIZE_MAX = 250_000


def json_in_steps(text: bytes) -> Generator[None, None, Any]:
    """Return the value of a JSON text; yields after each step. Raises ValueError and RecursionError for what is none, and TooLarge."""
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
