"""The standby process, which answers reads during a long job: its replies, and the behaviour if there is no standby."""

import json
import os
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from node.app.service import new_service
from node.devchain.devchain import DevChain
from node.monitoring.counters import Counters
from node.monitoring.health import Parts, health
from node.monitoring.metrics import Metrics
from node.processor.preemption import RUN_SECONDS_MAX
from node.processor.standby import ASKED_AT_ONCE_MAX, Standby
from node.runtime.errors import FileError
from node.runtime.forked_child import ForkedChild
from node.storage.blocklog import BlockLog
from rpc.caller import LOCAL, Caller
from rpc.http.pages import PageReply
from rpc.http.server import serve
from rpc.jsonrpc.read_only import MEMBERS_MAX, answer_read
from rpc.push.hub import Hub
from state.protocol.errors import Refused
from state.protocol.work import ANNOUNCED_UNITS_MIN, PAUSE_UNITS
from tests.helpers.log_capture import capture_logs
from tests.helpers.nodes import START, empty_blocks, transfer
from tests.helpers.push import lines
from tests.node.processor.test_processor_long import Long
from tests.rpc.http.test_asgi_app import ask

HEAD = "database_api.get_dynamic_global_properties"


class Served(Long):
    """A chain with a service, and a long block whose job doesn't end before the test sets `may_end`."""

    def __init__(self) -> None:
        super().__init__()
        clock = self.processor._clock
        self.service = new_service(self.chain, self.processor, DevChain(self.chain, clock), (), gate=self.processor.gate)
        self.processor.long_jobs.answer_read = partial(answer_read, self.service)
        self.may_end = False
        self.chain.state.listeners.after_block.append(self._wait)

    def _wait(self, state: Any, _: object) -> None:
        while not self.may_end:
            state.work.spend(1000, "waiting")

    async def call(self, method: str, **params: Any) -> Any:
        """Call a method, and return the result."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        return json.loads(await self.answer(body))["result"]

    async def answer(self, body: bytes) -> bytes:
        reply: bytes | Awaitable[bytes] = await self.service.answer_in_turn(body, LOCAL)
        return reply if isinstance(reply, bytes) else await reply

    async def head(self) -> int:
        """Return the number of the head block, as a client reads it."""
        number: int = (await self.call(HEAD))["head_block_number"]
        return number

    async def begin(self, nursery: trio.Nursery) -> trio.Event:
        """Push the block, and wait until its job is interrupted. Return an event that is set when the caller that pushed the block has its
        reply.
        """
        answered = trio.Event()

        async def push() -> None:
            await self.processor.push_block(self.block)
            answered.set()

        nursery.start_soon(self.processor.run)
        nursery.start_soon(push)
        await self.interrupted()
        return answered

    @property
    def standby(self) -> Standby:
        """The standby of the interrupted job."""
        found = self.processor.long_jobs._standby
        assert found is not None
        return found


async def test_reads_see_the_chain_before_the_block(nursery: trio.Nursery) -> None:
    served = Served()
    served.chain.push_transaction(transfer(served.chain, "waits"))
    answered = await served.begin(nursery)
    assert await served.head() == 1
    batch = json.dumps([{"jsonrpc": "2.0", "id": number, "method": HEAD} for number in range(3)]).encode()
    assert [reply["result"]["head_block_number"] for reply in json.loads(await served.answer(batch))] == [1, 1, 1]
    assert "error" in json.loads(await served.answer(b"no JSON"))
    assert not answered.is_set()
    pid = served.standby._child.pid
    served.may_end = True
    await answered.wait()
    assert await served.head() == 2
    await trio.testing.wait_all_tasks_blocked(0.01)
    while is_alive(pid):
        await trio.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Whether a process with this id exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_pages_and_reads_are_answered_over_http_and_streams_wait(nursery: trio.Nursery) -> None:
    served = Served()
    served.chain.push_transaction(transfer(served.chain, "waits"))
    clock = served.processor._clock
    parts = Parts(chain=served.chain, clock=clock, counters=Counters(served.chain, clock), processor=served.processor, ending=str)
    pages: dict[str, Callable[[], PageReply]] = {"/health": partial(health, parts), "/metrics": Metrics(parts)}
    hub = Hub(served.chain, lambda: START * 1000)
    [address] = await nursery.start(partial(serve, served.service, "127.0.0.1", 0, pages=pages, push=hub))
    port = int(address.rpartition(":")[2])
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": HEAD}).encode()
    async with lines(port, "?from=1") as stream:
        answered = await served.begin(nursery)
        for _ in range(2):
            status, _, body = await ask(port, "GET", "/health", None)
            page = json.loads(body)
            assert (status, page["status"], page["head_block_number"], page["pending_transactions"]) == (200, "ok", 1, 1)
            assert b"\ncoind_transactions_pending 1.0\n" in (await ask(port, "GET", "/metrics", None))[2]
            assert json.loads((await ask(port, "POST", "/", request))[2])["result"]["head_block_number"] == 1
        assert not answered.is_set()
        served.may_end = True
        await answered.wait()
        assert [line["block_num"] for line in await stream.some(2)] == [1, 2]
    assert json.loads((await ask(port, "POST", "/", request))[2])["result"]["head_block_number"] == 2
    nursery.cancel_scope.cancel()


async def test_broadcasts_wait_for_the_end_of_the_job(nursery: trio.Nursery) -> None:
    served = Served()
    answered = await served.begin(nursery)
    trx = served.chain.state.wire.transaction_to_json(transfer(served.other, "late"))
    replies: list[Any] = []

    async def broadcast() -> None:
        replies.append(await served.call("network_broadcast_api.broadcast_transaction", trx=trx))

    nursery.start_soon(broadcast)
    assert await served.head() == 1
    assert replies == []
    served.may_end = True
    await answered.wait()
    while not replies:
        await trio.lowlevel.checkpoint()
    assert replies == [{}]
    assert len(served.chain.pending) == 1


async def test_reads_wait_after_the_standby_dies(nursery: trio.Nursery) -> None:
    served = Served()
    answered = await served.begin(nursery)
    assert await served.head() == 1
    with capture_logs() as logged:
        os.kill(served.standby._child.pid, signal.SIGKILL)
        while not logged:
            await trio.lowlevel.checkpoint()
        await read_at_the_end(served, answered, nursery)
    assert [(line["log_level"], line["reason"]) for line in logged] == [("warning", "the process has ended with signal 9")]


async def test_reads_wait_if_the_standby_hangs(nursery: trio.Nursery) -> None:
    served = Served()

    def hang(_body: bytes, _caller: Caller) -> bytes:
        time.sleep(600)
        return b""

    served.processor.long_jobs.answer_read = hang
    answered = await served.begin(nursery)
    await read_at_the_end(served, answered, nursery)


async def test_reads_wait_if_no_process_can_be_forked(nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> int:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", fail)
    with capture_logs() as logged:
        served = Served()
        answered = await served.begin(nursery)
        await read_at_the_end(served, answered, nursery)
    assert [line["event"] for line in logged] == ["no standby was forked, reads wait for a long job"]


async def read_at_the_end(served: Served, answered: trio.Event, nursery: trio.Nursery) -> None:
    """Assert that a read waits until the job ends, and then returns the new head."""
    heads: list[int] = []

    async def read() -> None:
        heads.append(await served.head())

    nursery.start_soon(read)
    for _ in range(100):
        await trio.lowlevel.checkpoint()
    assert heads == []
    served.may_end = True
    await answered.wait()
    while not heads:
        await trio.lowlevel.checkpoint()
    assert heads == [2]


async def test_a_client_reads_the_block_that_it_was_notified_of(nursery: trio.Nursery) -> None:
    """Once subscribers are notified of the block, no read may return the chain before it, even while pending transactions are being
    reapplied.
    """
    served = Served()
    for place in range(3):
        served.chain.push_transaction(transfer(served.chain, f"waits {place}"))
    answered = await served.begin(nursery)
    assert await served.head() == 1
    notified: list[bool] = []
    served.chain.on_head_change.append(lambda _: notified.append(True))
    served.may_end = True
    while not notified:
        await trio.lowlevel.checkpoint()
    assert await served.head() == 2
    await answered.wait()


async def test_a_job_that_can_not_be_undone_has_no_standby(nursery: trio.Nursery) -> None:
    served = Served()
    ended: list[bool] = []

    def work() -> None:
        served._wait(served.chain.state, None)
        ended.append(True)

    nursery.start_soon(served.processor.run)
    nursery.start_soon(served.processor.in_turn, work)
    await served.interrupted()
    for _ in range(100):
        await trio.lowlevel.checkpoint()
    assert served.processor.long_jobs._standby is None
    served.may_end = True
    assert await served.head() == 1
    assert ended == [True]


async def test_a_job_that_announces_long_work_has_a_standby_before_it_changes_anything(nursery: trio.Nursery) -> None:
    served = Served()
    changed: list[bool] = []

    def work() -> None:
        served.chain.state.work.announce(ANNOUNCED_UNITS_MIN)
        changed.append(True)
        served._wait(served.chain.state, None)

    nursery.start_soon(served.processor.run)
    nursery.start_soon(served.processor.in_turn, work)
    await served.interrupted()
    assert await served.head() == 1
    assert served.standby is not None
    served.may_end = True
    while served.processor.gate.is_closed:
        await trio.lowlevel.checkpoint()
    assert await served.head() == 1
    assert changed == [True]


async def test_a_function_in_a_copy_leaves_the_chain_and_its_refusal_is_returned(nursery: trio.Nursery) -> None:
    served = Served()
    processor, chain = served.processor, served.chain
    served.may_end = True
    nursery.start_soon(processor.run)
    await processor.push_block(served.block)
    work, now = chain.state.work, os.getpid()

    def rewind() -> list[int]:
        for _ in range(10):
            time.sleep(RUN_SECONDS_MAX / 2)
            work.undo(PAUSE_UNITS + 1)
        return [chain.rewind(), os.getpid()]

    rewound, process = await processor.in_copy(rewind)
    assert rewound == chain.irreversible < chain.state.props.head_block_number
    assert process != now

    def refuse() -> None:
        raise Refused("there are ${n} of ${what}", condition="n < 2", n=2, what="x" * 100_000)

    with pytest.raises(Refused, match="there are 2 of x") as refused:
        await processor.in_copy(refuse)
    assert refused.value.condition == "n < 2"

    def refuse_without_text() -> None:
        raise Refused(condition="n < 3")

    with pytest.raises(Refused) as refused:
        await processor.in_copy(refuse_without_text)
    assert (refused.value.text, refused.value.condition) == ("", "n < 3")
    with pytest.raises(Refused, match="the process has ended with signal 9"):
        await processor.in_copy(lambda: os.kill(os.getpid(), signal.SIGKILL))
    assert not processor.failure


@pytest.mark.parametrize("is_queued", [True, False])
async def test_a_caller_that_disconnects_before_it_has_a_copy_leaves_no_child(
    is_queued: bool, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = Served()
    processor, fork, children = served.processor, served.processor.fork, list[ForkedChild]()
    calling, called = trio.CancelScope(), trio.Event()

    def fork_and_disconnect(work: Callable[[], object]) -> ForkedChild:
        children.append(fork(work))
        calling.cancel()
        return children[0]

    monkeypatch.setattr(processor, "fork", fork_and_disconnect)
    if not is_queued:
        nursery.start_soon(processor.run)
    before = len(os.listdir("/proc/self/fd"))

    async def call() -> None:
        with calling:
            await processor.in_copy(lambda: time.sleep(60))
        called.set()

    nursery.start_soon(call)
    if is_queued:
        await trio.testing.wait_all_tasks_blocked()
        calling.cancel()
    await called.wait()
    if is_queued:
        nursery.start_soon(processor.run)
        await processor.in_turn(lambda: None)
    assert len(children) == (0 if is_queued else 1)
    assert not any(is_alive(child.pid) for child in children)
    assert len(os.listdir("/proc/self/fd")) == before


async def test_answers_belong_to_their_requests(nursery: trio.Nursery) -> None:
    """Each request gets its own reply, even if many requests are concurrent and some are cancelled."""
    standby = Standby(lambda: None, lambda body, caller: body + caller.address.encode())
    nursery.start_soon(standby.run)
    replies: dict[bytes, bytes] = {}

    async def ask(name: bytes) -> None:
        replies[name] = await standby.ask(name, Caller("1.2.3.4"))

    with trio.move_on_after(0):
        await standby.ask(b"gone" * 100_000, LOCAL)
    async with trio.open_nursery() as asking:
        for number in range(50):
            asking.start_soon(ask, b"%d" % number)
    assert replies == {b"%d" % number: b"%d1.2.3.4" % number for number in range(50)}
    standby.stop()
    assert await standby.ask(b"late", LOCAL) == b""


async def test_clients_take_turns_at_the_standby(nursery: trio.Nursery, tmp_path: Path) -> None:
    numbers, go_on = count(), tmp_path / "go on"

    def answer(_body: bytes, _caller: Caller) -> bytes:
        while not go_on.exists():
            time.sleep(0.001)
        return b"%d" % next(numbers)

    standby = Standby(lambda: None, answer)
    nursery.start_soon(standby.run)
    replies: dict[str, bytes] = {}

    async def ask(address: str) -> None:
        replies[address] = await standby.ask(b"", Caller(address, "a test"))

    async with trio.open_nursery() as asking:
        for address in ["192.0.2.1"] * 5 * ASKED_AT_ONCE_MAX + ["192.0.2.2"]:
            asking.start_soon(ask, address)
            await trio.testing.wait_all_tasks_blocked()
        go_on.touch()
    assert int(replies["192.0.2.2"]) < 2 * ASKED_AT_ONCE_MAX
    standby.stop()


async def test_a_large_batch_waits_for_the_end_of_the_job(nursery: trio.Nursery) -> None:
    served = Served()
    answered = await served.begin(nursery)
    sizes: list[int] = []

    async def ask(members: int) -> None:
        batch = [{"jsonrpc": "2.0", "id": number, "method": HEAD} for number in range(members)]
        sizes.append(len(json.loads(await served.answer(json.dumps(batch).encode()))))

    async with trio.open_nursery() as asking:
        asking.start_soon(ask, MEMBERS_MAX + 1)
        asking.start_soon(ask, MEMBERS_MAX)
        while not sizes:
            await trio.lowlevel.checkpoint()
        assert sizes == [MEMBERS_MAX]
        served.may_end = True
        await answered.wait()
    assert sizes == [MEMBERS_MAX, MEMBERS_MAX + 1]


async def test_the_standby_reads_the_block_log_without_its_lock(nursery: trio.Nursery, tmp_path: Path) -> None:
    """If the process is killed, the standby must not keep the folder locked, since the next node must be able to open it."""
    wire, blocks = empty_blocks(1)
    log = BlockLog(tmp_path, wire)
    log.append(blocks[0])
    standby = Standby(log.reopen, lambda body, _: log.packed(int(body)) or b"")
    nursery.start_soon(standby.run)
    assert await standby.ask(b"1", LOCAL) == wire.pack_block(blocks[0])
    log.close()
    with closing(BlockLog(tmp_path, wire)) as again:
        assert len(again) == 1
        assert await standby.ask(b"1", LOCAL) == wire.pack_block(blocks[0])
    standby.stop()


def test_a_replaced_block_log_is_not_reopened(tmp_path: Path) -> None:
    wire, blocks = empty_blocks(2)
    log = BlockLog(tmp_path, wire)
    log.append(blocks[0])
    data = log.path.read_bytes()
    log.path.unlink()
    log.path.write_bytes(data[:-9] + b"?" + data[-8:])
    with closing(log), pytest.raises(FileError):
        log.reopen()
