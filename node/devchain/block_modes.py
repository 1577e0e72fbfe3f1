"""Block modes, as set by `--blocks` and `dev_api.set_block_mode`: they determine when a node makes blocks."""

import re
from typing import Literal

from msgspec import Struct

from node.runtime.errors import NodeError

SECONDS_MIN, SECONDS_MAX = 0.1, 86_400
NUMBER = re.compile(r"[0-9]{1,5}(\.[0-9]{1,3})?")
TAKEN = "interval, interval:SECONDS, instant, manual, or mixed:SECONDS"

# Handling of the slots that a time jump skips: missed (no blocks) or produced (one block each).
Leap = Literal["missed", "produced"]
Kind = Literal["interval", "instant", "manual", "mixed"]


class BlockMode(Struct, frozen=True):
    """Mode that determines when blocks are made.

    * `interval`: a block in each slot of the clock or, if `seconds` is set, a block every `seconds` of real time.
    * `instant`: a block after each accepted transaction.
    * `manual`: blocks only on request.
    * `mixed`: like `instant`, and also a block when `seconds` have passed since the last one.
    """

    kind: Kind = "interval"
    seconds: float = 0.0  # 0: no timer

    @property
    def is_by_slots(self) -> bool:
        """Whether a block is made in each slot, at the slot's time."""
        return self.kind == "interval" and not self.seconds

    @property
    def is_instant(self) -> bool:
        """Whether an accepted transaction is included in a block before its sender is answered (automine)."""
        return self.kind in ("instant", "mixed")

    def __str__(self) -> str:
        return f"{self.kind}:{self.seconds:g}" if self.seconds else self.kind


WITHOUT_SECONDS = {str(mode): mode for mode in (BlockMode("interval"), BlockMode("instant"), BlockMode("manual"))}


def block_mode(text: str) -> BlockMode:
    """Parse a block mode. Raises NodeError for an invalid one."""
    if text in WITHOUT_SECONDS:
        return WITHOUT_SECONDS[text]
    name, _, seconds = text.partition(":")
    if name not in ("interval", "mixed"):
        raise NodeError(f"{text!r} is not a block mode; expected {TAKEN}")
    if not NUMBER.fullmatch(seconds) or not SECONDS_MIN <= float(seconds) <= SECONDS_MAX:
        raise NodeError(f"{text!r} is not a block mode; expected {TAKEN}, with a number of seconds from {SECONDS_MIN} to {SECONDS_MAX}")
    return BlockMode("interval" if name == "interval" else "mixed", float(seconds))


def is_possible(mode: BlockMode) -> bool:
    """Whether `block_mode` can return this mode. Modes read from files are checked with it."""
    if mode.kind not in ("interval", "mixed") or (mode.kind == "interval" and not mode.seconds):
        return not mode.seconds
    return SECONDS_MIN <= mode.seconds <= SECONDS_MAX
