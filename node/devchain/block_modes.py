"""When a node makes blocks, as the option `--blocks` and `dev_api.set_block_mode` say it. It must not know how."""

import re
from typing import Literal

from msgspec import Struct

from node.runtime.errors import NodeError

SECONDS_MIN, SECONDS_MAX = 0.1, 86_400
NUMBER = re.compile(r"[0-9]{1,5}(\.[0-9]{1,3})?")
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


WITHOUT_SECONDS = {str(mode): mode for mode in (BlockMode("interval"), BlockMode("instant"), BlockMode("manual"))}


def block_mode(text: str) -> BlockMode:
    """Return the mode that a text names; raises NodeError, which says what is taken."""
    if text in WITHOUT_SECONDS:
        return WITHOUT_SECONDS[text]
    name, _, seconds = text.partition(":")
    if name not in ("interval", "mixed"):
        raise NodeError(f"{text!r} is no block mode; expected {TAKEN}")
    if not NUMBER.fullmatch(seconds) or not SECONDS_MIN <= float(seconds) <= SECONDS_MAX:
        raise NodeError(f"{text!r} is no block mode; expected {TAKEN}, with a number of seconds from {SECONDS_MIN} to {SECONDS_MAX}")
    return BlockMode("interval" if name == "interval" else "mixed", float(seconds))


def is_possible(mode: BlockMode) -> bool:
    """Whether there is a text that names a mode."""
    if mode.kind not in ("interval", "mixed") or (mode.kind == "interval" and not mode.seconds):
        return not mode.seconds
    return SECONDS_MIN <= mode.seconds <= SECONDS_MAX
