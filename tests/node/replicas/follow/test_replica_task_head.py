"""The health of a replica that has received no block for long. It is healthy only while the followed node confirms that its head is
current.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from node.processor.processor import Processor
from node.replicas.follow.replica_applier import ReplicaApplier
from node.replicas.follow.replica_task import HEAD_SECONDS_MAX, SILENCE_SECONDS_MAX, ReplicaTask
from node.replicas.follow.sources import SyncPosition
from node.replicas.follow.stream_lines import read_packed
from rpc.push.events import Event, Heartbeat, NewBlock, encode_line, new_block
from state.protocol.transaction import SignedBlock
from tests.helpers.golden import same_as_golden
from tests.helpers.nodes import dev_chain, make_block, trio_clock

LIFE_SECONDS = 5


class Told:
    """A source of blocks that yields the events which the test sends."""

    def __init__(self) -> None:
        self.say, self._said = trio.open_memory_channel[list[Event | Heartbeat]](100)

    async def batches(self, place: SyncPosition) -> AsyncGenerator[list[Event | Heartbeat]]:
        async for batch in self._said:
            yield batch

    async def head(self) -> int:
        return 0

    async def id_of(self, number: int) -> bytes | None:
        return None


class World:
    """A followed chain with one block, and the task of its replica."""

    def __init__(self) -> None:
        self.owner, self.own, self.source = dev_chain(), dev_chain(), Told()
        self.processor = Processor(self.own)
        applier = ReplicaApplier(self.own)
        self.replica = ReplicaTask("there", self.source, applier, self.processor, lambda error: None, trio_clock)

    def block(self) -> NewBlock:
        """Make a block on the followed chain in the slot of the current time. Return the event with which the chain announces it."""
        block: SignedBlock = make_block(self.owner, missed=int(trio_clock() // 1000 - self._time()) // 3)
        return new_block(self.owner, block)

    def _time(self) -> int:
        return max(self.owner.state.props.time, self.owner.state.spec.constants.COIN_GENESIS_TIME)

    def say(self, *said: Event | Heartbeat) -> None:
        """Make the source yield these events, as one batch."""
        self.source.say.send_nowait(list(said))

    async def hear(self, said: Heartbeat, seconds: int) -> None:
        """Send a heartbeat through the source every LIFE_SECONDS, for `seconds` seconds."""
        for _ in range(seconds // LIFE_SECONDS):
            await trio.sleep(LIFE_SECONDS)
            self.say(said)
        await trio.sleep(0.1)


@asynccontextmanager
async def following() -> AsyncIterator[World]:
    """Run a replica that has applied the first block."""
    made = World()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(made.processor.run)
        nursery.start_soon(made.replica.run)
        made.say(Heartbeat(1), made.block())
        await trio.sleep(0.1)
        assert made.replica.trouble() == ""
        yield made
        nursery.cancel_scope.cancel()


async def test_an_idle_chain_is_healthy_while_its_node_confirms_the_head(autojump_clock: MockClock) -> None:
    async with following() as world:
        await world.hear(Heartbeat(1), 20 * HEAD_SECONDS_MAX)
        assert world.replica.trouble() == ""
        await trio.sleep(SILENCE_SECONDS_MAX + 1)
        same_as_golden(world.replica.trouble())
        world.say(Heartbeat(1))
        await trio.sleep(0.1)
        assert world.replica.trouble() == ""


async def test_a_stale_heartbeat_does_not_confirm_the_head(autojump_clock: MockClock) -> None:
    async with following() as world:
        await world.hear(Heartbeat(1, is_stale=True), HEAD_SECONDS_MAX - LIFE_SECONDS)
        assert world.replica.trouble() == ""
        await world.hear(Heartbeat(1, is_stale=True), 3 * LIFE_SECONDS)
        assert (world.replica.blocks_behind, "has not confirmed" in world.replica.trouble()) == (0, True)


async def test_a_few_missing_blocks_are_trouble_if_the_head_is_old(autojump_clock: MockClock) -> None:
    async with following() as world:
        await world.hear(Heartbeat(2), HEAD_SECONDS_MAX - LIFE_SECONDS)
        assert world.replica.trouble() == ""
        await world.hear(Heartbeat(2), 3 * LIFE_SECONDS)
        same_as_golden(world.replica.trouble())
        world.say(world.block())
        await trio.sleep(0.1)
        assert world.replica.trouble() == ""


async def test_a_stale_heartbeat_does_not_lower_the_head(autojump_clock: MockClock) -> None:
    async with following() as world:
        world.say(Heartbeat(9), Heartbeat(1, is_stale=True))
        await trio.sleep(0.1)
        assert world.replica.head == 9


@pytest.mark.parametrize("is_stale", [False, True])
def test_heartbeats_encode_whether_they_are_stale(is_stale: bool) -> None:
    line = encode_line(Heartbeat(7, is_stale))
    assert read_packed(line) == Heartbeat(7, is_stale)
    assert (b"stale" in line) is is_stale
