"""Interface of the node's processor, which owns the chain, for methods that change it."""

from collections.abc import Callable, Generator, Iterator
from typing import Protocol, TypeVar

from msgspec import Struct

from rpc.caller import LOCAL, Caller
from state.protocol.transaction import SignedBlock, SignedTransaction

Result = TypeVar("Result")


class Inclusion(Struct, frozen=True):
    """The position of a transaction in the chain, or, with `trx_num` -1, the block at which it had expired."""

    id: bytes
    block_num: int
    trx_num: int
    expired: bool


class Processor(Protocol):
    """Runs one job on the chain at a time. A refused transaction or block raises PushFailed."""

    async def push_transaction(self, trx: SignedTransaction, caller: Caller) -> None:
        """Apply a transaction on top of the pending state."""

    async def push_block(self, block: SignedBlock, caller: Caller = LOCAL) -> None:
        """Apply a block, or store it on its branch."""

    async def wait_for(self, trx: SignedTransaction, caller: Caller) -> Inclusion:
        """Push a transaction and wait for the block that includes it, or for the first block after its expiration.

        The wait begins before the push. If another call is already waiting for the transaction, the call is refused as an assertion,
        `_callbacks.find( txid ) == _callbacks.end(): Transaction is a duplicate`. Source: rpc-api.md §7.3.
        """

    async def push_blocks_from(self, path: str, count: int, skip_flags: int) -> int:
        """Push the blocks head + 1 to head + count of a block file. Return the number of blocks applied.

        Stops at the first refused block. Raises: Refused if the file cannot be read.
        """

    async def run_steps(self, steps: Iterator[object]) -> int:
        """Run an iterator that changes the chain, with each step as a queued job. Return the number of steps.

        Exceptions of a step propagate.
        """

    async def in_turn(self, work: Callable[[], Result]) -> Result:
        """Run a function that changes the chain as a queued job, and return its result. Exceptions propagate.

        If it drops a transaction that a caller is waiting for, that caller is refused.
        """

    async def in_steps(self, work: Callable[[], Generator[None, None, Result]]) -> Result:
        """Run a read-only job in steps, and return its result. Reads run between steps; the chain doesn't change. Exceptions propagate."""
