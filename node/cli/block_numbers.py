"""Parses block numbers and ranges on the command line, for example 1M, 100k, 1_000 or 1M:2M."""

import re

from node.runtime.errors import NodeError

UNITS: dict[str, int] = {"": 1, "k": 10**3, "m": 10**6}
NUMBER = re.compile(r"(\d{1,12})(?:\.(\d{1,6}))?([km]?)", re.ASCII | re.IGNORECASE)
BLOCK_MAX = (1 << 32) - 1


def count(text: str, option: str, *, least: int = 0) -> int:
    """Parse a number, for example 100000, 100_000, 100k or 1.5M. Raises NodeError that names the option, also if it is below `least`."""
    found = NUMBER.fullmatch(text.replace("_", ""))
    if found is not None:
        whole, fraction, unit = found[1], found[2] or "", UNITS[found[3].lower()]
        number, rest = divmod(int(whole + fraction) * unit, 10 ** len(fraction))
        if not rest and least <= number <= BLOCK_MAX:
            return int(number)
    what = f"Expected a whole number from {least:,} to {BLOCK_MAX:,}, for example 100000, 100k or 1.5M."
    raise NodeError(f"{option} {text!r} is not a number of blocks. {what}")


def block_range(text: str, option: str) -> tuple[int, int | None]:
    """Return the first and the last block of a range FIRST:END, which doesn't include END. The last block is None if END is missing. Raises
    NodeError.
    """
    start, colon, stop = text.partition(":")
    if not colon:
        raise NodeError(f"{option} {text!r} is not a range. Expected FIRST:END, for example 1M:2M, 1M: or :2M.")
    first, end = count(start or "1", option), count(stop, option) if stop else None
    if end is not None and end <= max(first, 1):
        raise NodeError(f"{option} {text} contains no block, since it ends before block {end:,}.")
    return max(first, 1), None if end is None else end - 1
