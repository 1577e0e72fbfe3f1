"""The processor: the order of jobs, limits, replies, and the block log during fork switches."""

import os
from collections.abc import Generator
from itertools import pairwise
from pathlib import Path

import pytest
import trio
import trio.testing
from msgspec import structs

import node.processor.processor
from node.processor.preemption import RUN_SECONDS_MAX
from node.processor.processor import TRANSACTION_SIZE_MAX, Processor
from node.runtime.clock import ChainClock, TimeLimit
from node.storage.blockfile import BlockFile
from node.storage.blocklog import BlockLog
from rpc.declare.errors import PushFailed
from rpc.processor import Inclusion
from state.chain.chain import Chain
from state.chain.debug import BLOCKS_MAX, generate_blocks
from state.operations.transfers import Transfer
from state.protocol.errors import Refused, UnreadableBlock
from state.protocol.transaction import SignedBlock, SignedTransaction
from tests.helpers.edits import ByFunction
from tests.helpers.golden import fails
from tests.helpers.nodes import DEV, Watch, copy_of, dev_chain, json_lines, make_block, transfer, write_as


def processor_of(chain: Chain, log: BlockLog | None = None, now: int = 2**31) -> Processor:
    """Return a processor whose clock always shows the time `now`, in seconds."""
    return Processor(chain, log=log, clock=ChainClock(lambda: now * 1000))


def started(nursery: trio.Nursery, chain: Chain | None = None, log: BlockLog | None = None) -> tuple[Chain, Processor]:
    """Return a chain (by default a new one with one block) and its processor, which is running."""
    if chain is None:
        chain = dev_chain()
        make_block(chain)
    processor = processor_of(chain, log)
    nursery.start_soon(processor.run)
    return chain, processor


def ids(path: Path, chain: Chain) -> list[bytes]:
    """Return the ids of the blocks in a file."""
    return [block.id for block in BlockFile(path, chain.state.wire)]


async def test_transactions_are_applied_in_order_of_arrival(nursery: trio.Nursery) -> None:
    chain = dev_chain()
    make_block(chain)
    processor = processor_of(chain)
    made = [transfer(chain, str(i)) for i in range(20)]
    async with trio.open_nursery() as pushing:
        # trio starts tasks in any order, so each waits until the previous one is queued.
        for trx in made:
            pushing.start_soon(processor.push_transaction, trx)
            await trio.testing.wait_all_tasks_blocked()
        assert not chain.pending
        nursery.start_soon(processor.run)
    assert [trx.id for trx in chain.pending] == [trx.id for trx in made]


@pytest.mark.parametrize(("slices", "jobs"), [(1.5, 1), (0.4, 3), (0.0, 10)])
async def test_other_tasks_run_after_a_slice_of_jobs(nursery: trio.Nursery, slices: float, jobs: int) -> None:
    chain = dev_chain()
    make_block(chain)
    processor = Processor(chain, clock=ChainClock(lambda: 2**41), stopwatch=Watch(slices * RUN_SECONDS_MAX))
    seen: list[int] = []

    async def watch() -> None:
        while len(seen) < 50:
            seen.append(len(chain.pending))
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as pushing:
        for i in range(10):
            pushing.start_soon(processor.push_transaction, transfer(chain, str(i)))
        await trio.testing.wait_all_tasks_blocked()
        pushing.start_soon(watch)
        nursery.start_soon(processor.run)
    # trio runs each task once per loop iteration, in any order.
    assert jobs <= max(after - before for before, after in pairwise(seen)) <= 2 * jobs
    assert seen[-1] == 10


async def running(nursery: trio.Nursery, seconds: float) -> tuple[Chain, Processor]:
    """Return a chain with one block and its running processor. The processor's stopwatch advances by `seconds` at each reading."""
    chain = dev_chain()
    make_block(chain)
    processor = Processor(chain, clock=ChainClock(lambda: 2**41), stopwatch=Watch(seconds))
    nursery.start_soon(processor.run)
    await trio.testing.wait_all_tasks_blocked()
    return chain, processor


async def test_a_job_runs_at_once_if_the_queue_is_empty(nursery: trio.Nursery) -> None:
    chain, processor = await running(nursery, 0.0)
    with trio.testing.assert_no_checkpoints():
        await processor.push_transaction(transfer(chain, "first"))
        with pytest.raises(PushFailed, match="Duplicate transaction"):
            await processor.push_transaction(transfer(chain, "first"))
    assert len(chain.pending) == 1


async def test_jobs_are_counted_before_they_change_the_chain(nursery: trio.Nursery) -> None:
    chain, processor = await running(nursery, 0.0)
    count = processor.job_count
    await processor.push_transaction(transfer(chain, "first"))
    assert processor.job_count == count + 1
    assert await processor.in_turn(lambda: processor.job_count) == processor.job_count == count + 2


async def test_no_job_overtakes_another(nursery: trio.Nursery) -> None:
    """A job must wait in the queue if an earlier job has been taken from the queue but has not started yet."""
    chain, processor = await running(nursery, 0.0)
    done: list[str] = []
    after = transfer(chain, "after")
    processor.on_accepted.append(lambda: done.append("push"))

    async def in_turn() -> None:
        await processor.in_turn(lambda: done.append("job"))

    async def push() -> None:
        while processor._undone == 0 and not done:
            await trio.lowlevel.checkpoint()
        await processor.push_transaction(after)

    async with trio.open_nursery() as pushing:
        pushing.start_soon(push)
        pushing.start_soon(in_turn)
    assert done == ["job", "push"]


async def test_jobs_that_run_at_once_let_other_tasks_run(nursery: trio.Nursery) -> None:
    """After a time slice, the caller lets other tasks run. Until it resumes, the jobs of all other callers are queued."""
    clients, jobs_per_slice = 3, 4
    chain, processor = await running(nursery, RUN_SECONDS_MAX / jobs_per_slice)
    seen: list[int] = []

    async def watch() -> None:
        while len(chain.pending) < 30:
            seen.append(len(chain.pending))
            await trio.lowlevel.checkpoint()

    async def client(number: int) -> None:
        for i in range(10):
            await processor.push_transaction(transfer(chain, f"{number} {i}"))

    async with trio.open_nursery() as pushing:
        pushing.start_soon(watch)
        for number in range(clients):
            pushing.start_soon(client, number)
    assert len(chain.pending) == 30
    # trio runs each task once per loop iteration, in any order. Between two readings there can be two iterations, each
    # with a slice and one queued job of each client.
    assert max(after - before for before, after in pairwise([*seen, 30])) <= 2 * (jobs_per_slice + clients)


async def test_a_cancelled_caller_blocks_nobody(nursery: trio.Nursery) -> None:
    chain, processor = await running(nursery, 1.0)
    with trio.CancelScope() as scope:
        scope.cancel()
        await processor.push_transaction(transfer(chain, "gone"))
    assert scope.cancelled_caught
    processor._stopwatch = Watch(0.0)
    with trio.testing.assert_no_checkpoints():
        await processor.push_transaction(transfer(chain, "next"))
    assert len(chain.pending) == 2


async def test_other_jobs_run_between_the_blocks_of_one_call(nursery: trio.Nursery) -> None:
    chain, processor = started(nursery)
    made: list[int] = []

    async def make() -> None:
        made.append(await processor.run_steps(generate_blocks(chain, DEV.witness_keys[0], 20)))

    async with trio.open_nursery() as asking:
        asking.start_soon(make)
        while chain.state.props.head_block_number < 3:
            await trio.lowlevel.checkpoint()
        assert made == []
        await processor.push_transaction(transfer(chain))
    assert made == [20]
    assert sum(len(block.transactions) for number in range(22) if (block := chain.block_by_number(number))) == 1
    with pytest.raises(Refused, match="unable to parse private key"):
        await processor.run_steps(generate_blocks(chain, "no key", 1))


async def test_the_chain_is_unchanged_between_read_steps(nursery: trio.Nursery) -> None:
    chain, processor = await running(nursery, 0.0)
    seen: list[object] = []

    def steps() -> Generator[None, None, str]:
        for _ in range(5):
            seen.append(len(chain.pending))
            yield
        return "done"

    def failing() -> Generator[None, None, str]:
        yield
        raise Refused("no", condition="yes")

    def failing_at_once() -> Generator[None, None, str]:
        raise Refused("no", condition="yes")

    async def read() -> None:
        seen.append(await processor.in_steps(steps))

    async def push(i: int) -> None:
        await processor.push_transaction(transfer(chain, str(i)))
        seen.append("pushed")

    async def other() -> None:
        await trio.lowlevel.checkpoint()
        seen.append("other")

    async with trio.open_nursery() as asking:
        asking.start_soon(read)
        while not seen:
            await trio.lowlevel.checkpoint()
        asking.start_soon(push, 1)
        asking.start_soon(other)
    begun = len(chain.pending) - 1
    assert [each for each in seen if isinstance(each, int)] == [begun] * 5
    assert seen.index("other") < seen.index("done"), "others have their turn"
    assert seen.count("pushed") == 1
    with pytest.raises(Refused):
        await processor.in_steps(failing)
    with pytest.raises(Refused):
        await processor.in_steps(failing_at_once)
    await push(2)
    assert len(chain.pending) == begun + 2


async def test_read_steps_outlive_their_caller_but_not_the_processor() -> None:
    processor = processor_of(dev_chain())
    ended: list[str] = []

    def steps(count: int, name: str) -> Generator[None, None, None]:
        try:
            for _ in range(count):
                yield
        finally:
            ended.append(name)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(processor.run)
        async with trio.open_nursery() as leaving:
            leaving.start_soon(processor.in_steps, lambda: steps(10, "short"))
            for _ in range(4):
                await trio.lowlevel.checkpoint()
            leaving.cancel_scope.cancel()
        assert ended == []
        await trio.testing.wait_all_tasks_blocked()
        assert ended == ["short"]
        nursery.start_soon(processor.in_steps, lambda: steps(1_000_000, "long"))
        for _ in range(10):
            await trio.lowlevel.checkpoint()
        assert ended == ["short"]
        nursery.cancel_scope.cancel()
    assert ended == ["short", "long"]


async def test_a_transaction_that_fits_in_no_block_is_refused(nursery: trio.Nursery) -> None:
    chain = dev_chain()
    make_block(chain)
    assert chain.state.props.maximum_block_size > TRANSACTION_SIZE_MAX
    processor = started(nursery, chain)[1]
    with pytest.raises(PushFailed, match=f"pack_size\\(trx\\) <= {TRANSACTION_SIZE_MAX}"):
        await processor.push_transaction(transfer(chain, "x" * TRANSACTION_SIZE_MAX))
    with pytest.raises(PushFailed, match="Memo is too large"):
        await processor.push_transaction(transfer(chain, "x" * (TRANSACTION_SIZE_MAX - 1000)))


async def test_blocks_are_made_only_while_the_caller_waits(nursery: trio.Nursery) -> None:
    chain, processor = started(nursery, dev_chain())
    with trio.move_on_after(0.05):
        await processor.run_steps(generate_blocks(chain, DEV.witness_keys[0], BLOCKS_MAX))
    head = chain.state.props.head_block_number
    await trio.testing.wait_all_tasks_blocked()
    assert 0 < chain.state.props.head_block_number <= head + 1


async def test_a_refusal_is_raised_in_the_caller(nursery: trio.Nursery) -> None:
    chain, processor = started(nursery)
    trx = transfer(chain)
    await processor.push_transaction(trx)
    with pytest.raises(PushFailed, match="Duplicate transaction check failed"):
        await processor.push_transaction(trx)
    with pytest.raises(PushFailed, match="transaction expiration exception"):
        await processor.push_transaction(transfer(chain, "late", 3601))
    await processor.push_transaction(transfer(chain, "fine"))
    assert len(chain.pending) == 2


async def test_a_bug_ends_only_its_request(nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    chain, processor = started(nursery)
    trx = transfer(chain)

    def bug(_trx: SignedTransaction, units_max: int) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(chain, "push_transaction", bug)
        with pytest.raises(ZeroDivisionError):
            await processor.push_transaction(trx)
    await processor.push_transaction(trx)
    assert list(chain.pending) == [trx]


async def test_a_block_that_needs_an_unreadable_one_ends_the_node(nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    chain, processor = started(nursery)
    other = copy_of(chain)
    other.push_transaction(transfer(other))
    block = make_block(other)

    def unreadable(*_: object, **__: object) -> None:
        raise UnreadableBlock(1, "the operation is not in block 1")

    with monkeypatch.context() as patched:
        patched.setattr(Transfer, "apply", unreadable)
        with pytest.raises(UnreadableBlock):
            await processor.push_transaction(transfer(chain))
        assert not chain.pending
        assert not processor.failure
        with pytest.raises(UnreadableBlock):
            await processor.push_block(structs.replace(block))
    assert processor.is_damaged
    assert processor.failed.is_set()
    with fails(PushFailed):
        await processor.push_transaction(transfer(chain))


async def test_a_full_queue_refuses_at_once(nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node.processor.processor, "QUEUE_SIZE_MAX", 3)
    chain = dev_chain()
    make_block(chain)
    processor = processor_of(chain)
    async with trio.open_nursery() as pushing:
        for i in range(3):
            pushing.start_soon(processor.push_transaction, transfer(chain, str(i)))
        await trio.testing.wait_all_tasks_blocked()
        with fails(PushFailed):
            await processor.push_transaction(transfer(chain, "too much"))
        nursery.start_soon(processor.run)
    assert len(chain.pending) == 3


async def test_blocks_from_the_future_are_refused(nursery: trio.Nursery, tmp_path: Path) -> None:
    maker, chain = dev_chain(), dev_chain()
    block = make_block(maker)
    early = processor_of(chain, now=block.timestamp - 6)
    nursery.start_soon(early.run)
    with fails(PushFailed):
        await early.push_block(block)
    # Blocks from a file can have any time.
    log = BlockLog(tmp_path, chain.state.wire)
    log.append(block)
    assert await early.push_blocks_from(str(tmp_path / "block_log"), 5, 0) == 1
    intime = processor_of(dev_chain(), now=block.timestamp - 5)
    nursery.start_soon(intime.run)
    await intime.push_block(block)
    assert intime.chain.state.props.head_block_number == 1


async def test_a_file_is_pushed_from_the_head_onwards(nursery: trio.Nursery, tmp_path: Path) -> None:
    maker, chain = dev_chain(), dev_chain()
    blocks = [make_block(maker) for _ in range(10)]
    log = BlockLog(tmp_path, maker.state.wire)
    for block in blocks:
        log.append(block)
    processor = started(nursery, chain)[1]
    path = str(tmp_path / "block_log")
    assert await processor.push_blocks_from(path, 0, 0) == 0
    assert await processor.push_blocks_from(path, 4, 0) == 4
    assert await processor.push_blocks_from(path, 3, 0) == 3
    assert await processor.push_blocks_from(path, 99, 0) == 3
    assert await processor.push_blocks_from(path, 99, 0) == 0
    with fails(Refused):
        await processor.push_blocks_from(path + ".none", 1, 0)
    os.mkfifo(tmp_path / "pipe")
    for other in (tmp_path, tmp_path / "pipe", "/dev/zero"):
        with fails(Refused):
            await processor.push_blocks_from(str(other), 1, 0)
    with fails(Refused):
        await processor.push_blocks_from("a\0b", 1, 0)


async def test_other_tasks_run_while_a_file_is_read_up_to_the_head(nursery: trio.Nursery, tmp_path: Path) -> None:
    maker = dev_chain()
    blocks = [make_block(maker) for _ in range(400)]
    path = write_as(tmp_path / "lines.gz", json_lines(maker.state.wire, blocks))
    processor = processor_of(maker)
    nursery.start_soon(processor.run)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await trio.sleep(0)
            turns += 1

    async with trio.open_nursery() as counting:
        counting.start_soon(count)
        assert await processor.push_blocks_from(str(path), 5, 0) == 0
        counting.cancel_scope.cancel()
    assert turns > 5


async def test_a_file_is_pushed_up_to_the_first_block_that_fails(nursery: trio.Nursery, tmp_path: Path) -> None:
    maker, chain = dev_chain(), dev_chain()
    blocks = [make_block(maker) for _ in range(3)]
    blocks[1].witness_signature = bytes(65)
    maker.state.wire.seal_block(blocks[1])
    log = BlockLog(tmp_path, maker.state.wire)
    for block in blocks:
        log.append(block)
    processor = started(nursery, chain)[1]
    assert await processor.push_blocks_from(str(tmp_path / "block_log"), 3, 0) == 1
    assert chain.state.props.head_block_number == 1


# ------------------------------------------------------------------ waiting for a transaction


async def wait_into(processor: Processor, trx: SignedTransaction, out: list[Inclusion]) -> None:
    """Push a transaction, wait for its inclusion, and append the result to `out`."""
    out.append(await processor.wait_for(trx))


async def test_waiters_get_block_and_position(nursery: trio.Nursery) -> None:
    chain, processor = started(nursery)
    first, second = transfer(chain, "1"), transfer(chain, "2")
    await processor.push_transaction(first)
    answers: list[Inclusion] = []
    nursery.start_soon(wait_into, processor, second, answers)
    await trio.testing.wait_all_tasks_blocked()
    with pytest.raises(Refused, match=r"_callbacks.*: Transaction is a duplicate"):
        await processor.wait_for(second)
    assert answers == []
    make_block(chain)
    await trio.testing.wait_all_tasks_blocked()
    assert answers == [Inclusion(second.id, 2, 1, False)]
    with pytest.raises(PushFailed, match="Duplicate transaction check failed"):
        await processor.wait_for(second)


async def test_waiters_get_the_expiration(nursery: trio.Nursery) -> None:
    chain, processor = started(nursery)
    trx = transfer(chain, seconds=6)
    answers: list[Inclusion] = []
    nursery.start_soon(wait_into, processor, trx, answers)
    await trio.testing.wait_all_tasks_blocked()
    chain.clear_pending()
    make_block(chain)
    make_block(chain)
    await trio.testing.wait_all_tasks_blocked()
    assert answers == []
    make_block(chain)
    await trio.testing.wait_all_tasks_blocked()
    assert answers == [Inclusion(trx.id, 4, -1, True)]


async def test_a_cancelled_waiter_waits_no_longer(nursery: trio.Nursery) -> None:
    chain, processor = started(nursery)
    trx = transfer(chain)
    with trio.move_on_after(0.05) as patience:
        await processor.wait_for(trx)
    assert patience.cancelled_caught
    # The transaction was pushed nevertheless, and the call is no longer registered, so a second call is refused as a duplicate transaction.
    with pytest.raises(PushFailed, match="Duplicate transaction check failed"):
        await processor.wait_for(trx)


async def test_the_number_of_waiters_is_bounded(nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node.processor.processor, "WAITING_MAX", 1)
    chain, processor = started(nursery)
    async with trio.open_nursery() as waiting:
        waiting.start_soon(processor.wait_for, transfer(chain, "1"))
        await trio.testing.wait_all_tasks_blocked()
        with fails(Refused):
            await processor.wait_for(transfer(chain, "2"))
        waiting.cancel_scope.cancel()


# ------------------------------------------------------------------ the block log of the chain


def branches() -> tuple[Chain, list[SignedBlock], list[SignedBlock]]:
    """Return a new chain and two branches for it. Both branches begin with the same three blocks; the second one is longer."""
    one, other = dev_chain(), dev_chain()
    common = [make_block(one) for _ in range(3)]
    for block in common:
        other.push_block(block)
    return dev_chain(), [*common, *[make_block(one) for _ in range(2)]], [*common, *[make_block(other, 1) for _ in range(3)]]


async def test_the_log_follows_the_main_branch(nursery: trio.Nursery, tmp_path: Path) -> None:
    chain, first, second = branches()
    log = BlockLog(tmp_path, chain.state.wire)
    processor = started(nursery, chain, log)[1]
    path = tmp_path / "block_log"
    for i, block in enumerate(first, 1):
        await processor.push_block(block)
        assert ids(path, chain) == [block.id for block in first[:i]]
    for block in second[3:5]:
        await processor.push_block(block)
    assert ids(path, chain) == [block.id for block in first]
    await processor.push_block(second[5])
    assert ids(path, chain) == [block.id for block in second]


async def test_the_log_returns_from_a_refused_branch(nursery: trio.Nursery, tmp_path: Path) -> None:
    chain, first, second = branches()
    wire = chain.state.wire
    bad = second[5]
    bad.witness_signature = bytes(65)
    wire.seal_block(bad)
    processor = started(nursery, chain, BlockLog(tmp_path, wire))[1]
    for block in (*first, *second[3:5]):
        await processor.push_block(block)
    with pytest.raises(PushFailed):
        await processor.push_block(bad)
    assert ids(tmp_path / "block_log", chain) == [block.id for block in first]
    assert chain.state.props.head_block_id == first[-1].id


async def test_the_log_follows_edits(tmp_path: Path) -> None:
    chain = dev_chain()
    processor_of(chain, BlockLog(tmp_path, chain.state.wire))
    blocks = [make_block(chain) for _ in range(3)]
    chain.edit(ByFunction(lambda state: state.set_props(sbd_interest_rate=7)))
    assert ids(tmp_path / "block_log", chain) == [block.id for block in blocks]
    chain.pop_block()
    assert ids(tmp_path / "block_log", chain) == [block.id for block in blocks[:2]]


async def test_a_block_that_can_not_be_written_is_refused(nursery: trio.Nursery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maker, chain = dev_chain(), dev_chain()
    blocks = [make_block(maker) for _ in range(2)]
    processor = started(nursery, chain, BlockLog(tmp_path, chain.state.wire))[1]

    def full(_file: object, _data: object, _start: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("node.storage.disk.SystemFile.write", full)
    with fails(PushFailed):
        await processor.push_block(blocks[0])
    with fails(PushFailed):
        await processor.push_block(blocks[1])
    await processor.failed.wait()
    assert (tmp_path / "block_log").read_bytes() == b""


async def test_a_bug_in_writing_a_block_ends_the_node_like_a_full_disk(
    nursery: trio.Nursery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker, chain = dev_chain(), dev_chain()
    processor = started(nursery, chain, BlockLog(tmp_path, chain.state.wire))[1]

    def wrong(_file: object, _data: object, _start: int) -> None:
        raise IndexError

    monkeypatch.setattr("node.storage.disk.SystemFile.write", wrong)
    with pytest.raises(IndexError):
        await processor.push_block(make_block(maker))
    assert processor.failed.is_set()
    with fails(PushFailed):
        await processor.push_block(make_block(maker))


def test_a_time_limit_starts_at_the_first_poll() -> None:
    now = 0
    time_limit = TimeLimit(200, lambda: now)
    assert not time_limit.is_over()
    now = 200
    assert not time_limit.is_over()
    now = 201
    assert time_limit.is_over()
    time_limit.renew()
    assert not time_limit.is_over()
