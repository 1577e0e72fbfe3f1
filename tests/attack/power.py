"""Power losses, kills and disk failures at any operation of the file layer. After each, the guarantees of `--sync` must hold without manual
repair.

A real data folder, block log, processor and chain run on a simulated disk. The seed determines the blocks, the syncs, the failing operation
and its result. `run(1, seed)` repeats a failed run.
"""

import errno
import random
from collections import Counter
from functools import cache
from pathlib import Path

from msgspec import Struct

from node.history.apply import TRUST_OWN
from node.processor.processor import Processor
from node.runtime.errors import NodeError
from node.storage.datafolder import DataFolder
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.head_change import HeadChange
from state.protocol.spec import ChainSpec
from state.protocol.transaction import SignedBlock, Wire
from tests.helpers.based import based_chain, fork_of_young_chain, put_file
from tests.helpers.nodes import dev_chain, make_block, transfer
from tests.helpers.simulated_disk import SimulatedDisk, Stopped

FOLDER, FORK = Path("/data"), Path("/fork")
HEIGHT = 15  # dev blocks become irreversible from block 21 on; before that, branches can fork anywhere
BRANCHES = ((0, 0, HEIGHT), (5, 1, HEIGHT), (9, 2, HEIGHT), (12, 3, HEIGHT))  # fork height, missed slots there, final height
LIVES_MAX = 4
OPERATIONS_MAX = 120
MOVES_MAX = 30


class Tree(Struct, frozen=True):
    """Branches of one chain, all starting with the same first block, at genesis or after the base. `digests` has the state digest after
    each block, keyed by block id.
    """

    branches: tuple[tuple[SignedBlock, ...], ...]
    digests: dict[bytes, str]
    wire: Wire

    @property
    def spec(self) -> ChainSpec:
        """The spec of the chain."""
        return self.wire.spec

    @property
    def first(self) -> SignedBlock:
        """The common first block."""
        return self.branches[0][0]


def new_disk(seed: int, is_based: bool) -> SimulatedDisk:
    """Return a disk, with the fork file if `is_based`."""
    disk = SimulatedDisk(seed)
    disk.make_folder(FOLDER.parent)
    if is_based:
        put_file(disk, FORK, fork_of_young_chain().read_bytes())
    return disk


def start_of(is_based: bool) -> Chain:
    """Return a new chain at genesis or after the base."""
    return based_chain(fork_of_young_chain()) if is_based else dev_chain()


@cache
def first_block(is_based: bool) -> Chain:
    """Return a chain at the common first block of all branches."""
    chain = start_of(is_based)
    chain.push_block(tree(is_based).first)
    return chain


def at_first_block(is_based: bool) -> Chain:
    """Return the shared chain, rewound to its first block. Creating a new chain would take most of the run time."""
    chain = first_block(is_based)
    chain.on_head_change.clear()
    while chain.state.props.head_block_number > chain.base + 1:
        chain.pop_block()
    chain.clear_pending()
    return chain


@cache
def tree(is_based: bool = False) -> Tree:
    """Return the blocks for all runs, with and without transactions."""
    digests: dict[bytes, str] = {}
    branches: list[tuple[SignedBlock, ...]] = []
    for parting, missed, height in BRANCHES:
        chain = start_of(is_based)
        digests[chain.state.props.head_block_id] = state_digest(chain.state)
        for block in branches[0][:parting] if branches else ():
            chain.push_block(block)
        while (number := chain.state.props.head_block_number - chain.base) < height:
            if number % 4 == 1:
                for i in range(number // 4 + 1):
                    chain.push_transaction(transfer(chain, f"{number} {i} {missed} " + "x" * 40 * i))
            block = make_block(chain, missed if number == parting else 0)
            digests[block.id] = state_digest(chain.state)
        found = [chain.block_by_number(chain.base + number) for number in range(1, height + 1)]
        branches.append(tuple(block for block in found if block is not None))
    return Tree(tuple(branches), digests, chain.state.wire)


class Node:
    """One run of a node, from its start to its end: a chain and the data folder that it was loaded from."""

    def __init__(self, disk: SimulatedDisk, is_based: bool) -> None:
        known = tree(is_based)
        self.folder = DataFolder(FOLDER, known.spec, known.wire, disk, fork=FORK)
        self.chain = at_first_block(is_based) if len(self.folder.log) else start_of(is_based)
        blocks = self.folder.log.blocks(self.chain.base + 2)
        self.known = {known.first.id} if len(self.folder.log) else set()
        for block in blocks:
            self.push(block)
        blocks.close()
        self.folder.adopt()
        self.processor = Processor(self.chain, log=self.folder.log)

    def push(self, block: SignedBlock) -> None:
        self.known.add(block.id)
        self.chain.push_block(block, TRUST_OWN)

    @property
    def head(self) -> bytes:
        """The id of the head block."""
        return self.chain.state.props.head_block_id


class Story:
    """Successive runs of one node on the same disk. The two lists contain the head blocks that are allowed after a kill and after a power
    loss, oldest first.
    """

    def __init__(self, seed: int, is_based: bool) -> None:
        self.dice = random.Random(seed)
        self.disk = new_disk(seed, is_based)
        self.is_based, self.tree = is_based, tree(is_based)
        self.counts: Counter[str] = Counter()
        self.after_kill = [self.tree.spec.base.block_id]
        self.after_power = [self.tree.spec.base.block_id]
        self.policy = self.dice.choice(("block", "seconds", "never"))

    def run(self) -> None:
        """Run and end the node several times, then start it once without a failure."""
        for _ in range(self.dice.randrange(1, LIVES_MAX)):
            self.disk.stop_after(self.dice.randrange(OPERATIONS_MAX))
            if self.dice.random() < 0.15:
                self.disk.fail_after(self.dice.randrange(OPERATIONS_MAX), self.dice.choice((errno.ENOSPC, errno.EIO)))
            try:
                self.live(self.start())
            except Stopped:
                pass
            except (NodeError, OSError) as error:
                # A failing disk can end a start or a stop with an error. No other error is allowed.
                if not self.disk.is_failing:
                    raise AssertionError(str(error)) from error
                self.counts["failures"] += 1
            self.end()
        self.start().folder.close()

    def start(self) -> Node:
        """Start a node, and check that its head is one of those allowed after the end of the previous run."""
        node = Node(self.disk, self.is_based)
        assert node.head in self.after_kill, f"block {node.chain.state.props.head_block_number} is not an allowed head"
        assert state_digest(node.chain.state) == self.tree.digests[node.head]
        self.counts["starts"] += 1
        self.after_kill, self.after_power = [node.head], [node.head]

        def begin(move: HeadChange) -> None:
            """Record the heads that are allowed while a change is being written. A fork switch is atomic; a sequence of blocks is not."""
            ids = [node.head] if move.popped else [block.id for block in move.applied]
            self.after_kill += ids
            self.after_power += ids

        def done(move: HeadChange) -> None:
            if not node.processor.failure:
                self.after_kill = [node.head]
                self.after_power = [node.head] if move.popped else self.after_power
                self.counts["switches" if move.popped else "blocks"] += 1

        node.chain.on_head_change.insert(0, begin)
        node.chain.on_head_change.append(done)
        return node

    def end(self) -> None:
        """End the node's run with a kill or a power loss."""
        if self.dice.random() < 0.3:
            self.disk = self.disk.kill()
            self.counts["kills"] += 1
        else:
            self.disk = self.disk.crash()
            self.after_kill = self.after_power[:]
            self.counts["losses of power"] += 1

    def live(self, node: Node) -> None:
        """Push blocks of different branches, with occasional syncs and graceful shutdowns, until the disk fails."""
        branch = self.dice.choice(self.tree.branches)
        for _ in range(MOVES_MAX):
            if self.dice.random() < 0.15:
                branch = self.dice.choice(self.tree.branches)
            self.push(node, branch)
            if node.processor.failure:
                return
            if self.policy == "block" or (self.policy == "seconds" and self.dice.random() < 0.2):
                self.sync(node, branch)
            if self.dice.random() < 0.03:
                node.folder.close()
                return

    def sync(self, node: Node, branch: tuple[SignedBlock, ...]) -> None:
        """Sync the log as a node does. The node can push a block during the sync, so only the blocks pushed before are guaranteed to
        survive.
        """
        if self.dice.random() < 0.2:

            def push_meanwhile() -> None:
                self.disk.during_sync = None
                self.push(node, branch, may_switch=False)

            self.disk.during_sync = push_meanwhile
        head = node.head
        node.folder.log.sync()
        self.disk.during_sync = None
        self.after_power = self.after_power[self.after_power.index(head) :]
        self.counts["syncs"] += 1

    def push(self, node: Node, branch: tuple[SignedBlock, ...], *, may_switch: bool = True) -> None:
        """Push the next block of a branch, or pop one. During a sync `may_switch` is False, because a fork switch would wait for the sync
        to end.
        """
        fresh = next((block for block in branch if block.id not in node.known), None)
        if may_switch and node.chain.state.props.head_block_number > node.chain.base + 1 and self.dice.random() < 0.05:
            node.chain.pop_block()
        elif fresh is not None and (may_switch or fresh.previous == node.head):
            node.push(fresh)


def run(count: int, seed: int, *, is_based: bool = False) -> dict[str, int]:
    """Run `count` stories with consecutive seeds, of a chain from genesis or from a base.

    Return the number of each event. Raises AssertionError with the failing seed.
    """
    counts: Counter[str] = Counter()
    for each in range(seed, seed + count):
        story = Story(each, is_based)
        try:
            story.run()
        except Exception as error:  # any error must name the seed
            raise AssertionError(f"python -m tests.attack power --count 1 --seed {each}: {error}") from error
        counts += story.counts
    return dict(counts)
