"""Dev chains in a data folder, with state edits, savepoints and popped blocks, whose process is killed or whose machine loses power at
random moments. After a restart, all finished steps are present and the state is the same. The interrupted step has either happened
completely or not at all.
"""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from node.app.context import NodeContext
from node.app.node import load
from node.app.settings import Settings
from node.devchain.block_modes import BlockMode
from node.snapshots.folder import folder_of
from node.snapshots.saver import SnapshotSaver
from node.storage.datafolder import DataFolder
from state.chain.digest import state_digest
from state.chain.state_edits import SetAuthority, SetBalance, SetVests, StateEdit
from state.protocol.authority import key_authority
from state.protocol.errors import ChainError
from state.protocol.values.asset import COIN, SBD, VESTS, Asset
from state.snapshot.image import parts_of
from tests.helpers.nodes import DEV, transfer
from tests.helpers.simulated_disk import SimulatedDisk, Stopped
from tests.simulation.rivals import made_branch

FOLDER = Path("/data")
NOW = 1_800_000_000_000
STEPS = 60
Seen = tuple[bytes, str, dict[str, bytes], dict[bytes, Any]]


class Driven:
    """A dev chain that is connected to a data folder as in a node, but without the node's tasks."""

    def __init__(self, disk: SimulatedDisk, plugins: tuple[str, ...] = DEV.plugins) -> None:
        self.disk = disk
        settings = Settings(
            spec=DEV, plugins=plugins, is_producing=True, blocks=BlockMode("manual"), data=FOLDER, disk=disk, clock=lambda: NOW
        )
        self.context = NodeContext(settings)
        self.chain, self.devchain = self.context.chain, self.context.devchain
        self.folder = DataFolder(FOLDER, self.context.settings.spec, self.chain.state.wire, disk)
        self.devchain.edit_log = self.folder.edits
        self.saver = SnapshotSaver(self.chain, folder_of(FOLDER), disk, 5)
        trio.run(self.load)
        self.chain.on_head_change.append(lambda move: self.folder.log.switch(move.popped, move.applied))
        self.chain.sidecars.on_added.append(self.folder.edits.append)
        self.chain.sidecars.on_dropped.append(self.folder.edits.drop)
        self.devchain.make_first_blocks()
        self.folder.log.sync()
        self.context.clock.advance_to(self.chain.state.head_time * 1000)

    async def load(self) -> None:
        """Load the data folder in the same way as a node."""
        loaded = await load(self.context, self.folder)
        if loaded is not None:
            loaded.finish()

    def seen(self) -> Seen:
        """Return the data that a restart must restore: the head and the state, without pending transactions and the edits of other
        branches.
        """
        chain = self.chain
        now = chain.savepoint()
        chain.clear_pending()
        data = {name: b"".join(part.dump()) for name, part in parts_of(chain.state).items()}
        main = {key: edits for key, edits in chain.sidecars.edits.items() if chain.forks.get(key) is not None}
        found = chain.state.props.head_block_id, state_digest(chain.state), data, main
        chain.restore(now)
        return found

    def stop(self) -> None:
        """Shut down gracefully, and save a snapshot."""
        self.folder.log.sync()
        self.saver.save_at_stop()
        self.folder.close()


class Story:
    """A random sequence of steps of a dev chain, with restarts in between."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.disk = SimulatedDisk(seed)
        self.driven = Driven(self.disk)
        self.kinds: Counter[str] = Counter()

    def edit(self) -> StateEdit:
        """Return a random state edit."""
        draw = self.draw
        name, amount = draw.choice(("alice", "bob", "carol")), draw.randrange(10**9)
        key = bytes([2, *[draw.randrange(1, 100)] * 32])
        return draw.choice(
            (
                SetBalance(name, Asset(amount, COIN)),
                SetBalance(name, Asset(amount, SBD)),
                SetVests(name, Asset(10**12 + amount, VESTS)),
                SetAuthority(name, draw.choice(("owner", "active", "posting")), key_authority(key)),
                SetAuthority(name, "memo", key),
            )
        )

    def step(self) -> None:
        """Make a random change that a client can request."""
        devchain, chain, draw = self.driven.devchain, self.driven.chain, self.draw
        todo: dict[str, Callable[[], object]] = {
            "mine": lambda: list(devchain.mine(draw.choice((1, 1, 2, 25)))),
            "edit": lambda: chain.edit(self.edit()),
            "edit again": lambda: chain.edit(self.edit()),
            "send": self.send,
            "pop": lambda: chain.pop_blocks(draw.randint(1, 4)),
            "advance": lambda: list(devchain.advance(draw.choice((3, 60, 86_400)), draw.choice(("missed", "missed", "")))),
            "broadcast": self.send_block,
            "snapshot": devchain.snapshot,
            "revert": lambda: devchain.revert(draw.choice(devchain.snapshots or [1])),
            "reset": devchain.reset,
        }
        kind = draw.choices(list(todo), [1] * (len(todo) - 1) + [0.1])[0]
        self.kinds[kind] += 1
        try:
            todo[kind]()
        except ChainError:
            return

    def send(self) -> None:
        """Push a transaction of an impersonated account."""
        chain = self.driven.chain
        chain.impersonate([], is_everyone=True)
        trx = transfer(chain, str(self.draw.random()), 30)
        trx.signatures = ()
        chain.push_transaction(chain.state.wire.seal(trx))

    def send_block(self) -> None:
        """Push a branch that is longer than the one it replaces, as another node could."""
        chain = self.driven.chain
        if chain.main_branch.poppable < 3:
            return
        depth = self.draw.randint(1, 2)
        parent = chain.block_by_number(chain.state.props.head_block_number - depth)
        assert parent is not None
        for block in made_branch(parent, depth + 1):
            chain.push_block(block)

    def end(self) -> None:
        """Stop the chain, kill it or cut its power, possibly in the middle of a step. Then start it again, and compare the states."""
        how = self.draw.choice(("stop", "kill", "cut", "kill in a step", "cut in a step"))
        self.kinds[how] += 1
        driven = self.driven
        before = driven.seen()
        if how.endswith("step"):
            self.disk.stop_after(self.draw.randint(0, 12))
            try:
                while True:
                    before = driven.seen()
                    self.step()
            except Stopped:
                pass
        elif how == "stop":
            driven.stop()
        else:
            driven.folder.log.sync()
        self.disk = self.disk.crash() if how.startswith("cut") else self.disk.kill()
        self.driven = Driven(self.disk)
        after = self.driven.seen()
        # An interrupted step can have happened.
        if not how.endswith("step") or (after[0], after[3]) == (before[0], before[3]):
            # Edits (index 3) are not compared: those of irreversible blocks are dropped, and after a restart fewer blocks can be
            # irreversible.
            assert after[:3] == before[:3], how


@pytest.mark.parametrize("seed", range(3))
def test_finished_steps_survive_restarts(seed: int) -> None:
    story = Story(seed)
    for _ in range(STEPS):
        story.step()
        if story.draw.random() < 0.15:
            story.end()
    story.driven.stop()
    assert len(story.kinds) > 8
