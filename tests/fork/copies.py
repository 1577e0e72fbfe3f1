"""Complete copies of recorded chains, and the recorded events played on a recorded chain and on its copy side by side."""

import random
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
from state.chain.invariants import validate_invariants
from state.chain.irreversible import no_block
from state.plugins.registry import PLUGINS
from state.portable import PORTABLE, export_rows
from state.portable.exports import shown_lines
from state.protocol.errors import ChainError
from state.tables import State
from tests.conformance.play import Player
from tests.conftest import CASES
from tests.fork.sources import Fault, SourceNode

# Tables with rows or ids that no method shows.
UNSEEN = ("transactions", "block_summaries", "account_metadata", "account_authorities", "comment_contents", "liquidity_rewards")
MOST_CALLS = 40  # between two blocks
URL = "http://source"


def copied(
    player: Player, folder: Path, report: Callable[[str], None] = lambda text: None, on_call: Any = None, *faults: Fault | str
) -> Copied:
    """Copy the chain of a recorded case. `on_call` is called with each method before the source answers, and can make blocks."""
    node = SourceNode(player.chain, "coind", *faults)
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
        self.blocks = self.transactions = self._calls = 0
        self.last = len(player.places)

    def __call__(self, method: str) -> None:
        """Perhaps make a block, or push a transaction."""
        player, state = self._player, self._player.chain.state
        thrown, number = self._dice.random(), state.props.head_block_number
        if number >= self.last:
            return
        self._calls += 1
        if thrown < self._block or self._calls > MOST_CALLS:
            self._calls = 0
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


HISTORY = (
    "account_history_api.",
    "condenser_api.get_account_history",
    "condenser_api.get_ops_in_block",
    "condenser_api.get_transaction",
    "condenser_api.get_block",  # and get_block_header
    "condenser_api.get_state",  # pages with the histories of accounts
    "block_api.",
    "transaction_status_api.",
)
"""Methods about blocks before the copy."""
BUCKETS = ("market_history_api.get_market_history", "condenser_api.get_market_history")
"""Methods with ids that a copy doesn't have."""
BLOCKS = ("transaction tapos exception", "unlinkable block")
"""A copy accepts references to blocks that it doesn't know, and doesn't accept such blocks."""


def is_expected(event: dict[str, Any], ours: Any, theirs: Any) -> bool:
    """Whether the outcomes of an event can differ."""
    method = event.get("method", "")
    if method.startswith(HISTORY) or (method in BUCKETS and without_ids(ours) == without_ids(theirs)):
        return True
    return ours is None and theirs is not None and any(text in theirs for text in BLOCKS)


def other_tables(state: State, copy: State) -> list[str]:
    """Return the tables in which methods would show other rows of a copy.

    The maximum of resource credits before hardfork 23 took everything of an account isn't shown, so its later credits can differ.
    """
    rows, copied_rows = export_rows(state), export_rows(copy)
    found = []
    for name, some in rows.items():
        kept = [[row for row in side if row.get("account") not in state.spec.hf23_accounts] for side in (some, copied_rows[name])]
        ours, theirs = kept if name == "rc/accounts" else (some, copied_rows[name])
        if sorted(shown_lines(PORTABLE[name], ours)) != sorted(shown_lines(PORTABLE[name], theirs)):
            found.append(name)
    return found


def compare(case: str, height: int, folder: Path) -> list[str]:
    """Copy a recorded case at a height, and play the rest of it on both. Return the differences that aren't expected."""
    player = Player(CASES / case)
    player.looks = False
    player.advance(height)
    chain = copied_chain(copied(player, folder), folder)
    copy = CopiedPlayer(CASES / case, chain)
    copy.looks = False
    found = [f"other rows of {name} at the copy" for name in other_tables(player.chain.state, chain.state)]
    is_alike = True  # no transaction is pending on one only
    for event, ours, theirs in play_both(player, copy, height):
        is_alike |= player.chain.state.props.head_block_number > event["height"]
        if ours != theirs and is_alike and not is_expected(event, ours, theirs):
            found.append(f"{event.get('method', 'broadcast')} at {event['height']}")
        is_alike &= "trx" not in event or ours == theirs
    found += [f"other rows of {name} at the end" for name in other_tables(player.chain.state, chain.state)]
    for name, table in player.chain.state.tables():
        if name not in UNSEEN and [row.id for row in table] != [row.id for row in dict(chain.state.tables())[name]]:
            found.append(f"other ids of {name}")
    validate_invariants(chain.state)
    return found
