"""Lines and JSON from the bytes that another node sends, however it sends them. It knows neither where they come from nor what they say."""

import json
from collections.abc import Generator
from typing import Any

from node.commands.client import NoNode
from rpc.service.large import Unreadable, first_value
from rpc.service.reading import MARKS_MAX, count_marks, pieces

LINE_SIZE_MAX = 16 << 20
# Larger texts are read in steps: to read one of this size takes some 10 ms at worst.
WHOLE_SIZE_MAX = 250_000


class TooLarge(NoNode):
    """A reply has more bytes, or more values, than are read."""


class Cutter:
    """Puts lines together; each byte is copied a bounded number of times, however small the parts are in which they come."""

    def __init__(self) -> None:
        self._begun = bytearray()

    @property
    def size(self) -> int:
        """How many bytes there are of a line that isn't whole."""
        return len(self._begun)

    def add(self, part: bytes) -> list[bytes]:
        """Return the lines that are whole with a part, without their ends. Raises NoNode for a line without end."""
        first, *rest = part.split(b"\n")
        self._begun += first
        lines: list[bytes] = []
        if rest:
            lines = [bytes(self._begun), *rest[:-1]]
            self._begun = bytearray(rest[-1])
        if len(self._begun) > LINE_SIZE_MAX:
            raise NoNode(f"a line of the stream has more than {LINE_SIZE_MAX >> 20} MiB")
        return lines


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
    except Unreadable as error:
        raise ValueError(error.reason) from None
