"""Interface of the node's processor, which owns the chain. RPC methods use it to change the chain."""

from collections.abc import Callable, Generator, Iterator
from typing import Protocol, TypeVar

from msgspec import Struct

from rpc.caller import LOCAL, Caller
from state.protocol.transaction import SignedBlock, SignedTransaction

Result = TypeVar("Result")


class Inclusion(Struct, frozen=True):
    """The position of a transaction in the chain. `trx_num` is -1 if the transaction had expired when the block `block_num` was applied."""

    id: bytes
    block_num: int
    trx_num: int
    expired: bool


class Processor(Protocol):
    """Runs jobs on the chain, one at a time. A refused transaction or block raises PushFailed."""

    async def push_transaction(self, trx: SignedTransaction, caller: Caller) -> None:
        """Apply a transaction on top of the pending state."""

    async def push_block(self, block: SignedBlock, caller: Caller = LOCAL) -> None:
        """Apply a block. If the block belongs to another branch, store it on that branch."""

    async def wait_for(self, trx: SignedTransaction, caller: Caller) -> Inclusion:
        """Push a transaction and wait for the block that includes it, or for the first block after its expiration.

        The wait is registered before the push. If another call is already waiting for the transaction, this call is refused with the
        assertion `_callbacks.find( txid ) == _callbacks.end(): Transaction is a duplicate`. Source: rpc-api.md §7.3.
        """

    async def push_blocks_from(self, path: str, count: int, skip_flags: int) -> int:
        """Push the next `count` blocks from a block file, beginning with the block after the head. Return the number of applied blocks.

        Stops at the first refused block. Raises Refused if the file cannot be read.
        """

    async def run_steps(self, steps: Iterator[object]) -> int:
        """Run the steps of an iterator that changes the chain, each step as a separate job. Return the number of steps. Exceptions
        propagate.
        """

    async def in_turn(self, work: Callable[[], Result]) -> Result:
        """Run a function that changes the chain as a job, and return its result. Exceptions propagate.

        If the function drops a transaction for which a caller is waiting, the caller's request is refused.
        """

    async def in_steps(self, work: Callable[[], Generator[None, None, Result]]) -> Result:
        """Run a read-only generator as a job, and return its result. Exceptions propagate.

        Other reads run between its steps. The chain doesn't change meanwhile.
        """

    async def in_copy(self, work: Callable[[], Result]) -> Result:
        """Run a function on the chain as it is after the jobs that wait, and return its result, which consists of JSON values. Raises
        Refused.

        The function must not change anything that it doesn't restore. The chain can change meanwhile.
        """
