"""When a node makes blocks, as the command line and `dev_api` name it. It must not know who makes them."""

import re
from typing import Literal

from msgspec import Struct

from node.failures import NodeError
from state.protocol.constants import COIN_BLOCK_INTERVAL

Leap = Literal["missed", "produced"]
Kind = Literal["interval", "instant", "manual", "mixed"]

SECONDS_MAX = 86_400
MODES = "interval, interval:SECONDS, instant, manual or mixed:SECONDS"


class BlockMode(Struct, frozen=True):
    """When blocks are made: by the clock (`interval`), one for each accepted transaction (`instant`), only when asked (`manual`),
    or at once and at least every so often (`mixed`). `seconds` is the time between blocks, 0 in modes without a clock.
    """

    kind: Kind = "interval"
    seconds: float = COIN_BLOCK_INTERVAL

    def __str__(self) -> str:
        if self.kind == "mixed" or (self.kind == "interval" and self.seconds != COIN_BLOCK_INTERVAL):
            return f"{self.kind}:{self.seconds:g}"
        return self.kind


def block_mode(text: str) -> BlockMode:
    """Return the mode that a text names. Raises NodeError."""
    match = re.fullmatch(r"(?a:(interval|mixed)(?::(\d{1,5}(?:\.\d{1,3})?))?|(instant|manual))", text)
    if match is not None and match[3]:
        return BlockMode("instant" if text == "instant" else "manual", 0)
    if match is not None and match[2]:
        seconds = float(match[2])
        if 0 < seconds <= SECONDS_MAX:
            return BlockMode("mixed" if match[1] == "mixed" else "interval", seconds)
    elif text == "interval":
        return BlockMode()
    raise NodeError(f"{text!r} is no way to make blocks; expected {MODES}, of more than 0 and at most {SECONDS_MAX} seconds")
