"""When a node makes blocks, as the option `--blocks` and `dev_api.set_block_mode` say it. It must not know how."""

import math
from typing import Literal

from msgspec import Struct

from node.failures import NodeError

SECONDS_MIN, SECONDS_MAX = 0.1, 86_400
TAKEN = "interval, interval:SECONDS, instant, manual, or mixed:SECONDS"

# What a leap in time does with the slots in between: they are missed, or each gets its block.
Leap = Literal["missed", "produced"]
Kind = Literal["interval", "instant", "manual", "mixed"]


class BlockMode(Struct, frozen=True):
    """When blocks are made.

    `interval`: one in each slot by the clock; with `seconds`, one every so many seconds of real time. `instant`: one after each accepted
    transaction. `manual`: only when asked. `mixed`: as instant, and at the latest so many `seconds` after the last one.
    """

    kind: Kind = "interval"
    seconds: float = 0.0  # 0: the clock decides, or nobody

    @property
    def is_by_slots(self) -> bool:
        """Whether each slot gets its block when its time has come."""
        return self.kind == "interval" and not self.seconds

    @property
    def is_instant(self) -> bool:
        """Whether a transaction is put into a block before it is answered."""
        return self.kind in ("instant", "mixed")

    def __str__(self) -> str:
        return f"{self.kind}:{self.seconds:g}" if self.seconds else self.kind


def block_mode(text: str) -> BlockMode:
    """Return the mode that a text names; raises NodeError, which says what is taken."""
    name, colon, rest = text.partition(":")
    if name == "interval" and not colon:
        return BlockMode("interval")
    if name == "instant" and not colon:
        return BlockMode("instant")
    if name == "manual" and not colon:
        return BlockMode("manual")
    if name not in ("interval", "mixed"):
        raise NodeError(f"{text!r} is no block mode; expected {TAKEN}")
    try:
        seconds = float(rest)
    except ValueError:
        seconds = math.nan
    if not SECONDS_MIN <= seconds <= SECONDS_MAX:
        raise NodeError(f"{text!r} is no block mode; expected {TAKEN}, with a number of seconds from {SECONDS_MIN} to {SECONDS_MAX}")
    return BlockMode("interval" if name == "interval" else "mixed", seconds)
