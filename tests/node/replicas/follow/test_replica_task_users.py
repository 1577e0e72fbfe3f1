"""Users of a replica over each protocol: broadcasts, calls that wait for a block, reads, and subscriptions."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
import trio

from node.client.errors import WrongChain
from node.fork.file import write_fork
from node.replicas.follow import forwarding
from node.specs.builder import load_spec
from rpc.fork import ForkOrigin
from state.chain.digest import state_digest
from tests.helpers.based import base_file, based, fork_of_young_chain
from tests.helpers.followed import reply, until
from tests.helpers.golden import same_as_golden
from tests.helpers.push import lines
from tests.helpers.users import ASYNC, SYNC, balance, broadcasts, uses_each_way, waits
from tests.helpers.ways import SECONDS_MAX, WAYS, InProcessNode, Open, Transport, call, http1, node_here, result, socket


@asynccontextmanager
async def pair(readers: int = 0, **given: Any) -> AsyncIterator[tuple[InProcessNode, InProcessNode]]:
    """Start a node that makes blocks, and a replica that has caught up with it."""
    async with node_here(**given) as owner, node_here(follow=owner.url, readers=readers, **given) as replica:
        await until(lambda: is_like(replica, owner))
        yield owner, replica


def is_like(replica: InProcessNode, owner: InProcessNode) -> bool:
    """Whether a replica has the same head block as the node that it follows."""
    return replica.chain.state.props.head_block_id == owner.chain.state.props.head_block_id


@pytest.mark.parametrize(("readers", "is_based"), [(0, False), (1, False), (1, True)])
async def test_users_are_served_over_each_protocol(readers: int, is_based: bool) -> None:
    async with pair(readers, **based(fork_of_young_chain()) if is_based else {}) as (owner, replica):
        await uses_each_way(owner, replica.port, 1 + readers)
        for open_ in WAYS:
            async with open_(replica.port) as way:
                assert "error" in await call(way, "dev_api.mine")


# ------------------------------------------------------------------ owners that are away, slow or strange


async def refused(way: Transport, method: str, trx: Any) -> str:
    """Broadcast a transaction that the node must refuse, and return the name of the rule that it violates."""
    rule: str = (await call(way, f"condenser_api.{method}", [trx]))["error"]["data"]["explain"]["rule"]
    return rule


@pytest.mark.parametrize("open_", WAYS)
async def test_broadcasts_resume_after_an_owner_restarts(open_: Open) -> None:
    async with pair() as (owner, replica), open_(replica.port) as way:
        trx_id, trx = owner.transfer()
        async with trio.open_nursery() as nursery:

            async def end() -> None:
                await owner.pending(trx_id)
                await owner.end()

            nursery.start_soon(end)
            assert await refused(way, SYNC, trx) == "owner_gives_no_answer"
        for method in (ASYNC, SYNC):
            assert await refused(way, method, trx) == "owner_gives_no_answer"
        assert await balance(way) > 0
        async with node_here(owner.port) as anew:
            await until(lambda: is_like(replica, anew))
            await broadcasts(anew, way)
            await waits(anew, way)


class Fake:
    """A server to which broadcasts are forwarded. It sends configured replies, and counts the clients that disconnect."""

    def __init__(self) -> None:
        self.answer = reply(b"")
        self.asked = self.left = 0
        self.may_answer = trio.Event()

    async def talk(self, stream: trio.SocketStream) -> None:
        """Reply to a request once the test allows it, unless the client disconnects first."""
        while b"\r\n\r\n" not in await stream.receive_some(1 << 20):
            pass
        self.asked += 1
        async with trio.open_nursery() as nursery:

            async def watch() -> None:
                while await stream.receive_some(1 << 20):
                    pass
                self.left += 1
                nursery.cancel_scope.cancel()

            nursery.start_soon(watch)
            await self.may_answer.wait()
            nursery.cancel_scope.cancel()
        if self.may_answer.is_set():
            await stream.send_all(self.answer)
        await stream.aclose()


@asynccontextmanager
async def faked() -> AsyncIterator[tuple[InProcessNode, InProcessNode, Fake]]:
    """Start a node, its replica, and a fake server to which the replica forwards broadcasts."""
    fake = Fake()
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, fake.talk, listeners)
        url = "http://127.0.0.1:{1}".format(*listeners[0].socket.getsockname())
        async with node_here() as owner, node_here(follow=owner.url, broadcast_to=url) as replica:
            await until(lambda: is_like(replica, owner))
            yield owner, replica, fake
        nursery.cancel_scope.cancel()


async def test_a_slow_owner_delays_no_other_client() -> None:
    async with faked() as (owner, replica, fake):
        for times, open_ in enumerate(WAYS, 1):
            async with open_(replica.port) as leaving, trio.open_nursery() as nursery:
                nursery.start_soon(call, leaving, f"condenser_api.{SYNC}", [owner.transfer()[1]])
                await until(lambda times=times: fake.asked == times)  # type: ignore[misc]
                async with open_(replica.port) as other:
                    assert await balance(other) > 0
                nursery.cancel_scope.cancel()
            await until(lambda times=times: fake.left == times)  # type: ignore[misc]
        fake.answer = answered({"result": {"id": "ab" * 20, "block_num": 1, "trx_num": 2, "expired": True}})
        async with http1(replica.port) as way, trio.open_nursery() as nursery:
            nursery.start_soon(set_once, fake.may_answer, lambda: fake.asked > len(WAYS))
            found = await result(way, f"condenser_api.{SYNC}", [owner.transfer()[1]])
        assert found == {"id": "ab" * 20, "block_num": 1, "trx_num": 2, "expired": True}


async def set_once(event: trio.Event, holds: Callable[[], bool]) -> None:
    """Wait until a condition is true, then set an event."""
    await until(holds)
    event.set()


def answered(members: dict[str, Any]) -> bytes:
    """Return an HTTP response that contains a JSON-RPC reply with these members."""
    return reply(json.dumps({"jsonrpc": "2.0", "id": 1, **members}).encode())


ERRORS: list[dict[str, Any]] = [
    {"code": -32000, "message": "no", "data": {"code": 10, "name": "assert_exception", "stack": []}},
    {"code": 10**30, "message": None},
    {"strange": [[[[]]]], "text": "\ud800"},
]
NO_INCLUSIONS: list[Any] = [{}, [], None, {"id": 5}, {"id": "zz"}, {"id": "", "block_num": float("inf"), "trx_num": 0, "expired": False}]


async def test_replies_of_the_owner_are_forwarded_or_reported() -> None:
    async with faked() as (owner, replica, fake), AsyncExitStack() as stack:
        fake.may_answer.set()
        ways = [await stack.enter_async_context(open_(replica.port)) for open_ in WAYS]
        for way in ways:
            for error in ERRORS:
                fake.answer = answered({"error": error})
                for method in (ASYNC, SYNC):
                    said = (await call(way, f"condenser_api.{method}", [owner.transfer()[1]]))["error"]
                    assert said == json.loads(json.dumps(error).replace("\\ud800", "\\ufffd"))
            for answer in (reply(b"busy", "503 Service Unavailable"), reply(b"[" * 1000), b"220 smtp.example.org\r\n\r\n", b""):
                fake.answer = answer
                for method in (ASYNC, SYNC):
                    assert await refused(way, method, owner.transfer()[1]) == "owner_gives_no_answer"
            for found in NO_INCLUSIONS:
                fake.answer = answered({"result": found})
                assert await refused(way, SYNC, owner.transfer()[1]) == "owner_gives_no_answer"


async def test_the_number_of_waiting_calls_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "WAITING_CALLS_MAX", 1)
    async with (
        faked() as (owner, replica, fake),
        socket(replica.port) as one,
        http1(replica.port) as two,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(call, one, f"condenser_api.{SYNC}", [owner.transfer()[1]])
        await until(lambda: fake.asked == 1)
        assert await refused(two, SYNC, owner.transfer()[1]) == "too_many_waiting"
        nursery.cancel_scope.cancel()


async def test_a_replica_refused_for_its_witnesses_leaves_a_usable_folder(tmp_path: Path) -> None:
    async with node_here(witnesses=3) as owner:
        async with node_here(follow=owner.url, data=tmp_path) as refused:
            await refused.context.stop.wait()
            assert isinstance(refused.context.failure, WrongChain)
        async with node_here(follow=owner.url, data=tmp_path, witnesses=3) as replica:
            await until(lambda: is_like(replica, owner))


# ------------------------------------------------------------------ chains with a base


async def test_a_replica_of_a_forked_chain_has_its_edits_and_resets(tmp_path: Path) -> None:
    fork = based(fork_of_young_chain())
    async with node_here(**fork) as owner, node_here(follow=owner.url, data=tmp_path, **fork) as replica, http1(owner.port) as way:
        await until(lambda: is_like(replica, owner))
        moment = await result(way, "dev_api.snapshot")
        for amount in ("1.000 COIN", "2.000 COIN"):
            await result(way, "dev_api.set_balance", ["carol", amount])
            await result(way, "dev_api.mine", [30])
        await until(lambda: is_like(replica, owner))
        assert state_digest(replica.chain.state) == state_digest(owner.chain.state)
        await result(way, "dev_api.revert", [moment["id"]])
        await result(way, "dev_api.mine", [2])
        await until(lambda: is_like(replica, owner))
        await result(way, "dev_api.reset")
        await until(lambda: is_like(replica, owner))
        assert state_digest(replica.chain.state) == state_digest(owner.chain.state)
        assert replica.chain.block_by_number(replica.chain.base) is None


async def test_a_replica_needs_the_fork_file_of_the_chain(tmp_path: Path) -> None:
    fork = based(fork_of_young_chain())
    async with node_here(**fork) as owner, node_here() as plain:
        for url, given in ((owner.url, {}), (plain.url, fork), (owner.url, based(base_file(tmp_path, 5, ["rc"])))):
            async with node_here(follow=url, **given) as replica:
                await replica.context.stop.wait()
                same_as_golden(str(replica.context.failure))
    async with node_here(spec=load_spec("dev-tests")) as other, node_here(follow=other.url, **fork) as replica:
        await replica.context.stop.wait()
        same_as_golden(str(replica.context.failure))


async def test_a_stream_begins_after_the_base() -> None:
    async with node_here(**based(fork_of_young_chain())) as owner:
        first = owner.chain.base + 1
        async with lines(owner.port, "?from=1") as stream:
            assert (await stream.next())["block_num"] == first
        async with lines(owner.port, "?from=1&form=packed") as stream:
            header, block = await stream.some(2)
            assert (header["chain"]["base"], block["block"]) == (first - 1, first)


async def until_problem(replica: InProcessNode, text: str) -> None:
    """Wait until the replica's /health reports a problem with this text, or none for an empty text."""

    def problem() -> str:
        try:
            reply = urlopen(f"{replica.url}/health")
        except HTTPError as error:  # with a problem the status is 503
            reply = error
        with reply:
            said: str = json.load(reply)["following"]["problem"]
            return said

    with trio.fail_after(SECONDS_MAX):
        while not (text in (said := await trio.to_thread.run_sync(problem)) and bool(text) == bool(said)):
            await trio.sleep(0.01)


def copy_of(node: InProcessNode, path: Path) -> ForkOrigin:
    """Write a fork file with a complete copy of a node's chain at its head, and return its origin."""
    props, chain_id = node.chain.state.props, node.chain.state.spec.chain_id.hex()
    number, block_id = props.head_block_number, props.head_block_id.hex()
    origin = ForkOrigin(source=node.url, chain_id=chain_id, number=number, block_id=block_id, time=props.time, is_complete=True)
    write_fork(node.chain, path, origin)
    return origin


async def test_a_complete_copy_follows_until_its_source_leaves_the_fork_block(tmp_path: Path) -> None:
    async with node_here() as owner, http1(owner.port) as way:
        await result(way, "dev_api.set_balance", ["carol", "1.000 COIN"])
        await result(way, "dev_api.mine", [10])
        origin = copy_of(owner, tmp_path / "copy")
        async with node_here(follow=owner.url, origin=origin, **based(tmp_path / "copy")) as replica:
            await result(way, "dev_api.mine", [3])
            await result(way, "dev_api.set_balance", ["bob", "1.000 COIN"])
            await until(lambda: is_like(replica, owner) and state_digest(replica.chain.state) == state_digest(owner.chain.state))
            await result(way, "dev_api.pop_blocks", [2])
            await until(lambda: is_like(replica, owner))
            await result(way, "dev_api.reset")
            await until_problem(replica, "this node's chain begins after block")
            # Otherwise the blocks can be those from before the reset.
            await result(way, "dev_api.advance_time", [600])
            await result(way, "dev_api.mine", [50])
            await until_problem(replica, "Fork it again")


async def test_a_copy_of_a_block_that_is_edited_later_ends(tmp_path: Path) -> None:
    async with node_here() as owner, http1(owner.port) as way:
        origin = copy_of(owner, tmp_path / "copy")
        async with node_here(follow=owner.url, origin=origin, **based(tmp_path / "copy")) as replica:
            await until_problem(replica, "")
            await result(way, "dev_api.set_balance", ["bob", "1.000 COIN"])
            await replica.context.stop.wait()
            same_as_golden(str(replica.context.failure))
