"""The task that keeps a node where another node is: it takes events from a source, applies them, and begins again when that fails."""

import math
from collections.abc import Callable, Iterator
from contextlib import aclosing

import trio

from node.client.errors import WrongChain
from node.history.apply import BlockRefused
from node.processor.processor import Processor
from node.replicas.follow.replica_applier import ForkDetected, ForkTooDeep, ReplicaApplier
from node.replicas.follow.sources import Source, SourceBehind, SyncPosition
from node.runtime.clock import Clock
from node.runtime.errors import NodeError
from rpc.log import Log
from rpc.push.events import Event, Heartbeat, NewBlock
from rpc.push.header import edits_fingerprint
from state.protocol.errors import ChainError

PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.2, 10.0
# Batches that have been read and not applied yet; a batch is what one read has brought.
BATCHES_MAX = 16
# A replica that is so far behind, or hears nothing for so long, isn't one that clients should be sent to.
BEHIND_BLOCKS_MAX = 50
PROBLEM_LENGTH_MAX = 1000  # as it is logged and shown
SILENCE_SECONDS_MAX = 15
# A head of this age is right only where the followed node has said within the silence that it has no newer one.
HEAD_SECONDS_MAX = 60

_log = Log("following")


class ReplicaTask:
    """Follows a source while `run` runs. `head` is where the other node was when it was last heard of.

    `problem` is why nothing comes, "" while all is well. `failed` is called with an error that no second attempt can mend.
    """

    def __init__(
        self, url: str, source: Source, applier: ReplicaApplier, processor: Processor, failed: Callable[[NodeError], None], clock: Clock
    ) -> None:
        self.url, self.head, self.problem = url, 0, "it has not answered yet"
        self.attempts = 0
        # Since when it hasn't been followed, None while it is; and whether a block was refused, which time doesn't mend.
        self._failing_since: float | None = trio.current_time()
        self._is_refused = False
        self._source, self._applier, self._processor, self._failed, self._clock = source, applier, processor, failed, clock
        self._received, self._confirmed = trio.current_time(), -math.inf
        self._news = trio.Event()

    @property
    def blocks_behind(self) -> int:
        """How many blocks the other node is ahead."""
        return max(0, self.head - self._processor.summary.head_block_number)

    @property
    def seconds_silent(self) -> float:
        """How long ago the other node was heard of."""
        return trio.current_time() - self._received

    @property
    def seconds_unconfirmed(self) -> float:
        """How long ago the other node itself said where its head is; infinite where it never did."""
        return trio.current_time() - self._confirmed

    def trouble(self) -> str:
        """Return why this node isn't where the other one is; empty as long as it is."""
        if self._failing_since is not None:
            seconds = trio.current_time() - self._failing_since
            if not self.head or self._is_refused or seconds > SILENCE_SECONDS_MAX:
                return f"{self.url} isn't followed: {self.problem}"
        if self.blocks_behind > BEHIND_BLOCKS_MAX:
            return f"{self.blocks_behind} blocks behind {self.url}"
        age = self._clock() // 1000 - self._processor.summary.time
        if age > HEAD_SECONDS_MAX:
            if self.blocks_behind:
                return f"the head is {age} s old, and {self.blocks_behind} blocks behind {self.url}"
            if self.seconds_unconfirmed > SILENCE_SECONDS_MAX:
                return f"the head is {age} s old, and nobody knows of {self.url} whether that is its head still"
        return ""

    async def reached(self, number: int) -> None:
        """Wait until a block is here."""
        while self._applier.next <= number:
            await self._news.wait()

    async def run(self) -> None:
        """Follow, beginning again after each failure, until cancelled."""
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
                _log.warning("the followed node can't be followed now, it is tried again", url=self.url, reason=problem)
            if problem and self._failing_since is None:
                self._failing_since = trio.current_time()
            self.problem = problem or self.problem
            if self._applier.chain.state.props.head_block_id != before:
                pause = PAUSE_SECONDS_MIN
            await trio.sleep(pause)
            pause = min(PAUSE_SECONDS_MAX, pause * 2)

    async def _follow(self) -> None:
        """Take and apply what comes until that ends, always with an error."""
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
        first = max(1, applier.next - 1)
        return SyncPosition(applier.next - 1, first, edits_fingerprint(applier.chain, first - 1))

    async def _apply(self, batch: list[Event | Heartbeat]) -> None:
        self._received = trio.current_time()
        events: list[Event] = []
        for said in batch:
            if isinstance(said, Heartbeat):
                # A stale head may be older than the one that was heard of before.
                self.head = max(self.head, said.head) if said.is_stale else said.head
                self._confirmed = self._confirmed if said.is_stale else self._received
            else:
                self.head = max(self.head, said.number) if isinstance(said, NewBlock) else said.first - 1
                events.append(said)
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
        except ChainError as error:  # the processor takes no jobs any more
            raise NodeError(str(error)) from None

    async def _compare(self, error: NodeError) -> str:
        """Go back to the last block that both chains have; returns what prevents that."""
        applier = self._applier
        await self._processor.gate.wait_open()
        try:
            if isinstance(error, SourceBehind) and error.is_all:
                common = 0
            else:
                theirs = await self._source.head()
                common = await self._last_common(min(theirs, applier.next - 1))
                if common == theirs and not applier.chain.state.spec.is_test:
                    return f"{error}, which is before ours"  # it has to catch up with us
            _log.info("the followed node has left our branch", url=self.url, last_common_block=common, reason=str(error))
            await self._take(applier.revert_to(common))
        except NodeError as found:
            self._is_refused = isinstance(found, ForkTooDeep)
            return str(found)
        return ""

    async def _last_common(self, last: int) -> int:
        """Return the number of the last block up to `last` that both chains have: a block's id covers all before it."""
        same, differs, step = 0, last + 1, 1
        # Branches leave each other near their ends: there it is looked for first.
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
    """Return what else has come."""
    found: list[Event | Heartbeat] = []
    try:
        while True:
            found += batches.receive_nowait()
    except (trio.WouldBlock, trio.EndOfChannel):
        return found
