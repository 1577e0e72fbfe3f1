"""The one owner of the chain: takes transactions and blocks from everywhere, applies them one at a time, and answers each.

It must not know HTTP. Source: block-processing.md §2.7, §4.5; rpc-api.md §7.1, §7.3, §7.4.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import structlog
import trio
from msgspec import Struct

from node.clock import Clock, Patience, system_clock
from node.failures import FileError
from node.storage.blockfile import BlockFile
from node.storage.blocklog import BlockLog
from rpc.processor import Inclusion
from rpc.service.refusal import PushFailed
from state.chain.chain import Chain
from state.chain.skip import Skip
from state.protocol.constants import COIN_SOFT_MAX_BLOCK_SIZE
from state.protocol.errors import ChainError, Refused, require
from state.protocol.transaction import SignedBlock, SignedTransaction

QUEUE_SIZE_MAX = 8192
WAITING_MAX = 65_536
REAPPLY_MILLISECONDS_MAX = 200
AHEAD_SECONDS_MAX = 5
# The largest block that witnesses may vote for.
TRANSACTION_SIZE_MAX = COIN_SOFT_MAX_BLOCK_SIZE

_log = structlog.get_logger("processor")


class _Job(Struct, eq=False):
    """Something to do with the chain, and who waits for it."""

    work: Callable[[], Any]
    done: trio.Event
    result: Any = None
    error: Exception | None = None


class _Waiter(Struct, eq=False):
    """Somebody who waits for a transaction to get into a block."""

    expiration: int
    done: trio.Event
    inclusion: Inclusion | None = None


class Processor:
    """Applies what is pushed in the order of arrival, while `run` runs, and gives way in between.

    With a `log`, a block is in it before whoever pushed it is answered. When that fails, `broken` is set, nothing is
    applied any more, and `failure` says why: the node has to end.
    """

    def __init__(self, chain: Chain, *, log: BlockLog | None = None, clock: Clock = system_clock, patience: Patience | None = None) -> None:
        self.chain = chain
        self.broken = trio.Event()
        self.failure = ""
        self._log = log
        self._clock = clock
        self._patience = patience or Patience(REAPPLY_MILLISECONDS_MAX)
        self._jobs_in, self._jobs_out = trio.open_memory_channel[_Job](QUEUE_SIZE_MAX)
        self._waiters: dict[bytes, _Waiter] = {}
        chain.on_applied.append(self._applied)
        chain.on_popped.append(self._popped)

    async def run(self) -> None:
        """Work until cancelled."""
        # Each turn of the loop is a checkpoint, also when jobs are waiting.
        async for job in self._jobs_out:
            self._perform(job)

    # -------------------------------------------------------------- what can be asked for

    async def push_transaction(self, trx: SignedTransaction) -> None:
        """Take a transaction into the pending state. Raises PushFailed."""

        def push() -> None:
            # Until the first schedule, blocks may have 393 MB by the rules; nobody needs that, and it takes very long to check.
            require(trx.size <= TRANSACTION_SIZE_MAX, condition=f"fc::raw::pack_size(trx) <= {TRANSACTION_SIZE_MAX}")
            self.chain.push_transaction(trx)

        await self._push(push)

    async def push_block(self, block: SignedBlock) -> None:
        """Take a block that somebody else has made; one from the future is refused. Raises PushFailed."""

        def push() -> None:
            latest = self._clock() // 1000 + AHEAD_SECONDS_MAX
            require(block.timestamp <= latest, condition="block.timestamp.sec_since_epoch() <= max_accept_time")
            self.chain.push_block(block)

        await self._push(push)

    async def wait_for(self, trx: SignedTransaction) -> Inclusion:
        """Push a transaction, and wait until it is in a block or has expired. Raises PushFailed, Refused when it is waited for."""
        find = "_callbacks.find( txid ) == _callbacks.end()"
        require(trx.id not in self._waiters, "Transaction is a duplicate", condition=find)
        require(len(self._waiters) < WAITING_MAX, "${n} calls wait for transactions already", condition="waiting < max", n=WAITING_MAX)
        waiter = self._waiters[trx.id] = _Waiter(trx.expiration, trio.Event())
        try:
            await self.push_transaction(trx)
            await waiter.done.wait()
        finally:
            # When the client has gone, nobody waits any more.
            if self._waiters.get(trx.id) is waiter:
                del self._waiters[trx.id]
        assert waiter.inclusion is not None
        return waiter.inclusion

    async def push_blocks_from(self, path: str, count: int, skip: int = Skip.NOTHING) -> int:
        """Push up to `count` blocks that follow the head from a file; returns how many were applied, and stops at the first that fails.

        A file that can't be read is refused.
        """
        pushed = 0
        if count <= 0:
            return pushed
        first = self.chain.state.props.head_block_number + 1
        # What stands in front of the first block may take long to read, so that others go on meanwhile.
        in_thread = partial(trio.to_thread.run_sync, abandon_on_cancel=True)
        try:
            blocks = await in_thread(BlockFile, Path(path), self.chain.state.wire, first)
            try:
                following = iter(blocks)
                block = await in_thread(next, following, None)
                while block is not None:
                    await self._in_turn(partial(self.chain.push_block, block, skip))
                    pushed += 1
                    block = next(following, None) if pushed < count else None
            finally:
                blocks.close()
        except FileError as error:
            if not pushed:
                raise Refused("${error}", condition="blocks can be read", error=str(error)) from None
            _log.warning("a file of blocks could not be read on", error=str(error), pushed=pushed)
        except ChainError as error:
            _log.warning("a block of a file was refused", block=first + pushed, reason=error.message(self.chain.state.spec.spell))
        return pushed

    async def take_steps(self, steps: Iterator[object]) -> int:
        """Take the steps of something that changes the chain, others in between; returns how many there were. Raises what they raise."""
        taken = 0
        while await self._in_turn(lambda: next(steps, steps)) is not steps:
            taken += 1
        return taken

    async def generate_block(self, when: int, witness: str, secret: bytes, skip: int = Skip.NOTHING) -> SignedBlock:
        """Make a block of what is pending. Raises ChainError."""
        block: SignedBlock = await self._in_turn(lambda: self.chain.generate_block(when, witness, secret, skip))
        return block

    # -------------------------------------------------------------- the queue

    async def _push(self, work: Callable[[], Any]) -> None:
        """Have something pushed for a client: it is told at once when too many wait already."""
        job = _Job(work, trio.Event())
        try:
            try:
                self._jobs_in.send_nowait(job)
            except trio.WouldBlock:
                raise Refused("The node is busy, ${n} requests wait already", condition="queue.size() < max", n=QUEUE_SIZE_MAX) from None
            await self._answer(job)
        except ChainError as error:
            raise PushFailed(error) from error

    async def _in_turn(self, work: Callable[[], Any]) -> Any:
        """Do something when it is its turn, however long that takes."""
        job = _Job(work, trio.Event())
        await self._jobs_in.send(job)
        return await self._answer(job)

    async def _answer(self, job: _Job) -> Any:
        await job.done.wait()
        if job.error is not None:
            raise job.error
        return job.result

    def _perform(self, job: _Job) -> None:
        self._patience.renew()
        try:
            self._require_log()
            job.result = job.work()
            self._require_log()
        except Exception as error:  # expected or not, it is for the one who asked
            job.error = error
        job.done.set()

    # -------------------------------------------------------------- what the chain tells

    def _applied(self, block: SignedBlock) -> None:
        self._patience.renew()
        if self._log is not None and not self.failure:
            try:
                self._log.append(block)
            except OSError as error:
                self._fail(error)
        if self._waiters and not self.failure:
            self._confirm(block)

    def _popped(self, block: SignedBlock) -> None:
        if self._log is not None and not self.failure:
            try:
                self._log.pop(block)
            except OSError as error:
                self._fail(error)

    def _confirm(self, block: SignedBlock) -> None:
        """Answer those whose transaction is in the block, and those whose transaction can't get into any more."""
        for place, trx in enumerate(block.transactions):
            waiter = self._waiters.pop(trx.id, None)
            if waiter is not None:
                waiter.inclusion = Inclusion(trx.id, block.number, place, False)
                waiter.done.set()
        late = [(trx_id, waiter) for trx_id, waiter in self._waiters.items() if waiter.expiration < block.timestamp]
        for trx_id, waiter in late:
            del self._waiters[trx_id]
            waiter.inclusion = Inclusion(trx_id, block.number, -1, True)
            waiter.done.set()

    def _fail(self, error: OSError) -> None:
        self.failure = f"the block log can't be written: {error.strerror}"
        self.broken.set()

    def _require_log(self) -> None:
        require(not self.failure, "${why}", condition="log.is_written()", why=self.failure)
