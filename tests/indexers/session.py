"""A chain with a town's operations that hivemind indexes: in its first sync, in a sync of many blocks, and live as blocks are made, with
two forks.
"""

import time
from functools import partial
from pathlib import Path

from msgspec import Struct

from tests.attack.nodes import Client, Node
from tests.helpers.sessions import SetupError, say
from tests.indexers.hivemind import SYNC_SECONDS_MAX, Hivemind, Postgres, errors, wait_until
from tests.indexers.reasons import Times
from tests.indexers.town import Town

CHAIN = "mainnet-like"  # hivemind knows only the public network's names and symbols
COMMUNITIES = 9
PAST_SECONDS = 10 * 86_400  # the chain's age when hivemind begins to follow it; posts are paid after seven days
SLOT_SECONDS = 3
PRESENT_SECONDS = 3  # hivemind follows only a chain whose clock differs from its own by less than a minute
QUIET_BLOCKS = 8  # a count of replies goes up one level of the tree with each block
TRAIL = 2  # hivemind stays two blocks behind the head
IRREVERSIBLE_BEHIND = 21
OPERATIONS_PER_BLOCK = 25
LIVE_PER_BLOCK, FORK_BLOCKS = 14, 30  # the least of them that are accepted, and the blocks of both forks and until hivemind has recovered
FIRST_SHARE, LIVE_SHARE = 0.15, 0.1  # of the operations: in hivemind's first sync, and in the blocks that it follows
ACCOUNTS_EVERY, ACCOUNTS_BLOCKS = 100, 40  # hivemind refreshes all accounts every hundred blocks, an eighth of the rest with each block


class Fork(Struct, frozen=True):
    """A fork switch that replaces the node's last `left` blocks with a longer branch."""

    left: int
    kinds: tuple[str, ...]


class World:
    """The node, hivemind and the town."""

    def __init__(self, folder: Path, installed: tuple[str, Path], types: str, seed: int) -> None:
        self.folder = folder
        begun = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() - PAST_SECONDS))
        self.node = self._start(folder / "node", "--data", folder / "chain", "--time", begun, "--blocks", "manual")
        self.client = Client(self.node)
        self.town = Town(self.client, seed, types)
        self.database = Postgres(folder)
        self.hivemind = Hivemind(folder, installed, self.database, self.url, types)

    @property
    def url(self) -> str:
        """The node's address."""
        return f"http://{self.node.host}:{self.node.port}"

    def _start(self, folder: Path, *options: str | Path) -> Node:
        return Node(folder, "--chain", CHAIN, "--log-level", "warning", *options).wait()

    def end(self) -> None:
        self.hivemind.end()
        self.node.kill()
        self.database.stop()

    def head(self) -> int:
        """The number of the node's head block."""
        return int(self.town.call("dev_api.get_info", {})["head_block_number"])

    def head_time(self) -> str:
        """The time of the node's head block."""
        return str(self.town.call("dev_api.get_info", {})["head_block_time"])

    # ------------------------------------------------------------------ the chain

    def run(self, count: int) -> None:
        """Broadcast operations in three phases: for the first sync, for a sync of many blocks, and live. Then wait until hivemind has
        indexed the last block.
        """
        town = self.town
        town.call("dev_api.mine", {"count": 1})
        town.put_orders()
        for place in range(COMMUNITIES):
            town.found_community(place)
            town.call("dev_api.mine", {"count": 1})
        first, live = round(count * FIRST_SHARE), round(count * LIVE_SHARE)
        self._past(first, count - live)
        first_sync = self._sync("its first sync")
        self._past(count - live, count - live)
        sync = self._sync("a sync of many blocks")
        self._align(live)
        self.hivemind.start("sync")
        self._live(live)
        self.times = Times(first_sync, sync, self.head_time())

    def _sync(self, what: str) -> str:
        """Run hivemind until it has indexed all blocks so far. It then ends by itself, because the head is too old to follow the chain.
        Return the time of the last block.
        """
        begun = time.monotonic()
        self.town.call("dev_api.mine", {"count": IRREVERSIBLE_BEHIND + 1})
        self.hivemind.start("sync")
        wait_until(lambda: not self.hivemind.is_running("sync"), SYNC_SECONDS_MAX, f"hivemind ends {what}")
        if self.hivemind.head() < self.head() - TRAIL - 1:
            raise SetupError(f"hivemind ended at block {self.hivemind.head()} of {self.head()}: {errors(self.hivemind.log('sync'))}")
        say(f"hivemind has block {self.hivemind.head()} after {time.monotonic() - begun:.0f} s: {what}")
        return self.head_time()

    def _past(self, count: int, total: int) -> None:
        """Make blocks with times in the past, until the town has sent `count` operations. At `total` operations, the chain reaches the
        present.
        """
        while (done := sum(self.town.accepted.values())) < count:
            for _ in range(OPERATIONS_PER_BLOCK):
                self.town.act()
            self._advance(PAST_SECONDS * (1 - done / total) + ACCOUNTS_EVERY * SLOT_SECONDS)
            if self.head() % 40 == 0:
                self.town.settle()

    def _align(self, live: int) -> None:
        """Advance the chain to the present. Make as many blocks as needed so that hivemind refreshes all accounts soon after the live
        blocks.
        """
        expected = live // LIVE_PER_BLOCK + FORK_BLOCKS
        self.town.call("dev_api.mine", {"count": (-expected - self.head()) % ACCOUNTS_EVERY + 1})
        self._advance(0)

    def _advance(self, seconds: float) -> None:
        """Make a block whose time is `seconds` before the present."""
        ahead = self.town.call("dev_api.get_info", {})["seconds_ahead"]
        self.town.call("dev_api.advance_time", {"seconds": max(round(-seconds - PRESENT_SECONDS - ahead), SLOT_SECONDS)})

    def _live(self, count: int) -> None:
        """Make a block in each slot, with two fork switches. Then wait until hivemind has refreshed all accounts."""
        goal = sum(self.town.accepted.values()) + count
        self._act_until(goal - count * 2 // 3)
        # hivemind reads posts as of the node's head, so what the left blocks changed of them can stay in it: no votes, replies and edits.
        self._switch(Fork(TRAIL, ("write", "follow", "reblog", "moderate", "read", "describe")))
        self._act_until(goal - count // 3)
        # Of the blocks that hivemind has indexed and must drop, it undoes only what has a time of creation. Its end also loses the
        # counts of replies that were to be refreshed.
        deep = Fork(TRAIL + 3, ("write", "follow"))
        for _ in range(QUIET_BLOCKS):
            self._act_and_make(deep.kinds)
        self._switch(deep)
        self._act_until(goal)
        refresh = self.head() // ACCOUNTS_EVERY * ACCOUNTS_EVERY + ACCOUNTS_EVERY
        while self.head() < refresh + ACCOUNTS_BLOCKS + TRAIL:
            self._make()
            self.hivemind.restart_ended()
        self.hivemind.wait_for_block(self.head() - TRAIL)
        # hivemind computes the figures of communities every 200 blocks, and when it starts. Then it stores the number of the head block.
        self.hivemind.stop("sync")
        self._make()
        self.hivemind.start("sync", "--force-follow-recount=true")
        wait_until(lambda: self.hivemind.stored_head() == self.head(), SYNC_SECONDS_MAX, "hivemind has started again")
        self.hivemind.start("server")

    def _act_until(self, count: int) -> None:
        """Make blocks until the town has sent `count` operations."""
        while sum(self.town.accepted.values()) < count:
            self._act_and_make()

    def _act_and_make(self, kinds: tuple[str, ...] = ()) -> None:
        """Broadcast operations of these kinds, or of any kind, and make a block."""
        for _ in range(OPERATIONS_PER_BLOCK):
            self.town.act(kinds)
        self._make()
        self.hivemind.restart_ended()

    def _make(self) -> None:
        """Wait for the next slot, and make a block in it."""
        begun = self.head()
        self.town.call("dev_api.set_block_mode", {"mode": "interval"})
        wait_until(lambda: self.head() > begun, 60, "the node makes a block")
        self.town.call("dev_api.set_block_mode", {"mode": "manual"})

    def _switch(self, fork: Fork) -> None:
        """While hivemind follows the node, switch the node from its last blocks to a longer branch that another node has made."""
        kept = self.folder / f"other{fork.left}"
        other = self._start(self.folder / f"first{fork.left}", "--data", kept, "--follow", self.url)
        client = Client(other)
        wait_until(lambda: head_id(client) == head_id(self.client), 60, "the other node has the chain")
        other.stop()
        other = self._start(self.folder / f"second{fork.left}", "--data", kept, "--blocks", "manual")
        client = Client(other)
        base = self.head()
        for _ in range(fork.left):
            self._act_and_make(fork.kinds)
        # The last blocks of them stay in hivemind's buffer.
        self.hivemind.wait_for_block(base + fork.left - TRAIL)
        left = self.hivemind.head() - base
        client.call("dev_api.mine", {"count": fork.left + 1})
        for number in range(base + 1, base + fork.left + 2):
            block = client.call("block_api.get_block", {"block_num": number})["result"]["block"]
            # The other node's blocks are of slots to come, which this node refuses until its clock has reached them.
            push = partial(self.client.call, "network_broadcast_api.broadcast_block", {"block": block})
            wait_until(lambda push=push: "result" in push(), 60, f"the node takes block {number} of the other branch")
        assert head_id(self.client) == head_id(client), "the node has switched"
        other.kill()
        say(f"the node has left {fork.left} blocks for {fork.left + 1} others; hivemind had indexed {max(left, 0)} of them")


def head_id(client: Client) -> str:
    """Return the id of a node's head block."""
    return str(client.call("database_api.get_dynamic_global_properties", {})["result"]["head_block_id"])
