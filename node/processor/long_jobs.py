"""Runs jobs in time slices, with other tasks between them. During a long job, a forked copy of the process (the standby) answers reads from
the chain as it was before the job.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Self

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

FORK_AFTER_SECONDS = 0.05  # since a job's first interruption; then a standby is forked

_log = Log("processor")


class ChainSummary(Struct, frozen=True):
    """The head, the last irreversible block and the pending transactions of a chain between two jobs."""

    head_block_number: int
    head_block_id: bytes
    time: int
    last_irreversible_block_num: int
    pending: int
    pending_size: int

    @classmethod
    def of(cls, chain: Chain) -> Self:
        """Return the summary of a chain."""
        props, pending = chain.state.props, chain.pending
        head = props.head_block_number, props.head_block_id, props.time
        return cls(*head, props.last_irreversible_block_num, len(pending), pending.size)


class JobAbandoned(BaseException):
    """Raised inside an interrupted job in a forked copy of the process, to undo the job in the copy."""


class LongJobs:
    """Runs the jobs of a chain, one at a time. The `gate` is closed while a job is interrupted. Before the next job, the readers that
    waited for the gate get a time slice.

    A standby is forked only if `answer_read`, the function with which it answers requests, is set. It isn't set if the disk is simulated.
    The standby has none of this process's files, and calls `leave`, which must stop all writing.
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
        self._is_abortable = self._can_fork = False
        self._standby: Standby | None = None
        self._finished: trio.Event | None = None  # set after an interrupted job and the slice of readers that follows it
        self._summary = ChainSummary.of(chain)
        # A client that received an event of the new head must not read an older chain.
        chain.on_head_change.append(self._on_head_change)

    @property
    def summary(self) -> ChainSummary:
        """Summary of the chain; while a job is interrupted, that of the chain before the job."""
        return self._summary if self._gate.is_closed else ChainSummary.of(self._chain)

    @property
    def is_free(self) -> bool:
        """Whether the next job can start."""
        return self._finished is None

    async def freed(self) -> None:
        """Wait until the next job can start. If it can start now, return without a trio checkpoint."""
        while self._finished is not None:
            await self._finished.wait()

    def start(self, job: Callable[[], object], *, is_abortable: bool) -> bool:
        """Run the first slice of a job. Return whether the job is done; if not, the caller must call `finish`.

        `is_abortable` means that an exception inside the job leaves the chain unchanged.
        """
        self._summary, self._is_abortable, self._can_fork = ChainSummary.of(self._chain), is_abortable, True
        if self._preemption.start(job):
            return True
        self._finished = trio.Event()
        return False

    async def finish(self) -> None:
        """Run the rest of the job in slices. If this task is cancelled, run the rest without interruption."""
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
        """Let the waiting readers run, for at most one slice."""
        until = self._stopwatch() + RUN_SECONDS_MAX
        await yield_to_others()
        while self._gate.waiting_reads and self._stopwatch() < until:
            await trio.lowlevel.checkpoint()

    def _interrupted(self, nursery: trio.Nursery, seconds: float) -> None:
        """Fork a standby if the job is taking long or has announced long work, and can be undone in the copy."""
        is_long = self._is_abortable and self._preemption.can_raise and seconds >= FORK_AFTER_SECONDS
        if not (is_long or self._preemption.is_announced) or not self._can_fork or self.answer_read is None:
            return
        self._can_fork = False
        # Imported here, because few jobs take this long.
        from node.processor.standby import Standby

        try:
            self._standby = Standby(self._abandon_job, self.answer_read)
        except (ChildFailed, OSError) as error:
            _log.warning("no standby was forked, reads wait for a long job", reason=str(error))
            return
        nursery.start_soon(self._standby.run)
        self._gate.set_standby(self._standby.ask)

    def _abandon_job(self) -> None:
        """In the standby, the forked copy of the process: undo the interrupted job."""
        self._leave()
        # The undo applies pending transactions again.
        self._time_limit.renew()
        self._preemption.throw(JobAbandoned())
        self._gate.leave_unattended()

    def _on_head_change(self, _: HeadChange) -> None:
        self._dismiss()

    def _dismiss(self) -> None:
        """Stop the standby, and don't fork another one for this job."""
        self._can_fork = False
        if self._standby is not None:
            self._standby.stop()
            self._standby = None
            self._gate.set_standby(None)
