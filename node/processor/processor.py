"""The only writer of the chain: takes jobs from a queue, runs them one at a time, and reports each result to the caller.

Requests, the producer and debug methods all use it, so the chain needs no lock. Jobs contain no await. After a slice of jobs, other tasks
run. A job longer than a slice is interrupted, and the gate is closed until the job is done. Queries read the chain directly, always between
two jobs. Source: block-processing.md §2.7, §4.5; rpc-api.md §7.1, §7.3, §7.4.
"""

from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

import trio
from msgspec import Struct

from node.key_recovery.block_prefetcher import BlockPrefetcher
from node.key_recovery.key_prefetcher import KeyPrefetcher
from node.processor.child_results import decoded_result, encoded_result
from node.processor.job_queue import JobQueue
from node.processor.long_jobs import ChainSummary, LongJobs
from node.processor.preemption import RUN_SECONDS_MAX
from node.runtime.clock import ChainClock, TimeLimit
from node.runtime.errors import FileError
from node.runtime.forked_child import ChildFailed, ForkedChild
from node.storage.blockfile import BlockFile
from node.storage.blocklog import BlockLog
from node.storage.sync_policy import InThread, Syncer, SyncPolicy, in_thread
from rpc.caller import LOCAL, Caller
from rpc.declare.errors import PushFailed
from rpc.jsonrpc.allowance import Allowances, refusal_units
from rpc.jsonrpc.scheduler import ReadGate, Stopwatch
from rpc.log import Log
from rpc.processor import Inclusion, Result
from state.chain.chain import Chain
from state.chain.head_change import HeadChange
from state.chain.skip import Skip
from state.protocol.constants import COIN_SOFT_MAX_BLOCK_SIZE
from state.protocol.errors import ChainError, Refused, UnreadableBlock, require
from state.protocol.transaction import SignedBlock, SignedTransaction

QUEUE_SIZE_MAX = 8192  # queued jobs; further jobs of clients are refused
WAITING_MAX = 65_536  # concurrent calls of wait_for
REAPPLY_MILLISECONDS_MAX = 200  # to reapply pending transactions; the reference's limit
FUTURE_SECONDS_MAX = 5  # how far a block's time may be ahead of the clock; the reference's limit
# The largest block size that witnesses can vote for.
TRANSACTION_SIZE_MAX = COIN_SOFT_MAX_BLOCK_SIZE
ANSWER_PRIORITY = SyncPolicy()
LOST = "the transaction was dropped: the chain was reverted, or its pending transactions were cleared"

_log = Log("processor")


class _Job(Struct, eq=False):
    """A function that changes the chain, and the event that its caller waits for (None if the job runs in the caller's task).

    With `is_in_steps` the function returns a generator. Between its steps other tasks read, but no other job runs. `is_abortable` means
    that an exception inside the job leaves the chain unchanged.
    """

    work: Callable[[], Any]
    done: trio.Event | None = None
    result: Any = None
    error: Exception | None = None
    is_in_steps: bool = False
    is_abortable: bool = True


class _InclusionWaiter(Struct, eq=False):
    """A caller that waits until its pushed transaction is included in a block, has expired, or was dropped (`is_lost`)."""

    expiration: int
    done: trio.Event
    is_pushed: bool = False
    is_lost: bool = False
    inclusion: Inclusion | None = None


class Processor:
    """Runs jobs while `run` runs: first this node's own blocks, then the jobs of clients. Clients take turns by address, and each client's
    jobs keep their order.

    With a `log`, a block is written to it, and synced according to the policy `sync`, before its sender is answered, so a reply means that
    the block survives. Syncs run `in_thread`, in parallel with further jobs. If writing fails, the chain in memory is ahead of the file.
    Then `failed` is set, `failure` is the reason, every further job is refused, and the node must shut down; a restart resumes from the
    file. The same happens if a block needs an earlier one that can't be read (`is_damaged`).

    A job that takes longer than RUN_SECONDS_MAX is interrupted, with the `gate` closed. The callers that wait for finished jobs resume once
    the gate is open.
    """

    def __init__(
        self,
        chain: Chain,
        *,
        log: BlockLog | None = None,
        clock: ChainClock | None = None,
        time_limit: TimeLimit | None = None,
        sync: SyncPolicy = ANSWER_PRIORITY,
        in_thread: InThread = in_thread,
        workers: int = 0,
        stopwatch: Stopwatch = perf_counter,
        gate: ReadGate | None = None,
    ) -> None:
        self.chain = chain
        self.gate = gate or ReadGate()
        self.failed = trio.Event()
        self.failure = ""
        self.is_damaged = False  # whether the failure is that of a block that can't be read
        self.allowances = Allowances(stopwatch)
        # Called with each transaction and block of a client, and the error if it was refused, else None.
        self.on_pushed: list[Callable[[SignedTransaction | SignedBlock, ChainError | None], None]] = []
        # Called in the job of a transaction before it is pushed. An exception refuses the transaction.
        self.before_accepting: list[Callable[[SignedTransaction], None]] = []
        self.on_accepted: list[Callable[[], None]] = []
        self.job_count = 0  # increased at the start of each job
        # Called after each job, before its caller is answered.
        self.on_done: list[Callable[[], None]] = []
        self._log = log
        self._syncer = None if log is None else Syncer(log, sync, self.fail, in_thread)
        self._clock = clock or ChainClock()
        self._time_limit = time_limit or TimeLimit(REAPPLY_MILLISECONDS_MAX)
        self._jobs: JobQueue[_Job] = JobQueue()
        self._waiters: dict[bytes, _InclusionWaiter] = {}
        self._workers, self._key_prefetcher = workers, KeyPrefetcher(chain, workers)
        # The number of jobs that `run` has not started: queued, or just taken from the queue.
        self._undone = 0
        self._is_running = False
        self._copying = trio.Lock()  # one copy at a time
        self._stopwatch, self._seconds_at_once = stopwatch, 0.0
        self._nursery: trio.Nursery
        self.long_jobs = LongJobs(chain, self.gate, self._time_limit, stopwatch, leave=self._leave)
        chain.on_head_change.append(self._on_head_change)
        if log is not None:
            # After a failure the log no longer follows the chain.
            chain.irreversible_blocks.attach_log(log.packed, lambda: 0 if self.failure else log.head.number, log.part)

    @property
    def queue_length(self) -> int:
        """The number of queued jobs."""
        return len(self._jobs)

    @property
    def waiting(self) -> int:
        """The number of calls that wait for their transaction to be included in a block."""
        return len(self._waiters)

    @property
    def summary(self) -> ChainSummary:
        """Summary of the chain; while a job is interrupted, that of the chain before the job."""
        return self.long_jobs.summary

    async def run(self) -> None:
        """Run jobs and sync the log until cancelled."""
        async with trio.open_nursery() as nursery:
            if self._syncer is not None:
                nursery.start_soon(self._syncer.run)
            self._is_running, self._nursery = True, nursery
            try:
                # `wait` is a trio checkpoint even if there are jobs, so other tasks run after each slice.
                while True:
                    following: _Job | None = await self._jobs.wait()
                    while following is not None:
                        if following.is_in_steps:
                            await self._perform_steps(following)
                        following = await self._perform_slice(following)
            finally:
                self._is_running = False
                self._key_prefetcher.close()

    # -------------------------------------------------------------- requests

    async def push_transaction(self, trx: SignedTransaction, caller: Caller = LOCAL) -> None:
        """Add a transaction to the pending ones, within the sender's limits. Raises PushFailed."""
        units = 0

        def push() -> None:
            nonlocal units
            units_max, work = self.allowances.units_max(caller), self.chain.state.work
            before = work.spent
            try:
                # Until the first schedule the rules allow blocks of 393 MB, and transactions nearly as large. Checking such a transaction
                # would take very long.
                if trx.size > TRANSACTION_SIZE_MAX:
                    raise Refused(condition=f"fc::raw::pack_size(trx) <= {TRANSACTION_SIZE_MAX}")
                for check in self.before_accepting:
                    check(trx)
                self._key_prefetcher.push(trx, units_max)
            except ChainError as error:
                units = work.spent - before + refusal_units(trx.size)
                self.allowances.charge(caller, units, error)
                raise
            waiter = self._waiters.get(trx.id)
            if waiter is not None:
                waiter.is_pushed = True
            for listener in self.on_accepted:
                listener()

        try:
            await self._push(push, trx, caller.queue)
        except PushFailed as failed:
            failed.units = units
            raise

    def prefetch_keys(self, transactions: list[SignedTransaction]) -> None:
        """Start recovering the signing keys of transactions that will be pushed in this order, if there are worker processes."""
        if self._workers:
            self._key_prefetcher.prefetch(transactions)

    async def push_block(self, block: SignedBlock, caller: Caller = LOCAL) -> None:
        """Push a block from a client. A block too far ahead of the clock is refused. Raises PushFailed."""

        def push() -> None:
            work = self.chain.state.work
            before = work.spent
            try:
                latest = self._clock() // 1000 + FUTURE_SECONDS_MAX
                require(block.timestamp <= latest, condition="block.timestamp.sec_since_epoch() <= max_accept_time")
                self._applied(partial(self.chain.push_block, block))
            except ChainError as error:
                self.allowances.charge(caller, work.spent - before + refusal_units(block.size), error)
                raise

        await self._push(push, block, caller.queue, is_synced=True)

    async def wait_for(self, trx: SignedTransaction, caller: Caller = LOCAL) -> Inclusion:
        """Push a transaction, and wait until it is included in a block or has expired.

        Raises PushFailed. Raises Refused if another call waits for the same transaction, or if the transaction was dropped. The waiter is
        registered before the push, because the transaction can be in a block before this task runs again.
        """
        find = "_callbacks.find( txid ) == _callbacks.end()"
        require(trx.id not in self._waiters, "Transaction is a duplicate", condition=find)
        require(len(self._waiters) < WAITING_MAX, "${n} calls wait for transactions already", condition="waiting < max", n=WAITING_MAX)
        waiter = self._waiters[trx.id] = _InclusionWaiter(trx.expiration, trio.Event())
        try:
            await self.push_transaction(trx, caller)
            await waiter.done.wait()
            await self._synced()
        finally:
            # A client that disconnects cancels this task. The block then finds no waiter.
            if self._waiters.get(trx.id) is waiter:
                del self._waiters[trx.id]
        require(not waiter.is_lost, LOST, condition="trx.is_pending()")
        assert waiter.inclusion is not None
        return waiter.inclusion

    async def push_blocks_from(self, path: str, count: int, skip_flags: int = Skip.NOTHING) -> int:
        """Push up to `count` blocks after the head from a file. Return the number of applied blocks.

        It stops at the first block that fails, and logs the reason. Raises Refused if no block can be read.
        """
        pushed = 0
        if count <= 0:
            return pushed
        first = self.chain.state.props.head_block_number + 1
        # Reading up to the first block can take long, so it happens in a thread.
        in_thread = partial(trio.to_thread.run_sync, abandon_on_cancel=True)
        try:
            blocks = await in_thread(BlockFile, Path(path), self.chain.state.wire, first)
            ahead = BlockPrefetcher(islice(blocks, count), self.chain.state.wire, self._workers, skip_flags)
            try:
                following = iter(ahead)
                block = await in_thread(next, following, None)
                while block is not None:
                    await self._in_turn(partial(self._own, partial(ahead.push, self.chain, block, skip_flags)))
                    pushed += 1
                    block = next(following, None)
            finally:
                ahead.close()
                blocks.close()
        except FileError as error:
            if not pushed:
                raise Refused("${error}", condition="blocks can be read", error=str(error)) from None
            _log.warning("a block file could not be read to its end", error=str(error), pushed=pushed)
        except ChainError as error:
            _log.warning("a block of a file was refused", block=first + pushed, reason=error.message(self.chain.state.spec.spell))
        await self._synced()
        return pushed

    async def run_steps(self, steps: Iterator[object]) -> int:
        """Exhaust an iterator whose steps change the chain, one job per step. Return the number of steps.

        A long task, for example generating a million blocks, lets other jobs run after each step. Exceptions of the steps propagate.
        """
        taken = 0
        step = partial(self._own, lambda: next(steps, steps))
        while await self._in_turn(step) is not steps:
            taken += 1
        await self._synced()
        return taken

    async def in_turn(self, work: Callable[[], Result]) -> Result:
        """Run a function that changes the chain, as a job. Return its result once the log is synced. The function's exceptions propagate.

        After the job, each `wait_for` call whose transaction is no longer pending is refused.
        """

        def done() -> Result:
            try:
                return self._own(work)
            finally:
                self._refuse_lost()

        result: Result = await self._in_turn(done, is_abortable=False)
        await self._synced()
        return result

    async def in_steps(self, work: Callable[[], Generator[None, None, Result]]) -> Result:
        """Run a read-only job in steps and return its result. The job's exceptions propagate.

        Other tasks read between the steps. Other jobs wait until the last step, so the chain doesn't change.
        """
        result: Result = await self._in_turn(work, is_in_steps=True)
        return result

    def fork(self, work: Callable[[], object]) -> ForkedChild:
        """Run a function in a forked child, on a copy of the chain that the function may rewind. Call this in a job, or between two jobs.
        Raises ChildFailed.
        """

        def on_a_copy() -> object:
            self._leave()
            self.chain.is_disposable = True
            # The job that forks can't be interrupted in the child, where nothing resumes it.
            self.chain.state.work.on_pause = None
            return work()

        return ForkedChild(on_a_copy)

    async def in_copy(self, work: Callable[[], Result]) -> Result:
        """Run a function on a copy of the chain as it is after the queued jobs, and return its result. Raises Refused.

        The copy is that of a forked child, so the chain can change meanwhile. If no standby may be forked, the function runs as a job.
        """
        if self.long_jobs.answer_read is None:
            return await self.in_turn(work)
        child: ForkedChild | None = None
        is_cancelled = False

        def fork() -> None:
            nonlocal child
            if not is_cancelled:
                child = self.fork(partial(encoded_result, work))

        try:
            async with self._copying:
                try:
                    await self._in_turn(fork)
                except trio.Cancelled:
                    is_cancelled = True
                    if child is not None:
                        child.close()
                    raise
                assert child is not None, "the job forks"
                result: Result = decoded_result(await child.wait())
                return result
        except ChildFailed as error:
            raise Refused("${error}", condition="a copy can be read", error=str(error)) from None

    async def make_block(self, make: Callable[[], SignedBlock]) -> SignedBlock:
        """Run `make`, which makes a block, as a job, and return the block. Raises ChainError.

        The job is urgent, so it precedes all queued jobs. This method doesn't wait for the sync, because a slow disk must not delay the
        producer past its next slot.
        """
        block: SignedBlock = await self._in_turn(partial(self._own, make), is_urgent=True)
        return block

    def _leave(self) -> None:
        """In a standby, stop all writing. Reopen the log, because the forked copy has no open files of the original process."""
        self.fail(OSError("this is a copy"))
        if self._log is not None:
            self._log.reopen()

    def fail(self, error: Exception, what: str = "the block log") -> None:
        """Refuse all further jobs, because a file that a restart needs can't be written (`what` names it), or a block can't be read."""
        if isinstance(error, UnreadableBlock):
            self.is_damaged = not self.failure
            failure = f"a block needs an earlier one that can't be read: {error}"
        else:
            why = error.strerror if isinstance(error, OSError) else f"an internal error ({type(error).__name__})"
            failure = f"{what} can't be written: {why}"
        self.failure = self.failure or failure
        self.failed.set()

    # -------------------------------------------------------------- the queue

    async def _push(
        self, work: Callable[[], Any], item: SignedTransaction | SignedBlock, address: str = "", *, is_synced: bool = False
    ) -> None:
        """Run a client's job: immediately if no other job waits, else through the queue.

        If the queue is full, the job is refused. Waiting for space in the queue would hide the overload from the client.
        """
        try:
            if self._is_running and not self._undone and self._seconds_at_once < RUN_SECONDS_MAX and self.long_jobs.is_free:
                await self._run_at_once(work)
            else:
                busy = "The node is busy, ${n} requests wait already"
                require(len(self._jobs) < QUEUE_SIZE_MAX, busy, condition="queue.size() < max", n=QUEUE_SIZE_MAX)
                job = _Job(work, trio.Event())
                self._put(job, address)
                await self._answer(job)
            if is_synced:
                await self._synced()
        except ChainError as error:
            for listener in self.on_pushed:
                listener(item, error)
            raise PushFailed(error, item if isinstance(item, SignedTransaction) else None) from error
        for listener in self.on_pushed:
            listener(item, None)

    async def _run_at_once(self, work: Callable[[], Any]) -> None:
        """Run a job in its caller's task while the queue is empty. Otherwise two task switches would take a fifth of the time of a
        transfer.

        After RUN_SECONDS_MAX of such jobs, all other tasks run first. Jobs that arrive meanwhile are queued.
        """
        job = _Job(work)
        start = self._stopwatch()
        if not self._start(job):
            job.done = trio.Event()
            self._nursery.start_soon(self.long_jobs.finish)
            await self._answer(job)
            return
        self._seconds_at_once += self._stopwatch() - start
        if self._seconds_at_once >= RUN_SECONDS_MAX:
            try:
                await trio.lowlevel.checkpoint()
                await self.gate.wait_open()
            finally:
                self._seconds_at_once = 0.0
        if job.error is not None:
            raise job.error

    async def _in_turn(
        self, work: Callable[[], Any], *, is_in_steps: bool = False, is_abortable: bool = True, is_urgent: bool = False
    ) -> Any:
        """Queue a job of the node itself, which is never refused, and return its result."""
        await trio.lowlevel.checkpoint()
        job = _Job(work, trio.Event(), is_in_steps=is_in_steps, is_abortable=is_abortable)
        self._put(job, "", is_urgent=is_urgent)
        return await self._answer(job)

    def _put(self, job: _Job, address: str, *, is_urgent: bool = False) -> None:
        self._undone += 1
        self._jobs.put(job, address, is_urgent=is_urgent)

    def _own(self, work: Callable[[], Result]) -> Result:
        """Run work of this node that can make blocks, and advance the node's clock to their time. Blocks from clients don't advance the
        clock.
        """
        head = self.chain.state.props.head_block_id
        result = self._applied(work)
        if self.chain.state.props.head_block_id != head:
            self._clock.advance_to(self.chain.state.head_time * 1000)
        return result

    def _applied(self, work: Callable[[], Result]) -> Result:
        """Run work that can apply blocks. If a block can't be applied because it needs another one that can't be read, the node stops: it
        could apply no later block either.
        """
        try:
            return work()
        except UnreadableBlock as error:
            self.fail(error)
            raise

    async def _answer(self, job: _Job) -> Any:
        assert job.done is not None
        await job.done.wait()
        await self.gate.wait_open()
        if job.error is not None:
            raise job.error
        return job.result

    async def _synced(self) -> None:
        """Wait until the log is synced, if the policy requires it. Raises Refused if the sync failed."""
        if self._syncer is not None:
            await self._syncer.synced()
            await self.gate.wait_open()
            self._require_log()

    async def _perform_slice(self, job: _Job) -> _Job | None:
        """Run a job and the queued jobs after it until the slice is over. Return the next job if it runs in steps, else None.

        With only one job per loop iteration, many clients would fill the queue faster than it empties, and no job could run immediately.
        """
        # Jobs that ran at once count in the same slice.
        start = self._stopwatch() - self._seconds_at_once
        while True:
            # A job that started in its caller's task can still be interrupted.
            await self.long_jobs.freed()
            self._undone -= 1
            if not self._start(job):
                await self.long_jobs.finish()
            if self._stopwatch() - start >= RUN_SECONDS_MAX:
                return None
            following = self._jobs.take()
            if following is None or following.is_in_steps:
                return following
            job = following

    async def _perform_steps(self, job: _Job) -> None:
        """Run the steps of a job, with a trio checkpoint after each. Then replace the job's function with a function that returns the job's
        result or raises its exception.
        """
        await self.gate.wait_open()
        try:
            self._require_log()
            steps = job.work()
            while True:
                next(steps)
                await trio.lowlevel.checkpoint()
        except StopIteration as end:
            value = end.value
            job.work = lambda: value
        except Exception as error:  # raised to the caller
            job.work = partial(_raise, error)

    def _start(self, job: _Job) -> bool:
        """Run the first slice of a job. Return whether it is done."""
        return self.long_jobs.start(partial(self._perform, job), is_abortable=job.is_abortable)

    def _perform(self, job: _Job) -> None:
        self.job_count += 1
        self._time_limit.renew()
        try:
            self._require_log()
            job.result = job.work()
            # A job whose block could not be written must not be answered as successful.
            self._require_log()
        except Exception as error:  # expected or not, it is raised to the caller; the processor continues
            job.error = error
        for listener in self.on_done:
            listener()
        if job.done is not None:
            job.done.set()

    # -------------------------------------------------------------- the listener of the chain

    def _on_head_change(self, change: HeadChange) -> None:
        # The time limit for reapplying pending transactions starts after the head change.
        self._time_limit.renew()
        if self._log is not None and not self.failure:
            try:
                self._log.switch(change.popped, change.applied)
                assert self._syncer is not None
                self._syncer.written()
            except OSError as error:
                self.fail(error)
            except Exception as error:
                # The chain in memory is now ahead of the log, and must not continue.
                self.fail(error)
                raise
        if self._waiters and not self.failure:
            for block in change.applied:
                self._confirm(block)

    def _confirm(self, block: SignedBlock) -> None:
        """Answer the waiting callers whose transaction is in the block or has expired."""
        for index, trx in enumerate(block.transactions):
            waiter = self._waiters.pop(trx.id, None)
            if waiter is not None:
                waiter.inclusion = Inclusion(trx.id, block.number, index, False)
                waiter.done.set()
        late = [(trx_id, waiter) for trx_id, waiter in self._waiters.items() if waiter.expiration < block.timestamp]
        for trx_id, waiter in late:
            del self._waiters[trx_id]
            waiter.inclusion = Inclusion(trx_id, block.number, -1, True)
            waiter.done.set()

    def _refuse_lost(self) -> None:
        """Refuse the waiting callers whose transaction was pushed and is neither in a block nor pending."""
        if not self._waiters:
            return
        pending = {trx.id for trx in self.chain.pending}
        for trx_id, waiter in list(self._waiters.items()):
            if waiter.is_pushed and trx_id not in pending:
                del self._waiters[trx_id]
                waiter.is_lost = True
                waiter.done.set()

    def _require_log(self) -> None:
        if self.failure:
            raise Refused("${why}", condition="log.is_written()", why=self.failure)


def _raise(error: Exception) -> None:
    raise error
