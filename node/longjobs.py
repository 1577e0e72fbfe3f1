"""Does jobs that may take long: in slices, with turns of all other tasks in between, and with a copy of this process that answers reads
meanwhile from the chain before the job. It must not know what the jobs are.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import trio
from msgspec import Struct

from node.clock import Patience
from node.preemption import SLICE_SECONDS, Preemption
from node.snapshots.child import ChildFailed
from rpc.log import Log
from rpc.service.caller import Caller
from rpc.service.turns import Gate, Stopwatch, let_others_in
from state.chain.chain import Chain
from state.chain.moves import Move

if TYPE_CHECKING:
    from node.standin import StandIn

STAND_IN_SECONDS = 0.05  # how long a job has been interrupted before another process answers reads

_log = Log("processor")


class Rest(Struct, frozen=True):
    """Where a chain is at rest."""

    head_block_number: int
    head_block_id: bytes
    time: int
    last_irreversible_block_num: int
    pending: int
    pending_size: int


class JobLeft(BaseException):
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
        gate: Gate,
        patience: Patience,
        stopwatch: Stopwatch,
        *,
        leave: Callable[[], None] = lambda: None,
    ) -> None:
        self.answer_read: Callable[[bytes, Caller], bytes] | None = None
        self._chain, self._gate, self._patience, self._stopwatch = chain, gate, patience, stopwatch
        self._preemption = Preemption(chain.state.work, gate, patience, stopwatch)
        self._leave = leave
        self._can_stand_in = False
        self._stand_in: StandIn | None = None
        self._finished: trio.Event | None = None  # of an interrupted job and the slice of readers after it
        self._rest = self._at_rest()
        # Whoever is told of a move must not read the chain before it any more.
        chain.on_moved.append(self._moved)

    @property
    def rest(self) -> Rest:
        """Where the chain is, or was before the job that is interrupted."""
        return self._rest if self._gate.is_shut else self._at_rest()

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
        self._rest, self._can_stand_in = self._at_rest(), can_be_left
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
                await self._let_readers_in()
        finally:
            self._finished.set()
            self._finished = None

    async def _let_readers_in(self) -> None:
        """Let those read that have waited for the job, for a slice at most."""
        until = self._stopwatch() + SLICE_SECONDS
        await let_others_in()
        while self._gate.readers and self._stopwatch() < until:
            await trio.lowlevel.checkpoint()

    def _at_rest(self) -> Rest:
        props, pending = self._chain.state.props, self._chain.pending
        head = props.head_block_number, props.head_block_id, props.time
        return Rest(*head, props.last_irreversible_block_num, len(pending), pending.size)

    def _interrupted(self, nursery: trio.Nursery, seconds: float) -> None:
        """Have another process answer reads, if the job takes long and can be left there."""
        if not self._can_stand_in or seconds < STAND_IN_SECONDS or not self._preemption.can_raise or self.answer_read is None:
            return
        self._can_stand_in = False
        # Imported here, since few jobs take so long.
        from node.standin import StandIn

        try:
            self._stand_in = StandIn(self._leave_job, self.answer_read)
        except (ChildFailed, OSError) as error:
            _log.warning("reads wait for a long job", reason=str(error))
            return
        nursery.start_soon(self._stand_in.run)
        self._gate.place(self._stand_in.ask)

    def _leave_job(self) -> None:
        """In a copy of this process: go on without the job that is under way."""
        self._leave()
        # What waits is applied again.
        self._patience.renew()
        self._preemption.throw(JobLeft())
        self._gate.leave_alone()

    def _moved(self, _: Move) -> None:
        self._dismiss()

    def _dismiss(self) -> None:
        """Let no other process answer any more."""
        self._can_stand_in = False
        if self._stand_in is not None:
            self._stand_in.dismiss()
            self._stand_in = None
            self._gate.place(None)
