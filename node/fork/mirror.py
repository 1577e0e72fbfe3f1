"""Applies the transactions of the source's later blocks on the fork, as transactions of its own.

A transaction is applied if the fork has everything that its operations name. It needs no signature, and it gets the dates of the fork. The
rules of the fork can refuse it. The operations of transactions that aren't applied are counted by reason.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import trio
from msgspec import Struct

from node.fork.demand import is_here
from node.fork.history import is_id
from node.fork.source import Source
from node.runtime.errors import NodeError
from node.storage.disk import Disk, read_whole, written_whole
from rpc.caller import LOCAL
from rpc.declare.demand import Key, NewKey, SignerKey
from rpc.declare.errors import PushFailed
from rpc.declare.named_keys import named_by_transaction
from rpc.fork import Fork
from rpc.json.encoding import encoded
from rpc.log import Log
from rpc.processor import Processor
from state.chain.chain import Chain
from state.chain.known_keys import signed_transaction
from state.protocol.errors import ChainError, Refused
from state.protocol.operation import Operation
from state.protocol.transaction import OPERATION

POLL_SECONDS = 1
BLOCKS_AT_ONCE = 20
TRANSACTIONS_MAX, OPERATIONS_MAX = 10_000, 1_000  # of a block, of a transaction; further ones aren't looked at
POSITION_SIZE_MAX = 100  # bytes of the file
APPLIED, ABSENT, REFUSED, UNREADABLE = "applied", "an account or post isn't here", "refused here", "can't be read"
REPLACED = "in blocks that the source has replaced since"
BLOCKS_KEPT, TRANSACTIONS_KEPT = 100, 100_000  # of the newest blocks, which the source can replace by others

_log = Log("fork")


class _Transaction(Struct, frozen=True):
    """A transaction of a block: its operations or, if they can't be read, their number. `digest` is that of its JSON."""

    operations: tuple[Operation, ...] | int
    digest: bytes


class _Block(Struct, frozen=True):
    """A block of the source. `id` is "" if the source doesn't show it."""

    previous: str
    id: str
    transactions: list[_Transaction]


class Mirror:
    """Follows the source's blocks.

    If the source replaces blocks, because it switches to another fork, their successors are applied, too. Transactions of replaced blocks
    aren't undone, and those that are in blocks again aren't applied twice.

    The counts are added to `fork.mirrored`. With `position`, the number of the next block is kept in a file, and a restart resumes from
    there.
    """

    def __init__(
        self,
        chain: Chain,
        source: Source,
        processor: Processor,
        fork: Fork,
        position: Path | None = None,
        disk: Disk | None = None,
    ) -> None:
        self._chain, self._source, self._processor, self._fork = chain, source, processor, fork
        self._position, self._disk = position, disk
        self.next = max(chain.base + 1, self._read_position())
        self._is_failing = False
        self._kept: dict[int, tuple[str, dict[bytes, int]]] = {}  # id, and operations by transaction, of the newest blocks
        self._done: set[bytes] = set()  # transactions of replaced blocks

    async def run(self) -> None:
        """Follow the source until cancelled. After a failure, try again."""
        while True:
            try:
                await self.follow()
                self._is_failing = False
            except NodeError as error:
                if not self._is_failing:
                    _log.warning("the source can't be followed", next_block=self.next, reason=str(error))
                self._is_failing = True
            await trio.sleep(POLL_SECONDS)

    async def follow(self) -> None:
        """Apply the source's blocks up to its head. Raises NodeError."""
        head = await self._head()
        while self.next <= head:
            for block in await self._blocks(self.next, min(BLOCKS_AT_ONCE, head + 1 - self.next)):
                if block.previous != self._kept.get(self.next - 1, (block.previous,))[0]:
                    await self._go_back()
                    break
                await self._apply(block)
                self.next += 1
            await trio.to_thread.run_sync(self._write_position)

    async def _go_back(self) -> None:
        """Go back to the first block that the source has replaced."""
        count, last = 0, self.next - 1
        if len(self._done) > TRANSACTIONS_KEPT:
            self._done.clear()
        for number in sorted(self._kept, reverse=True):
            [block] = await self._blocks(number, 1)
            known, transactions = self._kept[number]
            if block.id == known:
                break
            del self._kept[number]
            self._done |= transactions.keys()
            self.next, count = number, count + 1
            self._count(REPLACED, sum(transactions.values()))
        if not count:
            raise self._source.wrong("get_block", "previous", f"block {last + 1} doesn't follow block {last}")
        _log.warning("the source has switched to another fork", blocks=count, next_block=self.next)

    async def _head(self) -> int:
        props = "get_dynamic_global_properties"
        found = await self._source.first_of((f"database_api.{props}", {}), (f"condenser_api.{props}", []))
        number = found[1].get("head_block_number") if found is not None and isinstance(found[1], dict) else None
        if type(number) is not int:
            raise self._source.wrong(props, "head_block_number", "expected a number")
        return number

    async def _blocks(self, first: int, count: int) -> list[_Block]:
        """Return blocks of the source."""
        is_legacy = not await self._source.has("block_api.get_block")
        numbers = range(first, first + count)
        if is_legacy:
            calls: list[tuple[str, Any]] = [("condenser_api.get_block", [number]) for number in numbers]
        else:
            calls = [("block_api.get_block", {"block_num": number}) for number in numbers]
        found = []
        for (method, _), reply in zip(calls, await self._source.batch(calls), strict=True):
            block = reply.get("block", reply) if isinstance(reply, dict) else None
            transactions = block.get("transactions") if isinstance(block, dict) else None
            if not isinstance(block, dict) or not isinstance(transactions, list):
                raise self._source.wrong(method, "transactions", "expected a list")
            read = [_Transaction(self._operations(trx, is_legacy), digest(trx)) for trx in transactions[:TRANSACTIONS_MAX]]
            previous, block_id = (str(shown) if is_id(shown := block.get(name)) else "" for name in ("previous", "block_id"))
            found.append(_Block(previous, block_id, read))
        return found

    def _operations(self, trx: Any, is_legacy: bool) -> tuple[Operation, ...] | int:
        operations = trx.get("operations") if isinstance(trx, dict) else None
        if not isinstance(operations, list) or len(operations) > OPERATIONS_MAX:
            return 1
        parse = self._chain.state.wire.codecs.parser(OPERATION, is_legacy)
        try:
            return tuple([parse(operation) for operation in operations])
        except ChainError:
            return len(operations)

    async def _apply(self, block: _Block) -> None:
        if block.id:
            counts = {trx.digest: trx.operations if isinstance(trx.operations, int) else len(trx.operations) for trx in block.transactions}
            self._kept[self.next] = block.id, counts
            while len(self._kept) > BLOCKS_KEPT or sum(len(counts) for _, counts in self._kept.values()) > TRANSACTIONS_KEPT:
                del self._kept[min(self._kept)]
        for trx in block.transactions:
            operations = trx.operations
            if trx.digest in self._done:
                continue
            if isinstance(operations, int):
                self._count(UNREADABLE, operations)
            elif operations:
                self._count(await self._push(operations), len(operations))
            await trio.lowlevel.checkpoint()

    async def _push(self, operations: tuple[Operation, ...]) -> str:
        """Push a transaction of these operations. Return whether it was applied, or why not."""
        if not all(is_here(self._chain.state, key) for key in needed(operations)):
            return ABSENT
        state = self._chain.state
        trx = signed_transaction(state, operations, {}, len(self._chain.pending))
        await self._processor.in_turn(lambda: state.impersonated.accept(trx.id))
        try:
            await self._processor.push_transaction(trx, LOCAL)
        except (PushFailed, Refused):
            state.impersonated.accepted.pop(trx.id, None)
            return REFUSED
        return APPLIED

    def _count(self, reason: str, operations: int) -> None:
        self._fork.mirrored[reason] = self._fork.mirrored.get(reason, 0) + operations

    def _read_position(self) -> int:
        if self._position is None or self._disk is None or not self._disk.exists(self._position):
            return 0
        try:
            return msgspec.json.decode(read_whole(self._disk, self._position, POSITION_SIZE_MAX), type=int)
        except (OSError, msgspec.MsgspecError):
            return 0

    def _write_position(self) -> None:
        if self._position is not None and self._disk is not None:
            try:
                with written_whole(self._disk, self._position) as file:
                    file.write(msgspec.json.encode(self.next), 0)
            except OSError as error:
                _log.warning("the number of the next block can't be written", path=str(self._position), reason=error.strerror)


def digest(value: Any) -> bytes:
    """Return a digest of a JSON value."""
    return sha256(encoded(value)).digest()


def needed(operations: Sequence[Operation]) -> list[Key]:
    """Return the keys that the fork must have, so that operations have the same effect as on the source."""
    return [key for key in dict.fromkeys(named_by_transaction(operations)) if not isinstance(key, (NewKey, SignerKey))]
