"""Applies blocks of a source to a chain, one after another. It must not know what the chain is used for afterwards."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from itertools import islice

import trio
from msgspec import Struct

from node.failures import FileError, NodeError, Status
from node.memory import keep_what_is_loaded
from node.progress import Progress
from node.recovering.ahead import Ahead
from node.storage.sources import BlockSource
from state.chain.chain import Chain
from state.chain.middle import begin_block
from state.chain.skip import TRUSTED, Skip
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedBlock

BLOCKS_BETWEEN_KEEPS = 1000
SLICE_SECONDS = 0.05
PIPED_BLOCKS = 64  # that are read from a pipe at a time, in a thread

# For blocks that this node has checked before it wrote them. The merkle root is compared all the same, since damage to the file
# shows there; the limit of missed blocks is lifted, since blocks after a long gap were accepted once.
TRUST_OWN = (TRUSTED | Skip.UNDO_HISTORY_CHECK) & ~Skip.MERKLE_CHECK


class Point(Struct, frozen=True):
    """A moment of a chain: after a block, or, with `transactions`, in the middle of it, after so many of its transactions."""

    block: int
    transactions: int | None = None

    def __str__(self) -> str:
        """Return it as `--until` takes it."""
        return str(self.block) if self.transactions is None else f"{self.block}:{self.transactions}"


class BlockRefused(NodeError):
    """A block of a file can't be applied: its `number`, and the `reason` in the chain's spelling."""

    STATUS = Status.DAMAGED

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(f"block {number}: {reason}")
        self.number, self.reason = number, reason


async def replay(
    chain: Chain,
    blocks: BlockSource,
    progress: Progress,
    *,
    skip: int = Skip.NOTHING,
    until: Point | int | None = None,
    signed: tuple[int, ...] = (),
    stop: trio.Event | None = None,
    workers: int = 0,
    checkpoints: Mapping[int, bytes] | None = None,
    after: Callable[[], Awaitable[None] | None] = lambda: None,
) -> bool:
    """Apply blocks up to `until`; returns False when `stop` was set, True at the end of the blocks as well. Raises BlockRefused.

    The signatures of the blocks `signed` are checked whatever `skip` says: no later block confirms that of the last one, and that of
    block 1 shows whose chain it is. `checkpoints` are the ids that blocks must have, by number. `after` is called after each
    block, and awaited if it has something to wait for.
    Other tasks get their turn every SLICE_SECONDS. The source is closed in every case. Where signatures are checked, so many `workers`
    recover their keys ahead.
    """
    end = Point(until) if isinstance(until, int) else until
    pause = trio.current_time() + SLICE_SECONDS
    ahead = Ahead(blocks, chain.state.wire, workers, skip)
    push = partial(ahead.push, chain)
    checkpoints = checkpoints or {}
    is_first = True
    try:
        async with aclosing(each(ahead, blocks.is_pipe, stop)) as following:
            async for block in following:
                if is_first:
                    progress.begin(block.number, blocks.position if chain.state.props.head_block_number else 0)
                    is_first = False
                if end is not None and block.number > end.block:
                    break
                checked = skip & ~Skip.WITNESS_SIGNATURE if block.number in signed else skip
                if end is not None and end.transactions is not None and block.number == end.block:
                    apply(chain, block, checked, partial(begin, chain, end.transactions), checkpoints)
                    break
                apply(chain, block, checked, push, checkpoints)
                progress.count(block.number, len(block.transactions), blocks.position)
                if progress.blocks % BLOCKS_BETWEEN_KEEPS == 0:
                    keep_what_is_loaded()
                if (waiting := after()) is not None:
                    await waiting
                if trio.current_time() > pause:
                    await trio.lowlevel.checkpoint()
                    pause = trio.current_time() + SLICE_SECONDS
                    if stop is not None and stop.is_set():
                        return False
        return stop is None or not stop.is_set()
    except FileError as error:
        raise BlockRefused(chain.state.props.head_block_number + 1, str(error)) from None
    finally:
        ahead.close()
        blocks.close()
        progress.close()
        keep_what_is_loaded()


def begin(chain: Chain, count: int, block: SignedBlock, skip: int) -> None:
    """Put a chain into the middle of the next block, after `count` transactions. Raises NodeError when it has fewer."""
    if count > len(block.transactions):
        raise NodeError(f"--until {block.number}:{count}: block {block.number} has {len(block.transactions)} transactions")
    begin_block(chain, block, count, skip)


async def each(ahead: Ahead, is_pipe: bool, stop: trio.Event | None) -> AsyncGenerator[SignedBlock, None]:
    """Yield blocks. Those of a pipe are read in a thread, since it may take any time until there are some; `stop` ends that."""
    if not is_pipe:
        for block in ahead:
            yield block
        return
    following = iter(ahead)
    while some := await unless(stop, lambda: list(islice(following, PIPED_BLOCKS))):
        for block in some:
            yield block


async def unless(stop: trio.Event | None, work: Callable[[], list[SignedBlock]]) -> list[SignedBlock]:
    """Return what work in a thread returns, nothing when `stop` is set before."""
    found: list[SignedBlock] = []
    async with trio.open_nursery() as nursery:

        async def give_up(event: trio.Event) -> None:
            await event.wait()
            nursery.cancel_scope.cancel()

        if stop is not None:
            nursery.start_soon(give_up, stop)
        found = await trio.to_thread.run_sync(work, abandon_on_cancel=True)
        nursery.cancel_scope.cancel()
    return found


def apply(
    chain: Chain, block: SignedBlock, skip: int, push: Callable[[SignedBlock, int], object], checkpoints: Mapping[int, bytes]
) -> None:
    """Apply the block that must be the next one, by `push`."""
    props = chain.state.props
    head = props.head_block_number
    expected = checkpoints.get(block.number)
    if expected is not None and block.id != expected:
        raise BlockRefused(block.number, f"is {block.id.hex()}, and the checkpoint says {expected.hex()}")
    if block.previous != props.head_block_id:
        reason = f"doesn't follow the head, block {head} ({props.head_block_id.hex()})"
        if block.number > head + 1:
            what = f"a snapshot of block {block.number - 1} (--from), or files with the blocks from {head + 1} on"
            reason += f"; blocks that begin with number {block.number} need {what}"
        raise BlockRefused(block.number, reason)
    try:
        push(block, skip)
    except ChainError as error:
        raise BlockRefused(block.number, error.message(chain.state.spec.spell)) from error
    except Exception as error:
        error.add_note(f"while block {block.number} was applied")
        raise
