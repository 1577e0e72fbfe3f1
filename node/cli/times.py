"""Parses durations and times on the command line: `7d`, `2h30m`, `+1h`, `2026-01-31T12:00:00`."""

import re
from datetime import UTC, datetime

from node.runtime.errors import NodeError
from state.protocol.values.integers import UINT32_MAX, WORD32

UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
DURATION = re.compile(r"(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s?)?", re.ASCII)
DIGITS_MAX = 10
HALF32 = 1 << 31


def duration(text: str) -> int:
    """Parse a duration such as 7d, 2h30m or 90s, in which longer units come first. A number without a unit is in seconds. Raises
    NodeError.
    """
    match = DURATION.fullmatch(text.strip())
    if match is None or not any(match.groups()) or any(len(part or "") > DIGITS_MAX for part in match.groups()):
        raise NodeError(f"{text!r} is not a duration. Expected, for example, 90s, 30m, 2h30m, 7d or 1w, or a number of seconds.")
    return sum(int(part or 0) * seconds for part, seconds in zip(match.groups(), UNITS.values(), strict=True))


def moment(text: str, now: int) -> int:
    """Parse a time: an ISO date and time in UTC, or +DURATION after `now`. Return seconds since 1970. Raises NodeError."""
    if text.startswith("+"):
        seconds = now + duration(text[1:])
    else:
        try:
            given = datetime.fromisoformat(text.strip())
        except ValueError:
            raise NodeError(f"{text!r} is not a time. Expected, for example, 2026-01-31T12:00:00 (UTC), or +1h.") from None
        seconds = int((given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp())
    if not -HALF32 <= seconds <= UINT32_MAX:
        raise NodeError(f"{text!r} is out of the range of the chain's times, which end in 2106.")
    # Nodes write times after 2038 as dates before 1970. Such dates are accepted as input.
    return seconds % WORD32


def seconds_of(text: str) -> int:
    """Parse a time from a node. Return seconds since 1970. Times after 2038, which nodes write as dates before 1970, are converted back."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) % WORD32


def span_text(seconds: int) -> str:
    """Format a duration in its two largest units, for example `2h 30m`."""
    parts: list[str] = []
    for unit, size in UNITS.items():
        count, seconds = divmod(seconds, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count}{unit}")
    return " ".join(parts[:2])
