"""Long jobs of the processor: which state other tasks read meanwhile, which calls wait, and whether chain and log stay consistent."""

from pathlib import Path

import pytest
import trio
import trio.testing

from node.devchain.devchain import DevChain
from node.processor.long_jobs import ChainSummary
from node.processor.preemption import RUN_SECONDS_MAX
from node.processor.processor import REAPPLY_MILLISECONDS_MAX, Processor
from node.runtime.clock import ChainClock, TimeLimit
from node.storage.blocklog import BlockLog
from rpc.declare.errors import PushFailed
from rpc.jsonrpc.scheduler import ReplyScheduler
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.operations.transfers import Transfer
from state.protocol.errors import Refused
from state.protocol.work import PAUSE_UNITS
from state.tables import State
from tests.helpers.nodes import DEV, SECRET, START, Watch, dev_chain, make_block, transfer

TRANSFERS = 8


class Long:
    """A chain on which each transfer takes long, its processor, and a block from another node that contains TRANSFERS transfers."""

    def __init__(self, log: BlockLog | None = None) -> None:
        self.watch = Watch(RUN_SECONDS_MAX)
        time_limit = TimeLimit(REAPPLY_MILLISECONDS_MAX, lambda: int(self.watch.now * 1000))
        self.other, self.chain = dev_chain(), Chain(new_state(DEV), time_limit.is_over)
        self.chain.push_block(make_block(self.other))
        for place in range(TRANSFERS):
            self.other.push_transaction(transfer(self.other, str(place)))
        self.block = make_block(self.other)
        self.chain.state.listeners.on_operation(self._take_long, Transfer)
        self.processor = Processor(self.chain, clock=ChainClock(lambda: 2**41), stopwatch=self.watch, log=log, time_limit=time_limit)
        self.steps = 0

    def _take_long(self, state: State, _: Transfer) -> None:
        for _pause in range(3):
            state.work.spend(PAUSE_UNITS + 1, "a long transfer")
        self.steps += 1

    async def interrupted(self) -> None:
        """Wait until a job is interrupted."""
        while not self.processor.gate.is_closed:
            await trio.lowlevel.checkpoint()


def digest(chain: Chain) -> tuple[bytes, list[bytes], int]:
    """Return the id of a chain's head, the ids of its pending transactions and the length of its undo journal."""
    return chain.state.props.head_block_id, [trx.id for trx in chain.pending], len(chain.state.journal)


async def test_other_tasks_see_the_previous_chain_while_a_block_is_applied(nursery: trio.Nursery) -> None:
    long = Long()
    before = long.processor.summary
    nursery.start_soon(long.processor.run)
    seen: list[ChainSummary] = []

    async def watch() -> None:
        while long.processor.summary == before:
            if long.processor.gate.is_closed:
                assert long.chain.state.props.head_block_number in (1, 2)
            seen.append(long.processor.summary)
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as pushing:
        pushing.start_soon(long.processor.push_block, long.block)
        pushing.start_soon(watch)
    assert len(seen) > TRANSFERS
    assert set(seen) == {before}
    assert long.processor.summary.head_block_number == 2
    assert long.processor.summary.head_block_id == long.block.id


async def test_a_broadcast_waits_for_the_end_of_a_long_job(nursery: trio.Nursery) -> None:
    long = Long()
    nursery.start_soon(long.processor.run)
    await trio.testing.wait_all_tasks_blocked()
    async with trio.open_nursery() as pushing:
        pushing.start_soon(long.processor.push_block, long.block)
        await long.interrupted()
        pushing.start_soon(long.processor.push_transaction, trx := transfer(long.other, "late"))
        while long.processor.gate.is_closed:
            assert long.processor.queue_length <= 1
            await trio.lowlevel.checkpoint()
    assert long.chain.state.props.head_block_number == 2
    assert [waiting.id for waiting in long.chain.pending] == [trx.id]


async def test_callers_resume_while_no_job_is_interrupted(nursery: trio.Nursery) -> None:
    """A method can read the chain directly after its job, because no other job is interrupted then."""
    long = Long()
    nursery.start_soon(long.processor.run)

    async def edit() -> None:
        await long.processor.in_turn(lambda: None)
        assert not long.processor.gate.is_closed

    async def push() -> None:
        await long.processor.push_block(long.block)
        assert not long.processor.gate.is_closed

    async with trio.open_nursery() as waiting:
        for work in (edit, edit, push, edit, edit):
            waiting.start_soon(work)


async def test_a_long_block_that_is_refused_changes_nothing(nursery: trio.Nursery) -> None:
    long = Long()
    long.chain.push_transaction(transfer(long.chain, "waits"))
    before = digest(long.chain)
    long.chain.state.listeners.after_block.append(lambda *_: raise_refused())
    nursery.start_soon(long.processor.run)
    with pytest.raises(PushFailed):
        await long.processor.push_block(long.block)
    assert digest(long.chain) == before
    assert not long.processor.gate.is_closed


def raise_refused() -> None:
    raise Refused("not this one", condition="false")


async def test_a_long_transaction_is_interrupted_and_answered_at_its_end(nursery: trio.Nursery) -> None:
    long = Long()
    nursery.start_soon(long.processor.run)
    await trio.testing.wait_all_tasks_blocked()
    async with trio.open_nursery() as pushing:
        pushing.start_soon(long.processor.push_transaction, transfer(long.chain, "one"))
        await long.interrupted()
        pushing.start_soon(long.processor.push_transaction, transfer(long.chain, "two"))
        pushing.start_soon(long.processor.push_block, long.block)
    assert len(long.chain.pending) == 2
    assert long.chain.state.props.head_block_number == 2


async def test_a_shutdown_within_a_job_leaves_chain_and_log_consistent(tmp_path: Path) -> None:
    long = Long()
    log = BlockLog(tmp_path, long.chain.state.wire)
    long = Long(log)
    first = long.chain.head
    assert first is not None
    log.switch((), (first,))
    pushed: list[str] = []

    async def push() -> None:
        await long.processor.push_block(long.block)
        pushed.append("answered")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(long.processor.run)
        nursery.start_soon(push)
        await long.interrupted()
        nursery.cancel_scope.cancel()
    assert long.steps == TRANSFERS
    assert long.chain.state.props.head_block_id == long.block.id
    assert len(log) == 2
    assert pushed == []
    log.close()


async def test_a_long_revert_is_interrupted(nursery: trio.Nursery) -> None:
    long = Long()
    devchain = DevChain(long.chain, ChainClock(lambda: START * 1000), [SECRET])
    nursery.start_soon(long.processor.run)
    number, before = devchain.snapshot(), digest(long.chain)
    await long.processor.push_block(long.block)
    after = long.processor.summary
    seen: list[ChainSummary] = []

    async def watch() -> None:
        await long.interrupted()
        while long.processor.gate.is_closed:
            seen.append(long.processor.summary)
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as returning:
        returning.start_soon(watch)
        returning.start_soon(long.processor.in_turn, lambda: devchain.revert(number))
    assert set(seen) == {after}
    assert digest(long.chain) == before


async def test_the_limit_for_reapplying_pending_transactions_excludes_other_tasks(nursery: trio.Nursery) -> None:
    """The limit on the time for reapplying pending transactions doesn't count time in which other tasks run."""
    long = Long()
    for place in range(4):
        long.chain.push_transaction(transfer(long.chain, f"waits {place}"))
    nursery.start_soon(long.processor.run)

    async def lag() -> None:
        while True:
            long.watch.now += 10
            await trio.lowlevel.checkpoint()

    nursery.start_soon(lag)
    await long.processor.push_block(long.block)
    applied = long.chain.state.transactions.by_trx_id
    assert len(long.chain.pending) == 4
    assert all(applied.get(trx.id) is not None for trx in long.chain.pending)


@pytest.mark.parametrize("at_once", [True, False])
async def test_waiting_reads_run_before_the_next_long_job(nursery: trio.Nursery, at_once: bool) -> None:
    """The first long job starts in its caller's task if `at_once` is set, otherwise in the processor's task."""
    long, seen = Long(), list[int]()
    scheduler = ReplyScheduler(gate=long.processor.gate)
    for place in range(TRANSFERS):
        long.other.push_transaction(transfer(long.other, f"next {place}"))
    following = make_block(long.other)
    # The stopwatch stands still after the first job.
    long.chain.on_head_change.append(lambda move: setattr(long.watch, "seconds", 0.0))

    async def read() -> None:
        seen.append(await scheduler.run(lambda: long.chain.state.props.head_block_number))

    async with trio.open_nursery() as pushing:
        if at_once:
            nursery.start_soon(long.processor.run)
            await trio.testing.wait_all_tasks_blocked()
        pushing.start_soon(long.processor.push_block, long.block)
        if not at_once:
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(long.processor.run)
        await long.interrupted()
        pushing.start_soon(long.processor.push_block, following)
        for _ in range(TRANSFERS):
            pushing.start_soon(read)
    assert seen == [2] * TRANSFERS
    assert long.chain.state.props.head_block_number == 3
