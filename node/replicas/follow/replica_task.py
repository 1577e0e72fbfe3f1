"""Task that keeps a replica in sync: it applies events of a source, and reconnects after failures."""

import math
from collections.abc import Callable, Iterator
from contextlib import aclosing
from typing import Protocol

import trio

from node.client.errors import RefusedCall, WrongChain
from node.client.urls import BROKER
from node.history.apply import BlockRefused
from node.processor.long_jobs import ChainSummary
from node.replicas.follow.replica_applier import ForkDetected, ForkTooDeep, ReplicaApplier
from node.replicas.follow.sources import NodeSource, Source, SourceBehind, SyncPosition
from node.runtime.clock import Clock
from node.runtime.errors import NodeError
from rpc.jsonrpc.scheduler import ReadGate
from rpc.log import Log
from rpc.push.events import Event, Heartbeat, NewBlock
from rpc.push.header import edits_fingerprint
from state.chain.chain import Chain
from state.protocol.errors import ChainError, UnreadableBlock
from state.protocol.spec import ChainSpec
from state.protocol.transaction import Wire

PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.2, 10.0
# Batches that are read but not applied yet. A batch is the result of one read.
BATCHES_MAX = 16
# Beyond these limits /health reports an error, so that load balancers send no clients to this replica.
BEHIND_BLOCKS_MAX = 50
PROBLEM_LENGTH_MAX = 1000  # in the log and in /health
SILENCE_SECONDS_MAX = 15
# A head older than this is only valid if the followed node confirmed it within SILENCE_SECONDS_MAX.
HEAD_SECONDS_MAX = 60

_log = Log("following")


class StepRunner(Protocol):
    """The part of a processor that a replica needs."""

    gate: ReadGate

    @property
    def summary(self) -> ChainSummary:
        """Summary of the chain between two jobs."""

    async def run_steps(self, steps: Iterator[object]) -> int:
        """Run the steps of an iterator that changes the chain. Return the number of steps. Exceptions propagate."""


class ReplicaTask:
    """Follows a source of blocks while `run` runs. `head` is the last known head of the other node.

    `problem` is the reason why no events arrive, or "" while they arrive. `failed` is called with an error that a retry can't fix.
    """

    def __init__(
        self, url: str, source: Source, applier: ReplicaApplier, processor: StepRunner, failed: Callable[[NodeError], None], clock: Clock
    ) -> None:
        self.url, self.head, self.problem = url, 0, "it has not answered yet"
        self.attempts = 0
        # The start of the current failure, None while in sync; and whether a block was refused, which a retry can't fix.
        self._failing_since: float | None = trio.current_time()
        self._is_refused = False
        self._source, self._applier, self._processor, self._failed, self._clock = source, applier, processor, failed, clock
        self._received, self._confirmed = trio.current_time(), -math.inf
        self._news = trio.Event()

    @property
    def blocks_behind(self) -> int:
        """The number of blocks by which this node is behind the other node."""
        return max(0, self.head - self._processor.summary.head_block_number)

    @property
    def seconds_silent(self) -> float:
        """The time in seconds since the last message of the other node."""
        return trio.current_time() - self._received

    @property
    def seconds_unconfirmed(self) -> float:
        """The time in seconds since the other node itself last confirmed its head. Infinite if it never did."""
        return trio.current_time() - self._confirmed

    def trouble(self) -> str:
        """Return the reason why this node is out of sync, or ""."""
        if self._failing_since is not None:
            seconds = trio.current_time() - self._failing_since
            if not self.head or self._is_refused or seconds > SILENCE_SECONDS_MAX:
                return f"{self.url} isn't followed: {self.problem}"
        if self.blocks_behind > BEHIND_BLOCKS_MAX:
            return f"{self.blocks_behind} blocks behind {self.url}"
        age = self._clock() // 1000 - self._processor.summary.time
        if age > HEAD_SECONDS_MAX:
            if self.blocks_behind:
                return f"the head is {age} s old and {self.blocks_behind} blocks behind {self.url}"
            if self.seconds_unconfirmed > SILENCE_SECONDS_MAX:
                return f"the head is {age} s old, and {self.url} has not confirmed that it is still its head"
        return ""

    async def reached(self, number: int) -> None:
        """Wait until the chain contains a block with this number."""
        while self._applier.next <= number:
            await self._news.wait()

    async def run(self) -> None:
        """Follow the source until cancelled, reconnecting after each failure."""
        try:
            await self._run()
        finally:
            self._applier.close()

    async def _run(self) -> None:
        pause = PAUSE_SECONDS_MIN
        while True:
            before = self._applier.chain.state.props.head_block_id
            try:
                self.attempts += 1
                await self._follow()
            except WrongChain as error:
                self._failed(error)
                return
            except (ForkDetected, SourceBehind) as error:
                problem = await self._compare(error)
            except (BlockRefused, ForkTooDeep) as error:
                self._is_refused = True
                problem = str(error)
            except NodeError as error:
                problem = str(error)
            problem = problem[:PROBLEM_LENGTH_MAX]
            if problem and problem != self.problem:
                _log.warning("following interrupted, retrying", url=self.url, reason=problem)
            if problem and self._failing_since is None:
                self._failing_since = trio.current_time()
            self.problem = problem or self.problem
            if self._applier.chain.state.props.head_block_id != before:
                pause = PAUSE_SECONDS_MIN
            await trio.sleep(pause)
            pause = min(PAUSE_SECONDS_MAX, pause * 2)

    async def _follow(self) -> None:
        """Apply events from the source until it fails. This always ends with an exception."""
        batches_in, batches_out = trio.open_memory_channel[list[Event | Heartbeat]](BATCHES_MAX)
        failure: NodeError | None = None

        async def read() -> None:
            nonlocal failure
            async with batches_in:
                try:
                    async with aclosing(self._source.batches(self._place())) as batches:
                        async for batch in batches:
                            await batches_in.send(batch)
                except NodeError as error:
                    failure = error

        await self._processor.gate.wait_open()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            try:
                async for batch in batches_out:
                    await self._apply([*batch, *_waiting(batches_out)])
            except NodeError as error:
                failure = error
            nursery.cancel_scope.cancel()
        assert failure is not None
        raise failure

    def _place(self) -> SyncPosition:
        applier = self._applier
        first = max(applier.chain.base + 1, applier.next - 1)
        return SyncPosition(applier.next - 1, first, edits_fingerprint(applier.chain, first - 1))

    async def _apply(self, batch: list[Event | Heartbeat]) -> None:
        self._received = trio.current_time()
        events: list[Event] = []
        for item in batch:
            if isinstance(item, Heartbeat):
                # A stale head can be older than the last known one.
                self.head = max(self.head, item.head) if item.is_stale else item.head
                self._confirmed = self._confirmed if item.is_stale else self._received
            else:
                self.head = max(self.head, item.number) if isinstance(item, NewBlock) else item.first - 1
                events.append(item)
        if events:
            await self._take(self._applier.steps(events))
            self._news.set()
            self._news = trio.Event()
        if self._failing_since is not None and (events or not self.blocks_behind):
            _log.info("following", url=self.url, head_block_number=self.head)
            self.problem, self._failing_since, self._is_refused = "", None, False

    async def _take(self, steps: Iterator[None]) -> None:
        try:
            await self._processor.run_steps(steps)
        except (ChainError, UnreadableBlock) as error:  # the processor is stopping
            raise NodeError(str(error)) from None

    async def _compare(self, error: NodeError) -> str:
        """Revert to the last block that both chains have. Return the reason if that isn't possible, or "" after success."""
        applier = self._applier
        await self._processor.gate.wait_open()
        try:
            if isinstance(error, SourceBehind) and error.is_all:
                common = applier.chain.base
            else:
                await self._require_base()
                theirs = await self._source.head()
                if theirs < applier.chain.base:
                    return f"{error}, and this node's chain begins after block {applier.chain.base}"
                common = await self._last_common(min(theirs, applier.next - 1))
                if common == theirs and not applier.chain.state.spec.is_test:
                    return f"{error}, which is behind this node"  # wait until it catches up
            _log.info("the followed node is on another branch", url=self.url, last_common_block=common, reason=str(error))
            await self._take(applier.revert_to(common))
        except NodeError as found:
            self._is_refused = isinstance(found, ForkTooDeep)
            return str(found)
        return ""

    async def _require_base(self) -> None:
        """Raise NodeError if the block with which this chain begins is not on the chain of the followed node."""
        base = self._applier.chain.state.spec.base
        if not base.number:
            return
        try:
            theirs = await self._source.id_of(base.number)
        except RefusedCall:  # the node's own chain begins with the same block, which it therefore doesn't have
            return
        if theirs not in (None, base.block_id):
            why = "this node's chain begins after a block that the followed node has left. Fork it again"
            raise NodeError(f"{why} (block {base.number}, {base.block_id.hex()})")

    async def _last_common(self, last: int) -> int:
        """Return the number of the last block that both chains have, at most `last`. A bisection finds it, since two blocks with the same
        id have the same predecessors.
        """
        same, differs, step = self._applier.chain.base, last + 1, 1
        # Forks are usually near the head, so the search begins there.
        while differs - same > 1:
            middle = max((same + differs) // 2, last + 1 - step)
            step *= 4
            await self._processor.gate.wait_open()
            ours = self._applier.chain.block_by_number(middle)
            if ours is not None and await self._source.id_of(middle) == ours.id:
                same = middle
            else:
                differs = middle
        return same


def _waiting(batches: "trio.MemoryReceiveChannel[list[Event | Heartbeat]]") -> list[Event | Heartbeat]:
    """Return the events of all batches that are queued already, without waiting."""
    found: list[Event | Heartbeat] = []
    try:
        while True:
            found += batches.receive_nowait()
    except (trio.WouldBlock, trio.EndOfChannel):
        return found


def new_following(
    url: str,
    chain: Chain,
    processor: StepRunner,
    *,
    reset: Callable[[], None],
    failed: Callable[[NodeError], None],
    is_trusting: bool,
    clock: Clock,
    workers: int = 0,
    is_copied: bool = False,
) -> ReplicaTask:
    """Return the task that keeps a chain in sync with a node or a broker. `is_copied`: the chain begins with a complete copy of another."""
    spec = chain.state.spec
    applier = ReplicaApplier(chain, reset=reset if spec.is_test else None, is_trusting=is_trusting, workers=workers)
    return ReplicaTask(url, source_at(url, spec, is_copied=is_copied), applier, processor, failed, clock)


def source_at(url: str, spec: ChainSpec, *, is_copied: bool = False) -> Source:
    """Return the source of blocks at the URL of a node or a broker. See NodeSource."""
    if url.startswith(BROKER):
        from node.replicas.follow.broker import BrokerSource

        return BrokerSource(url, spec)
    return NodeSource(url, spec, Wire(spec), is_copied=is_copied)
