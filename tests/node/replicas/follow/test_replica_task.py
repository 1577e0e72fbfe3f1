"""A replica that follows other nodes over HTTP: catching up, fork switches, restarts of the node, nodes of other chains, and
invalid data.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
import trio

from node.client import lines
from node.replicas.follow import sources
from node.replicas.follow.forwarding import ForwardingProcessor
from node.replicas.follow.replica_applier import Gap
from node.replicas.follow.replica_task import PROBLEM_LENGTH_MAX
from node.specs.builder import load_spec, with_witnesses
from rpc.api.debug_node import debug_set_hardfork
from rpc.declare.errors import UpstreamError
from rpc.push.events import StreamHeader, encode_line, new_block
from rpc.push.header import genesis_fingerprint
from rpc.records.blocks import block_json
from state.chain.chain import Chain
from state.chain.state_edits import SetBalance
from state.protocol.errors import Refused
from state.protocol.values.asset import COIN, Asset
from tests.helpers.followed import Replica, answering, answers, replica_of, reply, until
from tests.helpers.golden import fails, same_as_golden
from tests.helpers.nodes import DEV, dev_chain, make_block, transfer
from tests.helpers.push import PushClients, pushing


def url_of(world: PushClients) -> str:
    """Return the address at which the server of a chain listens."""
    return f"http://127.0.0.1:{world.port}"


async def test_a_replica_catches_up_and_follows_edits_and_forks() -> None:
    async with pushing() as world:
        world.make(40)
        async with replica_of(url_of(world)) as replica:
            await until(lambda: replica.is_like(world.chain))
            world.make(3)
            world.chain.edit(SetBalance("alice", Asset(5, COIN)))
            await until(lambda: replica.is_like(world.chain))
            world.switch(2)
            await until(lambda: replica.is_like(world.chain))
            world.chain.pop_blocks(2)
            world.chain.clear_pending()
            await until(lambda: replica.is_like(world.chain))
            assert replica.replica.trouble() == ""
            assert replica.replica.attempts == 1


async def test_a_replica_reconnects() -> None:
    async with pushing() as world:
        world.make(3)
        async with replica_of(url_of(world)) as replica:
            await until(lambda: replica.head == 3)
            world.hub.close()
            await until(lambda: "the node is stopping" in replica.replica.problem)
            world.switch(2)
            await until(lambda: replica.is_like(world.chain))
            assert replica.replica.attempts in (2, 3)


class Older:
    """The RPC methods of an older node, which has no stream of blocks. Clients read its blocks one by one or, with `has_ranges`, in
    ranges.
    """

    def __init__(self, *, has_ranges: bool, is_condenser: bool) -> None:
        self.chain = dev_chain()
        props = "condenser_api.get_dynamic_global_properties" if is_condenser else "database_api.get_dynamic_global_properties"
        block = (lambda params: self.block(params[0])) if is_condenser else lambda params: {"block": self.block(params["block_num"])}
        self.methods: dict[str, Callable[[Any], Any]] = {
            props: lambda _: {
                "head_block_number": self.chain.state.props.head_block_number,
                "head_block_id": self.chain.state.props.head_block_id.hex(),
            },
            "condenser_api.get_block" if is_condenser else "block_api.get_block": block,
        }
        self.is_condenser = is_condenser
        if has_ranges:
            self.methods["block_api.get_block_range"] = self.range

    def block(self, number: int) -> Any:
        """Return a block as JSON, or None."""
        found = self.chain.block_by_number(number)
        return None if found is None else block_json(self.chain.state.wire, found, legacy=self.is_condenser)

    def range(self, params: Any) -> Any:
        """Return the reply of `block_api.get_block_range`."""
        first = params["starting_block_num"]
        return {"blocks": [self.block(number) for number in range(first, first + params["count"])]}


@pytest.mark.parametrize(("has_ranges", "is_condenser"), [(True, False), (False, False), (False, True)])
async def test_blocks_are_polled_if_there_is_no_stream(monkeypatch: pytest.MonkeyPatch, has_ranges: bool, is_condenser: bool) -> None:
    monkeypatch.setattr(sources, "POLL_SECONDS", 0.01)
    older = Older(has_ranges=has_ranges, is_condenser=is_condenser)
    older.chain.push_transaction(transfer_after(older.chain, 3))
    make_block(older.chain)
    async with answering(answers(older.methods)) as url, replica_of(url) as replica:
        await until(lambda: replica.is_like(older.chain))
        make_block(older.chain)
        await until(lambda: replica.is_like(older.chain))
        older.chain.pop_block()
        older.chain.clear_pending()
        for _ in range(2):
            make_block(older.chain, missed=1)
        await until(lambda: replica.is_like(older.chain))


def transfer_after(chain: Chain, count: int) -> Any:
    """Make `count` blocks, and return a transfer that refers to the last."""
    for _ in range(count):
        make_block(chain)
    return transfer(chain)


async def test_another_chain_is_refused_at_once() -> None:
    async with pushing() as world:
        other = load_spec("dev-tests")
        async with replica_of(url_of(world), other) as replica:
            await until(lambda: bool(replica.failures))
        same_as_golden(str(replica.failures[0]))
        async with replica_of(url_of(world), with_witnesses(DEV, 3)) as replica:
            await until(lambda: bool(replica.failures))
        same_as_golden(str(replica.failures[0]))


# ------------------------------------------------------------------ nodes that send anything


def greeted(*lines: bytes) -> bytes:
    """Return an HTTP reply of a dev node: the header of a packed stream, then these lines."""
    genesis = genesis_fingerprint(DEV)
    chain_id = DEV.chain_id.hex()
    header = StreamHeader(name="dev", chain_id=chain_id, genesis=genesis, head=9)
    return reply(b"".join(line + b"\n" for line in (encode_line(header), *lines)))


def some_blocks() -> tuple[bytes, bytes]:
    """Return two blocks as lines of a packed stream."""
    chain = dev_chain()
    one, two = (encode_line(new_block(chain, make_block(chain))) for _ in range(2))
    return one, two


ONE, TWO = some_blocks()
WRONG_ID = json.dumps(json.loads(ONE) | {"id": "00" * 20}).encode()


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (reply(b"garbage\n"), "invalid line in the stream"),
        (reply(ONE + b"\n"), "the first line must be the stream's header"),
        (greeted(b"{}"), "it has no known member"),
        (greeted(b'{"block":1,"id":"zz","packed":""}'), "invalid line in the stream"),
        (greeted(b'{"block":1,"id":"","packed":"","edits":[{"edit":"make_rich"}]}'), "invalid line in the stream"),
        (greeted(b"[" * 100_000), "invalid line in the stream"),
        (greeted(WRONG_ID), "block 1: its bytes belong to block"),
        (greeted(TWO), str(Gap(1, 2))),
        (greeted(b'{"error":"no more"}'), "ended the stream: no more"),
        (greeted(b'{"block":1,"id":"00","packed":"00"}'), "block 1: can't be decoded"),
        (b"220 smtp.example.org\r\n\r\n", "answers, but not in HTTP"),
        (reply(b"", "503 Service Unavailable"), "has too many streams"),
    ],
)
async def test_invalid_data_of_a_node_is_reported_and_changes_nothing(sent: bytes, said: str) -> None:
    async with answering(lambda line, body: sent) as url, replica_of(url) as replica:
        await until(lambda: said in replica.replica.problem)
        assert replica.head == 0
        assert replica.replica.trouble()


async def test_a_reported_problem_is_short() -> None:
    def answer(line: str, body: bytes) -> bytes:
        return reply(b"", "404 Not Found") if line.startswith("GET") else reply(b'{"error": {"message": "%s"}}' % (b"x" * 100_000))

    async with answering(answer) as url, replica_of(url) as replica:
        await until(lambda: "xxx" in replica.replica.problem)
        assert len(replica.replica.problem) <= PROBLEM_LENGTH_MAX


async def test_an_endless_line_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LINE_SIZE_MAX", 1 << 20)
    async with answering(lambda line, body: greeted(b"x" * (4 << 20))) as url, replica_of(url) as replica:
        await until(lambda: "a line of the stream has more than 1 MiB" in replica.replica.problem)


async def test_an_unreachable_node_is_retried() -> None:
    async with replica_of("http://127.0.0.1:9") as replica:
        await until(lambda: replica.replica.attempts > 1)
        same_as_golden(replica.replica.trouble())


# ------------------------------------------------------------------ what clients of a replica may do


async def test_broadcasts_are_forwarded_to_the_owner() -> None:
    async with pushing() as world, trio.open_nursery() as nursery:
        world.make(3)
        replica = Replica(url_of(world))

        async def reached(number: int) -> None:
            assert number == 4

        passing = ForwardingProcessor(replica.processor, world.chain.state.wire, url_of(world), url_of(world), reached)
        trx = transfer(world.chain)
        await passing.push_transaction(trx)
        with pytest.raises(UpstreamError) as caught:
            await passing.push_transaction(trx)
        assert "Duplicate transaction" in caught.value.error["message"]
        waited = transfer(world.chain, memo="waited for")

        async def make() -> None:
            await until(lambda: len(world.chain.pending) == 2)
            world.make(1)

        nursery.start_soon(make)
        inclusion = await passing.wait_for(waited)
        assert (inclusion.id, inclusion.block_num, inclusion.trx_num) == (waited.id, 4, 1)


async def test_a_replica_refuses_other_changes() -> None:
    replica = Replica("http://127.0.0.1:9")

    async def reached(number: int) -> None: ...

    passing = ForwardingProcessor(replica.processor, replica.chain.state.wire, "nats://there", "", reached)
    with fails(Refused):
        await passing.in_turn(lambda: None)
    with fails(Refused):
        await debug_set_hardfork(replica.chain, passing, 23)
    with fails(Refused):
        await passing.push_transaction(transfer(dev_chain_with_blocks()))
    unreachable = ForwardingProcessor(replica.processor, replica.chain.state.wire, "http://127.0.0.1:9", "http://127.0.0.1:9", reached)
    with fails(Refused):
        await unreachable.push_transaction(transfer(dev_chain_with_blocks()))


async def test_invalid_positions_of_accepted_transactions_are_ignored() -> None:
    strange = json.dumps(json.loads(ONE) | {"accepted": [-1, -9, 7]}).encode()
    async with answering(lambda line, body: greeted(strange)) as url, replica_of(url) as replica:
        await until(lambda: replica.head == 1)


def dev_chain_with_blocks() -> Chain:
    """Return a dev chain with one block."""
    chain = dev_chain()
    make_block(chain)
    return chain
