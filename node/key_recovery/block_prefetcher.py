"""Reads blocks ahead, so that worker processes can recover the keys of their signatures.

If the keys of a block aren't ready in time, the chain recovers them itself.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from functools import partial

from msgspec import Struct

from node.key_recovery.pool import Batch, Pool
from rpc.log import Log
from state.chain.chain import Chain
from state.chain.skip import Skip
from state.protocol.errors import ChainError
from state.protocol.keys.records import ANSWER_SIZE, RECORD_SIZE
from state.protocol.recovered import forget_keys, keep_keys, records_of
from state.protocol.transaction import SignedBlock, Wire

# Limits of a batch. A process recovers 256 keys in 8 ms.
BATCH_RECORDS, BATCH_BLOCKS = 256, 64
# Limits of the read-ahead. Objects take about ten times the size of the bytes.
AHEAD_SIZE_MAX, AHEAD_BLOCKS_MAX = 1 << 20, 2048
# Records read before the processes start. Starting one takes as long as 1,500 recoveries.
RECORDS_BEFORE_START = 1000
# Maximum wait for a batch. Only the batch of a huge block takes as long; then the chain recovers the keys itself.
WAIT_SECONDS = 0.05

_log = Log("recovering")


class _Group(Struct, eq=False):
    """Blocks whose signature records form one batch, with the size of each block's records and the total size of the blocks, in bytes."""

    blocks: list[SignedBlock]
    record_sizes: list[int]
    block_size: int
    batch: Batch | None = None


class BlockPrefetcher:
    """Iterates over blocks, reading some of them ahead. If reading fails, the error is raised after the last block that was read.

    `workers` processes start once there is enough work, and end with `close`. None start if `skip_flags` leave signatures unchecked. The
    keys of blocks up to `trusted` are not recovered. The caller must push the blocks with `push`: if a block is refused, perhaps because of
    a wrong key, `push` retries it.
    """

    def __init__(
        self,
        blocks: Iterable[SignedBlock],
        wire: Wire,
        workers: int,
        skip_flags: int = Skip.NOTHING,
        new_pool: Callable[[int], Pool] | None = None,
        trusted: int = 0,
    ) -> None:
        self._blocks, self._wire, self._trusted = iter(blocks), wire, trusted
        self._workers = 0 if skip_flags & (Skip.TRANSACTION_SIGNATURES | Skip.AUTHORITY_CHECK) else workers
        self._pool: Pool | None = None
        self._new_pool = partial(new_pool or Pool, workers)
        self._records = 0
        self._groups: deque[_Group] = deque()
        self._error: Exception | None = None
        self._is_at_end = False

    def resume(self, blocks: Iterable[SignedBlock]) -> None:
        """Continue with other blocks, using the same processes. Blocks that were read ahead are dropped."""
        self._blocks, self._error, self._is_at_end = iter(blocks), None, False
        self._groups.clear()

    def close(self) -> None:
        """Stop the processes."""
        if self._pool is not None:
            self._pool.close()

    def __iter__(self) -> Generator[SignedBlock, None, None]:
        if not self._workers:
            yield from self._blocks
            return
        self._read_on()
        while self._groups:
            group = self._groups[0]
            keys = self._keys(group)
            at = 0
            for block, size in zip(group.blocks, group.record_sizes, strict=True):
                end = at + size // RECORD_SIZE * ANSWER_SIZE
                if keys is not None and size:
                    keep_keys(block, keys[at:end])
                at = end
                yield block
                # Read one more group per block. Reading all of them at once would block other tasks at the beginning.
                self._read_on()
            self._groups.popleft()
            self._read_on()
        if self._error is not None:
            raise self._error

    def push(self, chain: Chain, block: SignedBlock, skip_flags: int) -> None:
        """Push a block. If the block is refused with keys from the processes, push it again without these keys."""
        try:
            chain.push_block(block, skip_flags)
        except ChainError:
            if not forget_keys(block):
                raise
            chain.push_block(block, skip_flags)
            if self._pool is not None:
                self._pool.drop_all(f"block {block.number}, which is valid, was refused with its keys")

    def _keys(self, group: _Group) -> bytes | None:
        """Return the keys of a group of blocks, or None if they aren't ready in time."""
        if self._pool is None or group.batch is None:
            return None
        self._pool.wait(group.batch, WAIT_SECONDS if self._pool.is_warm else 0.0)
        return group.batch.keys

    def _read_on(self) -> None:
        """Read another group of blocks ahead if the limits allow it, and send its records to the processes."""
        if self._pool is not None:
            self._pool.exchange()
        if self._is_at_end or not self._has_room():
            return
        group, records = self._next_group()
        if not group.blocks:
            return
        self._groups.append(group)
        self._records += len(records) // RECORD_SIZE
        if self._pool is None and self._records >= RECORDS_BEFORE_START:
            self._pool = self._new_pool()
        if self._pool is not None and records:
            group.batch = self._pool.give(records)

    def _has_room(self) -> bool:
        size = sum([group.block_size for group in self._groups])
        return size < AHEAD_SIZE_MAX and sum([len(group.blocks) for group in self._groups]) < AHEAD_BLOCKS_MAX

    def _next_group(self) -> tuple[_Group, bytes]:
        """Return the next group of blocks, and its signature records in one string."""
        group, parts, count = _Group([], [], 0), [], 0
        while count < BATCH_RECORDS and len(group.blocks) < BATCH_BLOCKS:
            try:
                block = next(self._blocks, None)
            except Exception as error:  # raised when the next block is due
                self._error, block = error, None
            if block is None:
                self._is_at_end = True
                break
            records = records_of(self._wire, block) if block.number > self._trusted else b""
            group.blocks.append(block)
            group.record_sizes.append(len(records))
            group.block_size += block.size
            parts.append(records)
            count += len(records) // RECORD_SIZE
        return group, b"".join(parts)
