"""Intervals at which the rows of a table are read: a number of blocks, or a time."""

import re

UNITS = {"d": 86_400, "h": 3_600, "min": 60}
PERIOD = re.compile(r"([1-9][0-9]{0,5})(d|h|min)", re.ASCII)


def is_due(blocks: int, seconds: int, number: int, time: int, before: int) -> bool:
    """Whether rows are read after block `number`: a multiple of `blocks`, or the first block at or after a multiple of `seconds`.

    An interval of 0 means never. `time` is the time of the block and `before` that of the previous block, 0 for block 1.
    """
    return (blocks > 0 and not number % blocks) or (seconds > 0 and time // seconds > before // seconds)


def period(text: str) -> int | None:
    """Parse a time interval, for example 1d, 6h or 30min. Return seconds, or None for another text."""
    found = PERIOD.fullmatch(text)
    return None if found is None else int(found[1]) * UNITS[found[2]]


def period_text(seconds: int) -> str:
    """Format a time interval in the largest unit that divides it, for example `1d`."""
    unit, size = next((unit, size) for unit, size in UNITS.items() if not seconds % size)
    return f"{seconds // size}{unit}"
