"""Does jobs that may take long: in slices, with turns of all other tasks in between, and with a copy of this process that answers reads
meanwhile from the chain before the job. It must not know what the jobs are.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import trio
from msgspec import Struct

from node.processor.preemption import RUN_SECONDS_MAX, Preemption
from node.runtime.clock import TimeLimit
from node.runtime.forked_child import ChildFailed
from rpc.caller import Caller
from rpc.jsonrpc.scheduler import ReadGate, Stopwatch, yield_to_others
from rpc.log import Log
from state.chain.chain import Chain
from state.chain.head_change import HeadChange

if TYPE_CHECKING:
    from node.processor.standby import Standby

FORK_AFTER_SECONDS = 0.05  # how long a job has been interrupted before another process answers reads

_log = Log("processor")


class ChainSummary(Struct, frozen=True):
    """Where a chain is at rest."""

    head_block_number: int
    head_block_id: bytes
    time: int
    last_irreversible_block_num: int
    pending: int
    pending_size: int


class JobAbandoned(BaseException):
    """Makes a job end, in a copy of the process that goes on with the chain before it."""


class LongJobs:
    """Does jobs of a chain, one at a time. While one is interrupted the `gate` is shut, and readers that waited at it have a slice before
    the next job.

    Copies are made only with `answer_read`, which returns the answer to a request there. `leave` is called in a copy, so that it writes
    nothing; it has none of the files of this process.
    """

    def __init__(
        self,
        chain: Chain,
        gate: ReadGate,
        time_limit: TimeLimit,
        stopwatch: Stopwatch,
        *,
        leave: Callable[[], None] = lambda: None,
    ) -> None:
        self.answer_read: Callable[[bytes, Caller], bytes] | None = None
        self._chain, self._gate, self._time_limit, self._stopwatch = chain, gate, time_limit, stopwatch
        self._preemption = Preemption(chain.state.work, gate, time_limit, stopwatch)
        self._leave = leave
        self._can_fork = False
        self._standby: Standby | None = None
        self._finished: trio.Event | None = None  # of an interrupted job and the slice of readers after it
        self._summary = self._summarize()
        # Whoever is told of a move must not read the chain before it any more.
        chain.on_head_change.append(self._on_head_change)

    @property
    def summary(self) -> ChainSummary:
        """Where the chain is, or was before the job that is interrupted."""
        return self._summary if self._gate.is_closed else self._summarize()

    @property
    def is_free(self) -> bool:
        """Whether the next job can begin."""
        return self._finished is None

    async def freed(self) -> None:
        """Wait until the next job can begin; no checkpoint where it can."""
        while self._finished is not None:
            await self._finished.wait()

    def start(self, job: Callable[[], object], *, can_be_left: bool) -> bool:
        """Begin a job; returns whether it is done. If not, the caller sees to it that `finish` is called.

        Where it `can_be_left`, an exception in the middle of it leaves the chain as it was.
        """
        self._summary, self._can_fork = self._summarize(), can_be_left
        if self._preemption.start(job):
            return True
        self._finished = trio.Event()
        return False

    async def finish(self) -> None:
        """Do what is left of the job. When this is cancelled, the job is done to its end at once."""
        assert self._finished is not None, "a job is interrupted"
        try:
            async with trio.open_nursery() as nursery:
                try:
                    await self._preemption.finish(partial(self._interrupted, nursery))
                finally:
                    self._dismiss()
                await self._admit_reads()
        finally:
            self._finished.set()
            self._finished = None

    async def _admit_reads(self) -> None:
        """Let those read that have waited for the job, for a slice at most."""
        until = self._stopwatch() + RUN_SECONDS_MAX
        await yield_to_others()
        while self._gate.waiting_reads and self._stopwatch() < until:
            await trio.lowlevel.checkpoint()

    def _summarize(self) -> ChainSummary:
        props, pending = self._chain.state.props, self._chain.pending
        head = props.head_block_number, props.head_block_id, props.time
        return ChainSummary(*head, props.last_irreversible_block_num, len(pending), pending.size)

    def _interrupted(self, nursery: trio.Nursery, seconds: float) -> None:
        """Have another process answer reads, if the job takes long and can be left there."""
        if not self._can_fork or seconds < FORK_AFTER_SECONDS or not self._preemption.can_raise or self.answer_read is None:
            return
        self._can_fork = False
        # Imported here, since few jobs take so long.
        from node.processor.standby import Standby

        try:
            self._standby = Standby(self._abandon_job, self.answer_read)
        except (ChildFailed, OSError) as error:
            _log.warning("reads wait for a long job", reason=str(error))
            return
        nursery.start_soon(self._standby.run)
        self._gate.set_standby(self._standby.ask)

    def _abandon_job(self) -> None:
        """In a copy of this process: go on without the job that is under way."""
        self._leave()
        # What waits is applied again.
        self._time_limit.renew()
        self._preemption.throw(JobAbandoned())
        self._gate.leave_unattended()

    def _on_head_change(self, _: HeadChange) -> None:
        self._dismiss()

    def _dismiss(self) -> None:
        """Let no other process answer any more."""
        self._can_fork = False
        if self._standby is not None:
            self._standby.stop()
            self._standby = None
            self._gate.set_standby(None)
