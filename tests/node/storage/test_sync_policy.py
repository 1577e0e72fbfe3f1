"""The times at which blocks are synced, and the replies that wait for a sync."""

from collections.abc import Callable
from pathlib import Path

import pytest
import trio
import trio.testing

from node.processor.processor import Processor
from node.runtime.clock import ChainClock
from node.runtime.errors import NodeError
from node.storage.blocklog import BlockLog
from node.storage.sync_policy import SyncPolicy, sync_policy
from rpc.declare.errors import PushFailed
from state.chain.debug import generate_blocks
from tests.helpers.golden import fails, same_as_golden
from tests.helpers.nodes import DEV, dev_chain, make_block
from tests.helpers.simulated_disk import SimulatedDisk

FOLDER = Path("/data")


class SlowDisk:
    """Counts syncs. Each sync takes until the test allows it to end, as on a slow disk."""

    def __init__(self) -> None:
        self.syncs = 0
        self.turn = trio.Event()

    async def in_thread(self, work: Callable[[], object]) -> object:
        self.syncs += 1
        await self.turn.wait()
        return work()


def log_on(disk: SimulatedDisk) -> BlockLog:
    """Return a new block log on a disk."""
    disk.make_folder(FOLDER)
    return BlockLog(FOLDER, dev_chain().state.wire, disk)


@pytest.mark.parametrize(("text", "seconds"), [("block", 0), ("never", None), ("5", 5.0), ("0.5", 0.5)])
def test_policies_are_parsed(text: str, seconds: float | None) -> None:
    assert sync_policy(text) == SyncPolicy(seconds)


@pytest.mark.parametrize("text", ["", "0", "-1", "1e-9", "nan", "inf", "blocks"])
def test_invalid_policies_are_refused(text: str) -> None:
    with fails(NodeError):
        sync_policy(text)


async def test_a_reply_waits_for_the_sync_while_others_run(nursery: trio.Nursery) -> None:
    maker, chain, slow = dev_chain(), dev_chain(), SlowDisk()
    log = log_on(SimulatedDisk(1))
    processor = Processor(chain, log=log, clock=ChainClock(lambda: 2**31 * 1000), in_thread=slow.in_thread)
    nursery.start_soon(processor.run)
    answered: list[int] = []

    async def push() -> None:
        block = make_block(maker)
        await processor.push_block(block)
        answered.append(block.number)

    for count in range(1, 4):
        nursery.start_soon(push)
        await trio.testing.wait_all_tasks_blocked()
        assert (chain.state.props.head_block_number, answered) == (count, [])
    slow.turn.set()
    await trio.testing.wait_all_tasks_blocked()
    # When the first sync began, all three blocks were written.
    assert (sorted(answered), slow.syncs, log.is_synced) == ([1, 2, 3], 1, True)


async def test_blocks_of_one_call_share_a_sync(nursery: trio.Nursery) -> None:
    chain, slow = dev_chain(), SlowDisk()
    made: list[int] = []
    log = log_on(SimulatedDisk(1))
    processor = Processor(chain, log=log, in_thread=slow.in_thread)
    nursery.start_soon(processor.run)

    async def generate() -> None:
        made.append(await processor.run_steps(generate_blocks(chain, DEV.witness_keys[0], 200)))

    nursery.start_soon(generate)
    await trio.testing.wait_all_tasks_blocked()
    assert (chain.state.props.head_block_number, slow.syncs, made) == (200, 1, [])
    slow.turn.set()
    await trio.testing.wait_all_tasks_blocked()
    assert (made, log.is_synced, slow.syncs) == ([200], True, 1)


async def test_periodic_and_disabled_syncs(nursery: trio.Nursery, autojump_clock: trio.testing.MockClock) -> None:
    # No real thread: the mock clock would jump over the time that it takes.
    slow = SlowDisk()
    slow.turn.set()
    for policy, synced in ((SyncPolicy(5), True), (SyncPolicy(None), False)):
        maker, log = dev_chain(), log_on(SimulatedDisk(1))
        processor = Processor(dev_chain(), log=log, clock=ChainClock(lambda: 2**31 * 1000), sync=policy, in_thread=slow.in_thread)
        nursery.start_soon(processor.run)
        await processor.push_block(make_block(maker))
        assert not log.is_synced
        await trio.sleep(6)
        assert log.is_synced is synced


async def test_a_failed_sync_refuses_the_block(nursery: trio.Nursery) -> None:
    maker, disk = dev_chain(), SimulatedDisk(1)
    log = log_on(disk)
    processor = Processor(dev_chain(), log=log, clock=ChainClock(lambda: 2**31 * 1000))
    nursery.start_soon(processor.run)
    # Three writes for a block, then the sync.
    disk.fail_after(3, 5)
    with fails(PushFailed):
        await processor.push_block(make_block(maker))
    assert processor.failed.is_set()


async def test_a_removed_log_stops_an_idle_node(autojump_clock: trio.testing.MockClock, nursery: trio.Nursery) -> None:
    disk = SimulatedDisk(1)
    processor = Processor(dev_chain(), log=log_on(disk))
    nursery.start_soon(processor.run)
    disk.remove(FOLDER / "block_log")
    with trio.fail_after(10):
        await processor.failed.wait()
    same_as_golden(processor.failure)
