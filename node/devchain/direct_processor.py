"""Processor without a queue, for a chain in the caller's process. It runs every job immediately, and never awaits."""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from node.devchain.devchain import DevChain
from node.runtime.clock import ChainClock
from node.runtime.errors import FileError
from node.storage.blockfile import BlockFile
from rpc.caller import LOCAL, Caller
from rpc.declare.errors import PushFailed
from rpc.processor import Inclusion
from state.chain.chain import Chain
from state.protocol.errors import ChainError, Refused
from state.protocol.transaction import SignedBlock, SignedTransaction
from state.protocol.work import LOCAL_UNITS_MAX
from state.store.rows import run_steps

Result = TypeVar("Result")


class DirectProcessor:
    """Processor that runs each job immediately. Its methods are coroutines, as the service expects, but never block."""

    def __init__(self, chain: Chain, devchain: DevChain, clock: ChainClock) -> None:
        self._chain, self._devchain, self._clock = chain, devchain, clock

    async def push_transaction(self, trx: SignedTransaction, caller: Caller) -> None:
        """Add a transaction to the pending ones, and make a block if the block mode is instant. Raises PushFailed."""
        try:
            self._devchain.require_lasting(trx)
            self._chain.push_transaction(trx, units_max=LOCAL_UNITS_MAX)
        except ChainError as error:
            raise PushFailed(error, trx) from error
        self._devchain.automine()

    async def push_block(self, block: SignedBlock, caller: Caller = LOCAL) -> None:
        """Push a block. Unlike the processor of a node, this one accepts a block any time ahead of the clock. Raises PushFailed."""
        try:
            self._own(lambda: self._chain.push_block(block))
        except ChainError as error:
            raise PushFailed(error) from error

    async def wait_for(self, trx: SignedTransaction, caller: Caller) -> Inclusion:
        """Push a transaction, and make the block that includes it, because no producer runs. Raises PushFailed."""
        await self.push_transaction(trx, caller)
        if any(pending.id == trx.id for pending in self._chain.pending):
            self._own(self._devchain.make_block)
        block = self._chain.head
        assert block is not None, "a block has just been made"
        index = next((index for index, included in enumerate(block.transactions) if included.id == trx.id), None)
        if index is None:
            raise Refused("the next block had no room for the transaction", condition="trx is in the block")
        return Inclusion(trx.id, block.number, index, False)

    async def push_blocks_from(self, path: str, count: int, skip_flags: int) -> int:
        """Push up to `count` blocks after the head from a file. Return the number of applied blocks.

        It stops at the first block that fails. Raises Refused if no block can be read.
        """
        pushed = 0
        try:
            first = self._chain.state.props.head_block_number + 1
            with closing(BlockFile(Path(path), self._chain.state.wire, first)) as blocks:
                for block in islice(blocks, count):
                    self._own(partial(self._chain.push_block, block, skip_flags))
                    pushed += 1
        except FileError as error:
            if not pushed:
                raise Refused("${error}", condition="blocks can be read", error=str(error)) from None
        except ChainError:
            pass
        return pushed

    async def run_steps(self, steps: Iterator[object]) -> int:
        """Exhaust an iterator whose steps change the chain. Return the number of steps."""
        return self._own(lambda: sum(1 for _ in steps))

    async def in_turn(self, work: Callable[[], Result]) -> Result:
        """Run a function that changes the chain, and return its result."""
        return self._own(work)

    async def in_steps(self, work: Callable[[], Generator[None, None, Result]]) -> Result:
        """Run all steps of a read-only job, and return its result."""
        return run_steps(work())

    async def in_copy(self, work: Callable[[], Result]) -> Result:
        """Run a function that leaves the chain unchanged, and return its result."""
        return work()

    def _own(self, work: Callable[[], Result]) -> Result:
        """Run work that can make blocks, and return its result. The clock advances to the time of the blocks."""
        head = self._chain.state.props.head_block_id
        result = work()
        if self._chain.state.props.head_block_id != head:
            self._clock.advance_to(self._chain.state.head_time * 1000)
        return result
