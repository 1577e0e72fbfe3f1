"""Parses and checks the options of a replay: positions in a chain, checkpoints, and combinations of options."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from node.history.apply import BlockPoint
from node.runtime.errors import NodeError
from state.protocol.transaction import block_number

_CHECKPOINT = re.compile(r"([0-9]{1,10}):([0-9a-fA-F]{40})", re.ASCII)


def read_point(text: str) -> BlockPoint:
    """Parse a position, `N` or `N:T`. Raises NodeError."""
    if (point := BlockPoint.parse(text)) is None:
        raise NodeError(f"--until {text} is not a position in a chain. Expected N for a block, or N:T for T transactions of block N.")
    return point


def read_checkpoints(texts: Iterable[str]) -> dict[int, bytes]:
    """Parse checkpoints, each `N:ID`. Return the ids, keyed by block number. Raises NodeError."""
    ids: dict[int, bytes] = {}
    for text in texts:
        found = _CHECKPOINT.fullmatch(text)
        if found is None:
            raise NodeError(f"--checkpoint {text}: expected N:ID, the number of a block and its id in 40 hex digits")
        number, block_id = int(found[1]), bytes.fromhex(found[2])
        if block_number(block_id) != number:
            raise NodeError(f"--checkpoint {text}: this id belongs to block {block_number(block_id)}. Check the number or the id.")
        if ids.setdefault(number, block_id) != block_id:
            raise NodeError(f"--checkpoint {text}: another checkpoint has a different id for block {number}")
    return ids


def require_together(alone: Mapping[str, object], parallel: str | None, snapshots: Path | None) -> None:
    """Raise NodeError for options that can't be combined. `alone` contains the values of the options that exclude --parallel."""
    if parallel is not None:
        if given := [name for name, value in alone.items() if value]:
            raise NodeError(f"--parallel verifies the whole file and stores nothing. Omit {' and '.join(given)}.")
        if snapshots is None:
            raise NodeError("--parallel needs snapshots for its ranges. Give their folder by --snapshots.")
    if alone["--from"] and alone["--data"]:
        how = "Install the snapshot first: coind snapshot load FILE --data DIR"
        raise NodeError(f"--from and --data contradict each other, since a data folder has all its blocks from the first one on. {how}")
