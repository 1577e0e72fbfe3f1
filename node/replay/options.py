"""Reads what the command line says of a replay: moments of a chain, checkpoints, and which options fit together."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from node.history.apply import BlockPoint
from node.runtime.errors import NodeError
from state.protocol.transaction import block_number

_CHECKPOINT = re.compile(r"([0-9]{1,10}):([0-9a-fA-F]{40})", re.ASCII)


def read_point(text: str) -> BlockPoint:
    """Return the moment that `N` or `N:T` names. Raises NodeError."""
    if (point := BlockPoint.parse(text)) is None:
        raise NodeError(f"--until {text} is no place in a chain; expected N, a block, or N:T, inside block N after T transactions")
    return point


def read_checkpoints(texts: Iterable[str]) -> dict[int, bytes]:
    """Return the ids of checkpoints, each given as `N:ID`, by number. Raises NodeError."""
    ids: dict[int, bytes] = {}
    for text in texts:
        found = _CHECKPOINT.fullmatch(text)
        if found is None:
            raise NodeError(f"--checkpoint {text}: expected N:ID, the number of a block and its id in 40 hex digits")
        number, block_id = int(found[1]), bytes.fromhex(found[2])
        if block_number(block_id) != number:
            raise NodeError(f"--checkpoint {text}: this is the id of a block {block_number(block_id)}, as its first 8 digits say")
        if ids.setdefault(number, block_id) != block_id:
            raise NodeError(f"--checkpoint {text}: there is another one for block {number}")
    return ids


def require_together(alone: Mapping[str, object], parallel: str | None, snapshots: Path | None) -> None:
    """Raise NodeError for options that contradict each other; `alone` are those that --parallel doesn't take, with their values."""
    if parallel is not None:
        if given := [name for name, value in alone.items() if value]:
            raise NodeError(f"--parallel checks the whole file and keeps nothing: leave out {' and '.join(given)}")
        if snapshots is None:
            raise NodeError("--parallel needs snapshots at which its ranges begin: name their folder with --snapshots")
    if alone["--from"] and alone["--data"]:
        how = "install the snapshot in it first: coind snapshot load FILE --data DIR"
        raise NodeError(f"--from and --data contradict each other, since a data folder has its blocks from the first one on; {how}")
