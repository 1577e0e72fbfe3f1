"""Applies the blocks of a source to a chain: on startup of a node, and for replays, exports and the library."""

import re
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Mapping
from contextlib import aclosing, suppress
from itertools import islice
from typing import Self

import trio
from msgspec import Struct

from node.history.sources import BlockSource, OlderBlocks
from node.key_recovery.block_prefetcher import BlockPrefetcher
from node.runtime.errors import FileError, NodeError, Status
from node.runtime.memory import freeze_loaded_objects
from node.runtime.progress import Progress
from node.runtime.shutdown import cancelled_by
from state.chain.chain import Chain
from state.chain.partial_block import apply_partial_block
from state.chain.skip import TRUSTED, Skip
from state.protocol.errors import ChainError, UnreadableBlock
from state.protocol.transaction import SignedBlock
from state.protocol.values.integers import WORD32
from state.tables import State

BLOCKS_BETWEEN_FREEZES = 1000
SLICE_SECONDS = 0.05
PIPED_BLOCKS = 64  # read from a pipe at a time, in a thread

# For blocks that this node checked before it wrote them. The Merkle root is still compared, to detect damage to the file. The limit of
# missed blocks is lifted, because blocks after a long gap were accepted before.
TRUST_OWN = (TRUSTED | Skip.UNDO_HISTORY_CHECK) & ~Skip.MERKLE_CHECK

_POINT = re.compile(r"([0-9]{1,10})(?::([0-9]{1,10}))?", re.ASCII)


class BlockPoint(Struct, frozen=True):
    """A position in a chain: after a block or, with `transactions`, inside a block after that number of its transactions."""

    block: int
    transactions: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Parse `N` or `N:T`. Return None for any other string."""
        found = _POINT.fullmatch(text)
        if found is None or int(found[1]) >= WORD32 or (found[2] and not int(found[1])):
            return None
        return cls(int(found[1]), None if found[2] is None else int(found[2]))

    @property
    def whole_blocks(self) -> int:
        """The number of blocks that are applied completely."""
        return self.block - (self.transactions is not None)

    def __str__(self) -> str:
        return str(self.block) if self.transactions is None else f"{self.block}:{self.transactions}"


class BlockRefused(NodeError):
    """Error for a block of a file that can't be applied. `number` is the block's number, `reason` the chain's error message."""

    STATUS = Status.DAMAGED

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(f"block {number}: {reason}")
        self.number, self.reason = number, reason


class ChainCursor:
    """A chain, and the blocks of a source after the chain's head (`blocks`). The caller must apply each block before reading the next.

    `skip_flags` are the checks to skip. The witness signatures of the blocks numbered in `signed` are checked in any case, because no later
    block confirms the last block, and the signature of block 1 identifies the chain. If the chain's first block has no signature,
    `skip_flags` apply to it, too. Blocks up to `trusted` were checked before.
    `checkpoints` maps block numbers to required block ids. If signatures are checked, `workers` processes recover the keys in advance.
    """

    def __init__(
        self,
        chain: Chain,
        source: BlockSource,
        *,
        skip_flags: int = Skip.NOTHING,
        signed: Container[int] = (),
        trusted: int = 0,
        checkpoints: Mapping[int, bytes] | None = None,
        workers: int = 0,
    ) -> None:
        self.chain, self.source = chain, source
        self._skip, self._signed, self._trusted, self._checkpoints = skip_flags, signed, trusted, checkpoints or {}
        self._ahead = BlockPrefetcher(source, chain.state.wire, workers, skip_flags, trusted=trusted)
        # A single iterator: after a loop that ends early, the next loop continues with the remaining blocks.
        self.blocks = iter(self._ahead)

    def apply(self, block: SignedBlock, transactions: int | None = None) -> None:
        """Apply the next block, or only its first `transactions` transactions. Raises BlockRefused."""
        chain, number = self.chain, block.number
        self._require_next(block)
        skip = self._skip if number > self._trusted else TRUSTED
        if number in self._signed and (number != chain.base + 1 or any(block.witness_signature)):
            skip &= ~Skip.WITNESS_SIGNATURE
        try:
            if transactions is None:
                self._ahead.push(chain, block, skip)
            else:
                apply_partial_block(chain, block, transactions, skip)
        except ChainError as error:
            name, reason = chain.state.spec.name, error.message(chain.state.spec.spell)
            if number == 1 and self.source.is_pipe:  # the chain of other sources is compared before (`detect_chain`)
                reason += f"; the blocks may be of another chain than {name}: name theirs with --chain"
            elif chain.state.witnesses.by_name.get(block.witness) is None:
                # A data folder has the number of --witnesses, blocks alone don't.
                reason += f"; {name} has no witness {block.witness}: give a spec with all witnesses by --chain (genesis.witnesses)"
            raise BlockRefused(number, reason) from error
        except UnreadableBlock as error:
            raise FileError(f"block {number} can't be applied: {error}") from None
        except Exception as error:
            error.add_note(f"while block {number} was applied")
            raise

    def _require_next(self, block: SignedBlock) -> None:
        props, number = self.chain.state.props, block.number
        expected = self._checkpoints.get(number)
        if expected is not None and block.id != expected:
            raise BlockRefused(number, f"is {block.id.hex()}, and the checkpoint says {expected.hex()}")
        if block.previous != props.head_block_id:
            head = props.head_block_number
            reason = f"doesn't follow the head, block {head} ({props.head_block_id.hex()})"
            if number > head + 1:
                what = f"a snapshot of block {number - 1} (--from, or in a data folder), or files with the blocks from {head + 1} on"
                reason += f"; blocks that begin with number {number} need {what}"
            raise BlockRefused(number, reason)

    def close(self) -> None:
        """Close the source, end the iterator `blocks`, and stop the worker processes."""
        with suppress(ValueError):  # raised while a thread waits for a block of a pipe
            self.blocks.close()
        self._ahead.close()
        self.source.close()


async def replay(
    cursor: ChainCursor,
    progress: Progress | None = None,
    *,
    until: BlockPoint | int | None = None,
    stop: trio.Event | None = None,
    after: Callable[[], Awaitable[None] | None] = lambda: None,
) -> bool:
    """Apply the remaining blocks, or only the blocks up to `until`. Return False if `stop` was set. Raises BlockRefused.

    `after` is called after each block. If it returns an awaitable, the replay awaits it. For the other parameters see `paced`.
    """
    end = BlockPoint(until) if isinstance(until, int) else until
    async with aclosing(paced(cursor, progress, stop)) as blocks:
        async for block in blocks:
            if end is not None and block.number >= end.block:
                if block.number > end.block:
                    break
                if (count := end.transactions) is not None:
                    if count > len(block.transactions):
                        raise NodeError(f"--until {end}: block {block.number} has {len(block.transactions)} transactions")
                    cursor.apply(block, count)
                    break
            cursor.apply(block)
            if (waiting := after()) is not None:
                await waiting
    return stop is None or not stop.is_set()


async def paced(cursor: ChainCursor, progress: Progress | None = None, stop: trio.Event | None = None) -> AsyncGenerator[SignedBlock, None]:
    """Yield the blocks of a cursor until `stop` is set. The caller must apply each block before reading the next. Raises BlockRefused.

    Other tasks run every SLICE_SECONDS. The cursor is closed when the generator ends, so callers must wrap the generator in `aclosing`.
    """
    chain, source = cursor.chain, cursor.source
    progress = progress or Progress(source.size, source.last)
    stop = trio.Event() if stop is None else stop
    pause = trio.current_time() + SLICE_SECONDS
    is_first = True
    try:
        async with aclosing(each(cursor, stop)) as following:
            async for block in following:
                if is_first:
                    progress.begin(block.number, source.position if chain.state.props.head_block_number else 0)
                    is_first = False
                yield block
                progress.count(block.number, len(block.transactions), source.position)
                if progress.blocks % BLOCKS_BETWEEN_FREEZES == 0:
                    freeze_loaded_objects()
                if trio.current_time() > pause:
                    await trio.lowlevel.checkpoint()
                    pause = trio.current_time() + SLICE_SECONDS
                    if stop.is_set():
                        return
    except FileError as error:
        raise BlockRefused(chain.state.props.head_block_number + 1, str(error)) from None
    finally:
        cursor.close()
        progress.close()
        freeze_loaded_objects()


async def each(cursor: ChainCursor, stop: trio.Event) -> AsyncGenerator[SignedBlock, None]:
    """Yield the blocks of a cursor until `stop` is set. A pipe is read in a thread, because reading can block indefinitely."""

    def read() -> tuple[list[SignedBlock], FileError | None]:
        some: list[SignedBlock] = []
        try:
            for block in islice(cursor.blocks, PIPED_BLOCKS):
                some.append(block)
        except FileError as error:
            return some, error
        return some, None

    if not cursor.source.is_pipe:
        for block in cursor.blocks:
            yield block
        return
    some, error = [SignedBlock()], None
    while some and error is None:
        some = []
        async with cancelled_by(stop):
            some, error = await trio.to_thread.run_sync(read, abandon_on_cancel=True)
        for block in some:
            yield block
    if error is not None:
        raise error


def attach_source(chain: Chain, source: BlockSource, older: OlderBlocks) -> Callable[[], None] | None:
    """Let a chain read irreversible blocks from the file that it replays, instead of holding them in memory.

    Return a function to call before the chain gets other blocks than those of the file. Return None if the file can't be read at any place,
    for example because it is compressed.
    """
    if not source.last or older.packed(source.last) is None:
        return None
    state = chain.state
    last: int | None = None  # the last block to be read from the file; None: no limit

    def note(_: State, block: SignedBlock) -> None:
        # The file has other bytes than those from which the chain's plugins compute positions.
        if not block.packed and last is None:
            limit(block.number - 1)

    def limit(number: int) -> None:
        nonlocal last
        last = number if last is None else min(last, number)

    state.listeners.before_block.append(note)
    chain.irreversible_blocks.attach_log(
        older.packed, lambda: state.props.head_block_number if last is None else last, older.part, is_own=False
    )
    return lambda: limit(chain.irreversible)


def keep_last_block_only(chain: Chain) -> None:
    """Make a chain drop all irreversible blocks but the last from memory. No rule needs the earlier ones."""
    state = chain.state
    blocks = deque[SignedBlock](() if chain.head is None else (chain.head,))

    def add(_: State, block: SignedBlock) -> None:
        while blocks and blocks[-1].number >= block.number:  # undone since
            blocks.pop()
        while blocks and blocks[0].number < chain.irreversible:
            blocks.popleft()
        blocks.append(block)

    def find(number: int) -> bytes | None:
        return next((state.wire.pack_block(block) for block in blocks if block.number == number), None)

    state.listeners.before_block.append(add)
    chain.irreversible_blocks.attach_log(find, lambda: state.props.head_block_number, is_own=False, has_all=False)
