"""Plays a recorded case in this process: blocks, broadcasts and fed blocks straight into a `Chain`, queries into a service.

What counts as equal is what tests/conformance/run.py says; this is the same play without HTTP, for tests and for debugging:
`python -m tests.play CASE [--method PREFIX]`.
"""

import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import state.operations  # noqa: F401 - fills the registry
from node.specs import load_spec
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.plugins import PLUGINS, enable
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedBlock, frames
from tests.conformance import run

CASES = Path(__file__).parent / "cases"


class Player:
    """A chain at genesis, with the named plugins, and the events of a case, in the order of their steps."""

    def __init__(self, folder: Path, plugins: Iterable[str] = PLUGINS) -> None:
        self.folder = folder
        self.chain = Chain(new_state(load_spec("steem-testnet"), prepare=lambda state: enable(state, plugins)))
        self.wire = self.chain.state.wire
        log = folder / "block_log"
        self.log = log.read_bytes() if log.exists() else gzip.decompress((folder / "block_log.gz").read_bytes())
        self.places = list(frames(self.log))
        self.fed = False

    def events(self) -> list[dict[str, Any]]:
        """Broadcasts, fed blocks and queries by step."""
        feeds = [e | {"height": e["height_before"]} for e in run.lines(self.folder / "blocks.jsonl")]
        others = run.lines(self.folder / "queries.jsonl") + run.lines(self.folder / "broadcasts.jsonl")
        return sorted(others + feeds, key=lambda e: e["step"])

    def blocks(self) -> Iterator[SignedBlock]:
        """The blocks of the case's log."""
        for start, _ in self.places:
            yield self.wire.unpack_block(self.log, start)[0]

    def advance(self, height: int) -> None:
        """Push blocks from the log up to a height."""
        while self.chain.state.props.head_block_number < height and not self.fed:
            start, _ = self.places[self.chain.state.props.head_block_number]
            self.chain.push_block(self.wire.unpack_block(self.log, start)[0])

    def broadcast(self, event: dict[str, Any]) -> str | None:
        """Push a recorded transaction; what is wrong with the outcome, or None."""
        try:
            self.chain.push_transaction(self.wire.transaction_from_json(event["trx"]))
        except ChainError as error:
            if event["ok"]:
                return f"refused: {error.message(self.chain.state.spec.spell)}"
            text, wanted = error.message(self.chain.state.spec.spell), run.tail(event["error"])
            return None if wanted in text else f"text: wanted {wanted!r}, is {text!r}"
        return None if event["ok"] else f"accepted, wanted: {event['error']['message'][:200]}"

    def feed(self, event: dict[str, Any]) -> str | None:
        """Push a block as broadcast_block would; what is wrong with the outcome, or None."""
        self.fed = True
        accepted, text = True, ""
        try:
            self.chain.push_block(self.wire.block_from_json(event["block"]))
        except ChainError as error:
            accepted, text = False, error.message(self.chain.state.spec.spell)
        head = self.chain.state.props.head_block_id.hex()
        if accepted != event["accepted"] or head != event["head_after"]:
            return f"{event['note']}: accepted {accepted} ({text[:200]}), head {head}, wanted {event['accepted']} {event['head_after']}"
        return None


def play(folder: Path) -> tuple[Counter[str], list[str]]:
    """Play a case: what was counted, and what went wrong."""
    player = Player(folder)
    tally: Counter[str] = Counter()
    wrong: list[str] = []
    for event in player.events():
        player.advance(event["height"])
        if "method" in event:
            continue
        kind = "broadcasts" if "trx" in event else "blocks"
        tally[kind] += 1
        if kind == "broadcasts" and any(applies(event | {"reblogs": set()}) for applies, _ in run.DEFECTS):
            continue
        found = player.broadcast(event) if kind == "broadcasts" else player.feed(event)
        if found:
            operations = json.dumps(event["trx"]["operations"])[:300] if kind == "broadcasts" else ""
            wrong.append(f"step {event['step']} at {event['height']}: {found} {operations}")
    if not player.fed:
        player.advance(len(player.places))
    tally["head"] = player.chain.state.props.head_block_number
    return tally, wrong


def main() -> None:
    """Play the named cases, or all, and print what went wrong."""
    for name in sys.argv[1:] or sorted(p.name for p in CASES.iterdir()):
        try:
            tally, wrong = play(CASES / name)
        except ChainError as error:
            print(f"{name}: stopped: {error}")
            continue
        print(f"{name}: {dict(tally)}, {len(wrong)} wrong")
        for line in wrong[:20]:
            print("   ", line[:700])


if __name__ == "__main__":
    main()
