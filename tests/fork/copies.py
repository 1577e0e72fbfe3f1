"""Complete copies of recorded chains, and the recorded events played on a recorded chain and on its copy side by side."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import trio
from msgspec.structs import replace
from trio.testing import MockClock

from node.fork.complete.copying import Copied, copy_all
from node.fork.source import Source
from node.snapshots.base import new_chain, read_base, write_base
from state.chain.chain import Chain
from state.chain.irreversible import no_block
from state.plugins.registry import PLUGINS
from state.protocol.errors import ChainError
from tests.conformance.play import Player
from tests.fork.sources import SourceNode

URL = "http://source"


def copied(player: Player, folder: Path, report: Callable[[str], None] = lambda text: None, on_call: Any = None) -> Copied:
    """Copy the chain of a recorded case. `on_call` is called with each method before the source answers, and can make blocks."""
    node = SourceNode(player.chain, "coind")
    if on_call is not None:
        node.on_call = on_call

    async def copy() -> Copied:
        source, now = Source(URL, transport=node.transport()), 0 if on_call else 1 << 32
        return await copy_all(source, folder / "pages", player.chain.state.plugins, report, now=lambda: now)

    return trio.run(copy, clock=MockClock(autojump_threshold=0))


def copied_chain(copy: Copied, folder: Path) -> Chain:
    """Return the chain that begins with a copy, from a file."""
    chain = Chain(copy.state)
    chain.start_at(replace(copy.block, transactions=()), no_block, is_changed_by_hand=False)
    path = folder / "copy"
    write_base(chain, path)
    return new_chain(read_base(path), path, copy.state.plugins)


class Production:
    """Lets the source of a recorded case make blocks while it's read, as dice decide: each call can find another block, or transactions of
    the next block that are pending.
    """

    def __init__(self, player: Player, seed: int, block: float = 0.01, transaction: float = 0.05) -> None:
        self._player, self._dice, self._block, self._transaction = player, random.Random(seed), block, transaction
        self.blocks = self.transactions = 0
        self.last = len(player.places)

    def __call__(self, method: str) -> None:
        """Perhaps make a block, or push a transaction."""
        player, state = self._player, self._player.chain.state
        thrown, number = self._dice.random(), state.props.head_block_number
        if number >= self.last:
            return
        if thrown < self._block:
            player.advance(number + 1)
            self.blocks += 1
        elif thrown < self._block + self._transaction:
            block = player.wire.unpack_block(player.log, player.places[number][0])[0]
            if block.transactions:
                try:
                    player.chain.push_transaction(self._dice.choice(block.transactions))
                    self.transactions += 1
                except ChainError:
                    pass


class CopiedPlayer(Player):
    """A player of a recorded case from a copy on."""

    def __init__(self, folder: Path, chain: Chain, plugins: Iterable[str] = PLUGINS) -> None:
        super().__init__(folder, plugins)
        self.use(chain)

    def advance(self, height: int) -> None:
        """Push blocks of the log up to a height."""
        if height > self.chain.base:
            super().advance(height)


def play_both(player: Player, copy: CopiedPlayer, height: int) -> Iterator[tuple[dict[str, Any], Any, Any]]:
    """Play the recorded events after a height on both. Yield each query with both replies, and each other event with its outcomes."""
    for event in player.events():
        if event["height"] <= height:
            continue
        for one in (player, copy):
            one.advance(event["height"])
        if "method" in event:
            if event["method"] in player.served:
                yield event, player.ask(event), copy.ask(event)
        elif "trx" in event:
            yield event, player.broadcast(event), copy.broadcast(event)
        else:
            yield event, player.feed(event), copy.feed(event)
    if not player.fed:
        for one in (player, copy):
            one.advance(len(player.places))


def without_ids(value: Any) -> Any:
    """Return a JSON value without the ids of rows."""
    if isinstance(value, dict):
        return {name: without_ids(member) for name, member in value.items() if name != "id"}
    return [without_ids(member) for member in value] if isinstance(value, list) else value


def differing_queries(player: Player, copy: CopiedPlayer, height: int) -> Counter[str]:
    """Play the recorded events after a height on both. Return the events whose outcomes differ, by method."""
    found: Counter[str] = Counter()
    for event, ours, theirs in play_both(player, copy, height):
        if ours != theirs:
            kind = event.get("method", "broadcast")
            found[f"{kind}: ids" if without_ids(ours) == without_ids(theirs) else kind] += 1
    return found
