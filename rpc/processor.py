"""The interface of the node's processor, which owns the chain: what methods that change the chain ask of it."""

from collections.abc import Callable, Generator, Iterator
from typing import Protocol, TypeVar

from msgspec import Struct

from rpc.caller import LOCAL, Caller
from state.protocol.transaction import SignedBlock, SignedTransaction

Result = TypeVar("Result")


class Inclusion(Struct, frozen=True):
    """The place of a transaction in the chain, or, with `trx_num` -1, the block at which it had expired."""

    id: bytes
    block_num: int
    trx_num: int
    expired: bool


class Processor(Protocol):
    """Takes transactions and blocks one at a time. A refusal of the chain is raised as PushFailed."""

    async def push_transaction(self, trx: SignedTransaction, caller: Caller) -> None:
        """Apply a transaction on top of the pending state."""

    async def push_block(self, block: SignedBlock, caller: Caller = LOCAL) -> None:
        """Apply a block, or keep it on its branch."""

    async def wait_for(self, trx: SignedTransaction, caller: Caller) -> Inclusion:
        """Push a transaction and wait for the block that includes it, or for the first one after its expiration.

        The wait begins before the push. A transaction that somebody waits for already is refused as an assertion of the call,
        `_callbacks.find( txid ) == _callbacks.end(): Transaction is a duplicate`. Source: rpc-api.md §7.3.
        """

    async def push_blocks_from(self, path: str, count: int, skip_flags: int) -> int:
        """Push the blocks head + 1 to head + count of a block file; return how many of them were applied.

        It stops at the first that is refused. A file that cannot be read is refused.
        """

    async def run_steps(self, steps: Iterator[object]) -> int:
        """Take the steps of something that changes the chain, each when it is its turn; return how many there were.

        An exception of a step is passed on.
        """

    async def in_turn(self, work: Callable[[], Result]) -> Result:
        """Do something that changes the chain when it is its turn, and return its result; an exception is passed on.

        Callers that wait for a transaction which it has taken away are refused.
        """

    async def in_steps(self, work: Callable[[], Generator[None, None, Result]]) -> Result:
        """Do something that reads the chain, and during which nothing may change it, when it is its turn: in steps, between which other
        calls read. Return its result; an exception is passed on.
        """
