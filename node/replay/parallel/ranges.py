"""Ranges of a chain between its snapshots, and the verification of one range.

Workers receive only plain values: paths, names and numbers. The digest stored in a snapshot isn't trusted. The worker computes the digest
again at the start of the snapshot's range.
"""

import os
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import trio
from msgspec import Struct

from node.history.apply import ChainCursor, replay
from node.history.chain_detection import fitted, stored_variant
from node.history.sources import STANDARD_INPUT, OlderBlocks, is_pipe, open_source
from node.runtime.errors import FileError, NodeError
from node.runtime.progress import Progress
from node.snapshots.base import new_chain, read_base
from node.snapshots.file import Snapshot
from node.snapshots.folder import load, paths, require_rules
from node.specs.builder import load_spec
from node.storage.datafolder import fork_in
from node.storage.disk import SystemDisk
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.skip import TRUSTED, Skip
from state.protocol.spec import ChainSpec
from state.protocol.transaction import Wire

Report = Callable[[int], object]
"""Called with the current block number of a range."""


class RangeBoundary(Struct, frozen=True):
    """A snapshot between two ranges: its path, and the block number, the block id and the digest that its header contains."""

    path: str
    number: int
    block_id: str
    digest: str


class Range(Struct, frozen=True, kw_only=True):
    """Blocks from genesis or a snapshot up to the next snapshot or the last block, verified by one task."""

    source: str
    chain: str  # the name of the spec, or its file
    begin: RangeBoundary | None = None
    end: RangeBoundary | None = None
    is_trusted: bool = False  # skip signatures and authorities

    def __str__(self) -> str:
        """Return the block numbers of the range as text."""
        first = 1 if self.begin is None else self.begin.number + 1
        return f"blocks {first:,} to {f'{self.end.number:,}' if self.end else 'the end'}"


class RangeResult(Struct, frozen=True, kw_only=True):
    """Result of a range: its last block and the digest of the state there. `failure` is the reason of a failure, or "" for success.

    `is_state` means that the blocks were applied, but led to a state that differs from the snapshot.
    """

    number: int = 0
    block_id: str = ""
    digest: str = ""
    blocks: int = 0
    transactions: int = 0
    seconds: float = 0.0
    failure: str = ""
    is_state: bool = False


def ranges_of(source: Path, chain: str, snapshots: Path, *, is_trusted: bool) -> list[Range]:
    """Return the ranges between the snapshots of a folder in order. Their paths are absolute. Raises NodeError."""
    if source == STANDARD_INPUT:
        raise NodeError("--parallel reads the blocks in several processes. Give a file or a folder instead of -.")
    boundaries = [boundary_of(path.resolve()) for path in reversed(paths(snapshots, SystemDisk()))]
    if not boundaries:
        raise NodeError(f"{snapshots}: no snapshots. Make some: coind replay FILE --snapshots {snapshots} --snapshot-every N")
    chain = str(Path(chain).resolve()) if chain.endswith(".toml") else chain
    part = partial(Range, source=str(source.resolve()), chain=chain, is_trusted=is_trusted)
    return [part(begin=begin, end=end) for begin, end in zip([None, *boundaries], [*boundaries, None], strict=True)]


def belong_to(snapshots: Path, source: Path, spec: ChainSpec) -> bool:
    """Whether the newest snapshot of a folder was taken at a block of an uncompressed block log. Other sources would have to be read up to
    that block.
    """
    newest = next(iter(paths(snapshots, SystemDisk())), None)
    if newest is None or is_pipe(source):
        return False
    try:
        boundary = boundary_of(newest)
        with closing(open_source(source, Wire(spec), boundary.number)) as blocks:
            block = next(iter(blocks), None) if blocks.last else None
    except FileError:
        return False
    return block is not None and block.id.hex() == boundary.block_id


def boundary_of(path: Path) -> RangeBoundary:
    """Return the boundary that a snapshot file forms. Raises SnapshotError, also if it was made with other rules."""
    snapshot = Snapshot(path, SystemDisk())
    snapshot.close()
    require_rules(snapshot, "replay with another folder for snapshots")
    head = snapshot.head
    return RangeBoundary(str(path), head.number, head.block_id, head.digest)


def verify_range(part: Range, report: Report) -> RangeResult:
    """Replay the blocks of a range and compare the resulting state. A failure is returned in the result."""
    source = Path(part.source)
    chain = chain_of(part.chain, source)
    begun = time.monotonic()
    try:
        if part.begin is not None and (wrong := begin_at(chain, part, part.begin)):
            return RangeResult(number=part.begin.number, failure=wrong, is_state=True)
        done = trio.run(apply_blocks, chain, part, report)
    except NodeError as error:
        begin = 0 if part.begin is None else part.begin.number
        return RangeResult(number=max(begin, chain.state.props.head_block_number), failure=str(error))
    props = chain.state.props
    number, block_id, digest = props.head_block_number, props.head_block_id.hex(), state_digest(chain.state)
    failure = "" if part.end is None else difference(part.end, number, block_id, digest)
    return RangeResult(
        number=number,
        block_id=block_id,
        digest=digest,
        blocks=done.blocks,
        transactions=done.transactions,
        seconds=time.monotonic() - begun,
        failure=failure,
        is_state=bool(failure) and part.end is not None and number == part.end.number,
    )


def chain_of(name: str, source: Path) -> Chain:
    """Return a chain at its start: the chain with this spec, adapted to the blocks, or that of the fork file in their folder."""
    if (fork := fork_in(source)) is not None:
        return new_chain(read_base(fork), fork)
    return new_chain(fitted(stored_variant(load_spec(name), source), source))


def begin_at(chain: Chain, part: Range, boundary: RangeBoundary) -> str:
    """Load the snapshot at the start of a range. Return "" if its digest is right, else a description of the error. Raises NodeError."""
    load(chain, Path(boundary.path), SystemDisk(), OlderBlocks(Path(part.source)).packed).finish()
    digest = state_digest(chain.state)
    return "" if digest == boundary.digest else f"the state in {boundary.path} has the digest {digest}, not {boundary.digest} as it claims"


async def apply_blocks(chain: Chain, part: Range, report: Report) -> Progress:
    """Apply the blocks of a range. Raises NodeError."""
    try:
        blocks = open_source(Path(part.source), chain.state.wire, chain.state.props.head_block_number + 1)
    except FileError as error:
        raise NodeError(
            f"{error}. The path must lead to the same blocks on every machine of the cluster ({os.uname().nodename})."
        ) from None
    progress = Progress(blocks.size, blocks.last, report=report)
    skip = TRUSTED & ~Skip.MERKLE_CHECK if part.is_trusted else Skip.NOTHING
    await replay(
        ChainCursor(chain, blocks, skip_flags=skip, signed=(chain.base + 1,)), progress, until=None if part.end is None else part.end.number
    )
    report(chain.state.props.head_block_number)
    return progress


def difference(end: RangeBoundary, number: int, block_id: str, digest: str) -> str:
    """Describe the difference between a snapshot and the state that a replay has reached. Return "" if they are equal."""
    if number < end.number:
        return f"the blocks end with block {number}, before that of {end.path}"
    if block_id != end.block_id:
        return f"block {number} is {block_id}, but {end.path} was taken at {end.block_id}"
    if digest != end.digest:
        return f"the blocks lead to the state {digest}, but {end.path} has {end.digest}"
    return ""
