"""A relay, its readers, a node and a broker, all in one process. Each of them fails in some tests."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from inspect import Signature, signature
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import trio
from nats.errors import Error as NatsError

from node.client.errors import WrongChain
from node.replicas.relay import broker_reader, relay
from node.replicas.relay.broker_reader import Reader
from node.replicas.relay.history import PART_HEADER, StreamNames
from node.replicas.relay.metrics import RelayCounters
from node.replicas.relay.relay import Relay
from node.runtime.address import Address
from node.runtime.errors import NodeError
from node.snapshots.base import read_base
from rpc.push.events import encode_line, new_block
from state.chain.chain import Chain
from state.chain.state_edits import SetBalance
from state.protocol.values.asset import COIN, Asset
from tests.helpers.based import based, fork_of_young_chain
from tests.helpers.broker import Broker, NodeServer, Stored, broker_running, node_running, node_world
from tests.helpers.followed import replica_of
from tests.helpers.followed import until as followed_until
from tests.helpers.golden import fails
from tests.helpers.log_capture import capture_logs
from tests.helpers.nodes import make_block, transfer

NAMES = StreamNames("dev")
# A message size at which a block with a long memo must be split. Four kilobytes of each message are reserved for headers.
SMALL = 4096 + 1024
PATIENCE_SECONDS = 20


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pauses between attempts."""
    monkeypatch.setattr(relay, "PAUSE_SECONDS_MIN", 0.01)
    monkeypatch.setattr(relay, "PAUSE_SECONDS_MAX", 0.05)


class World:
    """A node, a broker, and the relays that copy blocks from the node to the broker."""

    def __init__(self, node: NodeServer, broker: Broker) -> None:
        self.node, self.broker = node, broker
        self.relays: list[asyncio.Task[None]] = []

    @property
    def chain(self) -> Chain:
        """The node's chain."""
        return self.node.world.chain

    def begin_anew(self, fork: Path | None = None, missed: int = 5) -> None:
        """Restart the node's chain from genesis or with a fork file, with blocks that differ from the earlier ones."""
        self.node.end_streams()
        self.node.wake()
        self.node.world = node_world(fork)
        make_block(self.chain, missed=missed)

    def small(self, count: int = 1) -> None:
        """Make blocks that are each small enough for one message."""
        self.node.world.make(count)
        self.node.wake()

    def large(self, count: int = 1) -> None:
        """Make blocks that are too large for one message. Their operations are too large for one message as well."""
        for number in range(count):
            self.chain.push_transaction(transfer(self.chain, memo=str(number) * 2000))
        self.small()

    def relay(self, *, has_operations: bool = True) -> Relay:
        """Start a relay."""
        relay = Relay(self.node.url, self.broker.url, bytes_max=1 << 30, has_operations=has_operations)
        self.relays.append(asyncio.ensure_future(relay.run()))
        return relay

    async def kill_relays(self) -> None:
        """Cancel all relays at once."""
        for task in self.relays:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        self.relays.clear()

    def lines(self) -> list[Any]:
        """Return the decoded messages of the broker's block stream."""
        stream = self.broker.streams.get(NAMES.blocks_stream)
        return [] if stream is None else stream.whole()

    def branch(self) -> list[str]:
        """Return the ids of the blocks on the main branch, according to the broker."""
        return branch_of(self.lines(), self.chain.base)

    async def relayed(self) -> None:
        """Wait until the broker has all blocks of the node's chain."""
        await until(lambda: self.branch() == ids(self.chain))


def branch_of(lines: list[Any], base: int) -> list[str]:
    """Return the ids of the blocks that are on the main branch after these lines. `base` is that of the chain."""
    branch: list[str] = []
    for line in lines:
        if "undone" in line:
            branch = branch[: line["undone"]["first"] - base - 1]
        elif "block" in line:
            branch = [*branch[: line["block"] - base - 1], line["id"]]
    return branch


def ids(chain: Chain) -> list[str]:
    """The ids of a chain's blocks."""
    blocks = [chain.block_by_number(number + 1) for number in range(chain.state.props.head_block_number)]
    return [block.id.hex() for block in blocks if block is not None]


@asynccontextmanager
async def world_of(max_payload: int = SMALL) -> AsyncIterator[World]:
    """Run a node and a broker whose messages have at most `max_payload` bytes."""
    async with asyncio.timeout(PATIENCE_SECONDS), broker_running(max_payload) as broker, node_running() as node:
        world = World(node, broker)
        try:
            yield world
        finally:
            await world.kill_relays()


async def until(is_true: Callable[[], bool]) -> None:
    """Wait until a condition is true."""
    while not is_true():
        await asyncio.sleep(0.002)


class Reading:
    """A running reader of the broker, and the lines that it has written."""

    def __init__(self, world: World, first: int = 1) -> None:
        self._file = BytesIO()
        reader = Reader(world.broker.url, "dev", self._file)
        self.task = asyncio.ensure_future(reader.run("lines", first))

    @property
    def is_greeted(self) -> bool:
        """Whether the reader has written the stream's header."""
        return bool(self._file.getvalue())

    def lines(self) -> list[Any]:
        """Return the decoded lines after the header."""
        return [json.loads(line) for line in self._file.getvalue().splitlines()][1:]

    async def has(self, chain: Chain) -> None:
        """Wait until the lines contain exactly the blocks of a chain."""
        await self.until(lambda lines: branch_of(lines, chain.base) == ids(chain))

    async def until(self, is_true: Callable[[list[Any]], bool]) -> None:
        """Wait until a condition on the lines is true. If the reader fails, raise its error."""
        await until(lambda: self.task.done() or is_true(self.lines()))
        if self.task.done():
            self.task.result()

    async def end(self) -> None:
        """Cancel the reader, and wait until it has exited."""
        self.task.cancel()
        with suppress(asyncio.CancelledError, NodeError, NatsError):
            await self.task


async def answer(world: World, what: str, number: int = 0) -> Any:
    """Run a reader with the command `what`, and return the decoded line that it writes."""
    file = BytesIO()
    await Reader(world.broker.url, "dev", file).run(what, number)
    return json.loads(file.getvalue())


def in_world(max_payload: int = SMALL) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., None]]:
    """Return a decorator for async tests. It runs a test under asyncio, and passes it a `World`: a node and a broker."""

    def decorate(scenario: Callable[..., Awaitable[None]]) -> Callable[..., None]:
        def test(**given: Any) -> None:
            async def whole() -> None:
                async with world_of(max_payload) as world:
                    await scenario(world, **given)

            asyncio.run(whole())

        parameters = list(signature(scenario).parameters.values())[1:]
        test.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        return test

    return decorate


# ------------------------------------------------------------------ large blocks


@in_world()
async def test_large_blocks_pass_like_small_ones(world: World) -> None:
    world.small(2)
    world.large()
    world.small()
    world.relay()
    await world.relayed()
    reader = Reading(world)
    await reader.has(world.chain)
    world.large(3)
    await reader.has(world.chain)
    blocks = [world.chain.block_by_number(number + 1) for number in range(5)]
    wanted = [json.loads(encode_line(new_block(world.chain, block))) for block in blocks if block is not None]
    assert [line for line in reader.lines() if "block" in line] == wanted
    await reader.end()
    stream = world.broker.streams[NAMES.blocks_stream]
    assert sum(PART_HEADER in each.headers for each in stream.messages.values()) > 10
    for number, block_id in enumerate(ids(world.chain), 1):
        assert await answer(world, "id", number) == {"id": block_id}
        later = Reading(world, number)
        await later.until(lambda lines: ids_from(lines, number) == ids(world.chain)[number - 1 :])  # noqa: B023
        await later.end()
    assert await answer(world, "head") == {"head": 5}
    assert await answer(world, "id", 9) == {"id": ""}


def ids_from(lines: list[Any], first: int) -> list[str]:
    """Return the ids of the blocks from number `first` on."""
    return [line["id"] for line in lines if "block" in line and line["block"] >= first]


@in_world()
async def test_large_operations_are_sent_in_parts(world: World) -> None:
    world.large()
    world.relay()
    await world.relayed()
    stored = world.broker.streams[NAMES.operations_stream].whole()
    memos = [line["op"]["value"]["memo"] for line in stored if line["op"]["type"] == "transfer_operation"]
    assert memos == ["0" * 2000]
    assert len({(line["block_id"], line["place"]) for line in stored}) == len(stored)


# ------------------------------------------------------------------ what ends in between


@pytest.mark.parametrize("count", range(1, 9))
@in_world()
async def test_a_restarted_relay_resumes_between_messages(world: World, count: int) -> None:
    world.small()
    world.large()
    taken: list[Stored] = []

    def before(message: Stored) -> bool:
        taken.append(message)
        return len(taken) <= count

    world.broker.before = before
    world.relay()
    await until(lambda: len(taken) > count)
    await world.kill_relays()
    reader = Reading(world)
    await until(lambda: reader.is_greeted)
    world.broker.before = lambda message: True
    world.relay()
    await world.relayed()
    await reader.has(world.chain)
    await reader.end()
    for stream in world.broker.streams.values():
        sent = [each.headers["Nats-Msg-Id"] for each in stream.messages.values()]
        assert len(set(sent)) == len(sent)
        assert not any("." in each for each in sent), "nothing was sent a second time"
        lines = stream.whole()
        assert len(lines) == len({json.dumps(line) for line in lines})


@in_world()
async def test_two_concurrent_relays_write_everything_once(world: World) -> None:
    reader = None
    for _ in range(2):
        world.relay()
    for _ in range(3):
        world.small()
        world.large()
        await world.relayed()
        reader = reader or Reading(world)
    await reader.has(world.chain)  # type: ignore[union-attr]
    await reader.end()  # type: ignore[union-attr]
    blocks = [line["id"] for line in world.lines() if "block" in line]
    assert blocks == ids(world.chain)
    places = [(line["block_id"], line["place"]) for line in world.broker.streams[NAMES.operations_stream].whole()]
    assert len(places) == len(set(places))


@pytest.mark.parametrize("is_large", [False, True])
@in_world()
async def test_a_partly_written_block_can_be_removed(world: World, is_large: bool) -> None:
    world.small(2)
    world.relay(has_operations=False)
    await world.relayed()
    reader = Reading(world)
    parts: list[Stored] = []

    def before(message: Stored) -> bool:
        parts.append(message)
        return len(parts) < 3

    world.broker.before = before
    world.large()
    await until(lambda: len(parts) >= 3)
    await world.kill_relays()
    with suppress(NodeError, NatsError):
        await reader.task
    world.broker.before = lambda message: True
    world.chain.pop_block()
    world.chain.clear_pending()
    make_block(world.chain, missed=1)
    world.large(2) if is_large else world.small()
    world.relay(has_operations=False)
    await world.relayed()
    reader = Reading(world)
    await reader.has(world.chain)
    await reader.end()


@in_world()
async def test_fork_switches_edits_and_a_restarted_chain_are_relayed(world: World) -> None:
    world.relay()
    world.small(3)
    world.large()
    await world.relayed()
    reader = Reading(world)
    await reader.has(world.chain)
    world.chain.edit(SetBalance("alice", Asset(5, COIN)))
    world.node.wake()
    await reader.until(lambda lines: any("edits" in line for line in lines))
    world.node.world.switch(2)
    world.large()
    await reader.has(world.chain)
    world.begin_anew()
    world.small()
    world.large(2)
    await reader.has(world.chain)
    assert any(line.get("undone", {}).get("first") == 1 for line in reader.lines())
    await world.relayed()
    await reader.end()


@in_world()
async def test_the_first_parts_of_a_block_can_be_dropped(world: World) -> None:
    world.small()
    world.large()
    world.large()
    world.relay(has_operations=False)
    await world.relayed()
    stream = world.broker.streams[NAMES.blocks_stream]
    stream.drop(4)
    with fails(NodeError):
        await Reader(world.broker.url, "dev", BytesIO()).run("lines", 1)
    reader = Reading(world, 3)
    await reader.until(lambda lines: [line["block"] for line in lines if "block" in line] == [3])
    await reader.end()


@in_world()
async def test_invalid_parts_are_an_error(world: World) -> None:
    world.large()
    world.relay(has_operations=False)
    await world.relayed()
    stored = world.broker.streams[NAMES.blocks_stream].messages
    stored[2].data = stored[2].data[:-1] + b"!"
    with fails(NodeError):
        await Reader(world.broker.url, "dev", BytesIO()).run("lines", 1)
    stored[2] = stored[1]
    with fails(NodeError):
        await Reader(world.broker.url, "dev", BytesIO()).run("lines", 1)


@in_world()
async def test_an_emptied_stream_is_filled_again(world: World) -> None:
    world.small(2)
    world.relay()
    await world.relayed()
    await world.kill_relays()
    for stream in world.broker.streams.values():
        stream.drop(stream.last + 1)
    world.large()
    world.relay()
    await world.relayed()


@in_world()
async def test_a_replica_applies_large_blocks(world: World) -> None:
    world.small()
    world.large()
    world.relay()
    await world.relayed()
    loop = asyncio.get_running_loop()

    async def follow() -> None:
        async with replica_of(world.broker.url) as replica:
            await followed_until(lambda: replica.is_like(world.chain))
            loop.call_soon_threadsafe(world.broker.end_connections)
            await followed_until(lambda: replica.replica.attempts > 1)
            loop.call_soon_threadsafe(world.large)
            await followed_until(lambda: replica.head == 3 and replica.is_like(world.chain))

    await asyncio.to_thread(trio.run, follow)


@in_world()
async def test_a_chain_with_a_base_is_relayed(world: World) -> None:
    fork = fork_of_young_chain()
    first = read_base(fork).base.number + 1
    world.begin_anew(fork)
    world.small(2)
    world.relay()
    await world.relayed()
    reader = Reading(world, first)
    await reader.has(world.chain)
    loop = asyncio.get_running_loop()

    async def follow() -> None:
        async with replica_of(world.broker.url, **based(fork)) as replica:
            await followed_until(lambda: replica.is_like(world.chain))
            loop.call_soon_threadsafe(world.large)
            await followed_until(lambda: replica.head == first + 3 and replica.is_like(world.chain))

    await asyncio.to_thread(trio.run, follow)
    await world.kill_relays()
    world.begin_anew(fork, 9)
    world.small(7)
    world.relay()
    await world.relayed()
    await reader.has(world.chain)
    assert any(line.get("undone", {}).get("first") == first for line in reader.lines())
    await reader.end()


# ------------------------------------------------------------------ what the node says of its head


@in_world()
async def test_heartbeats_of_the_node_are_relayed_and_those_of_the_broker_are_stale(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_reader, "LIFE_SECONDS", 0.2)
    world.small(3)
    world.relay()
    await world.relayed()
    reader = Reading(world)
    await reader.has(world.chain)

    def says(lines: list[Any]) -> bool:
        world.node.wake()
        return {"head": 3} in lines

    await reader.until(says)
    await world.kill_relays()
    before = len(reader.lines())
    await reader.until(lambda lines: len(lines) > before + 1)
    assert reader.lines()[-1] == {"head": 3, "stale": True}
    # Any client of the broker can publish on this subject.
    world.broker.give(NAMES.head, b"[")
    world.broker.give(NAMES.head, b'{"head":7}')
    await reader.until(lambda lines: {"head": 7} in lines)
    await reader.end()


# ------------------------------------------------------------------ failures that stay


@in_world()
async def test_an_unwritable_block_is_not_fetched_repeatedly(world: World) -> None:
    world.small()
    relay = world.relay()
    await world.relayed()
    tried = 0

    def before(message: Stored) -> bool:
        nonlocal tried
        tried += message.subject == NAMES.blocks
        return message.subject != NAMES.blocks

    world.broker.before = before
    world.large()
    await until(lambda: tried >= 4)
    counters = relay.counters
    assert (counters.blocks, counters.head, counters.node_head) == (1, 1, 2)
    assert counters.repeats >= 3
    assert sum(counters.errors.values()) >= 3
    # The expensive call is made once for each block, and complete blocks are never requested.
    assert world.node.calls.count("account_history_api.get_ops_in_block") == 2
    assert "block_api.get_block" not in world.node.calls


@in_world(2048)
async def test_a_broker_for_tiny_messages_is_refused(world: World) -> None:
    relay = world.relay()
    await until(lambda: bool(relay.counters.errors))
    assert set(relay.counters.errors) == {"NodeError"}


@in_world()
async def test_a_broker_of_another_chain_ends_the_relay(world: World) -> None:
    world.small()
    world.relay()
    await world.relayed()
    await world.kill_relays()
    world.broker.streams[NAMES.blocks_stream].config["description"] = "{}"
    with pytest.raises(WrongChain):
        await Relay(world.node.url, world.broker.url, bytes_max=1, has_operations=False).run()


@in_world()
async def test_both_ends_can_disconnect(world: World) -> None:
    relay = world.relay()

    async def counted() -> None:
        """Wait until the relay has counted all blocks. It counts a block only after the broker has acknowledged it."""
        await world.relayed()
        await until(lambda: relay.counters.blocks == len(ids(world.chain)))

    for _ in range(2):
        world.large()
        await counted()
        world.broker.end_connections()
        world.small()
        await counted()
        world.node.end_streams()
        world.node.wake()
        world.small()
        await counted()
    assert relay.counters.succeeded


def test_counters_of_a_relay() -> None:
    now = 100.0
    counters = RelayCounters(lambda: 1000.0, lambda: now)
    for block_id in ("aa", "bb", "bb", "bb"):
        counters.begin(block_id)
    counters.errors["TimeoutError"] += 2
    counters.head_time, now = 990, 107.0
    found = {sample.name: sample.value for family in counters.collect() for sample in family.samples}
    assert found["coind_relay_repeats_total"] == 2
    assert found["coind_relay_errors_total"] == 2
    assert found["coind_relay_head_block_age_seconds"] == 10
    assert found["coind_relay_success_seconds"] == 7
    counters.succeed()
    assert counters.succeeded == now


def test_counters_are_served_over_http() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with fails(NodeError):
            RelayCounters().serve(Address("127.0.0.1", taken.getsockname()[1]))
    with capture_logs() as lines:
        stop = RelayCounters().serve(Address("127.0.0.1", 0))
    try:
        with urlopen(lines[0]["url"]) as reply:
            assert b"coind_relay_blocks_total 0.0" in reply.read()
    finally:
        stop()
