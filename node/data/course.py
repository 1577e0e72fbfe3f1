"""A chain that is led through the blocks of a source, from genesis or from a snapshot. It knows neither rows nor calls."""

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from functools import partial
from pathlib import Path

import state.operations  # noqa: F401 - blocks can't be read before all operations are declared
from node.data.errors import BeyondEnd, DataError, RefusedBlock, as_data_errors
from node.plugins import chosen_plugins
from node.replay import TRUST_OWN
from node.replaying.recognising import FIRST_BLOCKS, chains_of
from node.snapshots.file import SnapshotError
from node.snapshots.folder import block_of, folder_of, load, paths
from node.storage.blockfile import SYSTEM
from node.storage.edits import EDITS_NAME
from node.storage.sources import STANDARD_INPUT, BlockSource, OlderBlocks, open_source
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.skip import Skip
from state.plugins.registry import enable
from state.protocol.errors import ChainError
from state.protocol.spec import ChainSpec
from state.protocol.transaction import SignedBlock

FIRST_SIGNED = TRUST_OWN & ~Skip.WITNESS_SIGNATURE  # the signature of block 1 shows whose chain it is


class Course:
    """A chain, and the blocks of a source that come after its head.

    The chain is at genesis or, of a data folder with snapshots, at the newest one that isn't after block `latest`. With `has_all` the
    blocks that are applied can be read again later: from a block log where they are in one, else from memory.
    """

    def __init__(
        self, path: Path, spec: ChainSpec, plugins: Iterable[str] | None, *, latest: int | None, is_checked: bool, has_all: bool
    ) -> None:
        self.path, self.is_checked = path, is_checked
        with as_data_errors():
            # Given ones stand in place of the spec's.
            self.plugins = chosen_plugins(spec) if plugins is None else chosen_plugins(spec, plugins, set(spec.plugins) - set(plugins))
        self.chain = chain = Chain(new_state(spec, partial(enable, names=self.plugins)))
        require_unedited(path)
        self._older = OlderBlocks(path, chain.state.wire)
        self._start(latest)
        head = chain.state.props.head_block_number
        with as_data_errors():
            self._source: BlockSource = open_source(path, chain.state.wire, head + 1)
        if self._source.last and self._older.find(self._source.last) is not None:
            chain.settled.keep_in(self._older.find, lambda: chain.state.props.head_block_number)
        elif not has_all:
            chain.settled.keep_in(Recent(chain).find, lambda: chain.state.props.head_block_number)
        self._blocks = each(self._source)

    @property
    def last(self) -> int:
        """The number of the last block of the source, 0 where that can't be found without reading everything."""
        return self._source.last

    def blocks(self) -> Iterator[SignedBlock]:
        """Yield the blocks that come after the head; each must be applied before the next. Raises UnreadableBlocks."""
        with as_data_errors():
            # Not `yield from`, which would end the reading with whoever stops asking.
            for block in self._blocks:  # noqa: UP028
                yield block

    def apply(self, block: SignedBlock) -> None:
        """Apply the block that follows the head. Raises RefusedBlock."""
        props = self.chain.state.props
        number, head = block.number, props.head_block_number
        if block.previous != props.head_block_id:
            reason = f"doesn't follow block {head} ({props.head_block_id.hex()})"
            if number > head + 1:
                reason += f"; blocks that begin with number {number} need those before, or a data folder with a snapshot"
            raise RefusedBlock(number, reason)
        try:
            self.chain.push_block(block, self.skip(number))
        except ChainError as error:
            raise self.refused(number, error) from error

    def skip(self, number: int) -> int:
        """Return the flags of the checks that are left out of a block."""
        return Skip.NOTHING if self.is_checked else FIRST_SIGNED if number == 1 else TRUST_OWN

    def refused(self, number: int, error: ChainError) -> RefusedBlock:
        """Return the error for a block that the chain refuses."""
        spec = self.chain.state.spec
        reason = error.message(spec.spell)
        if number <= FIRST_BLOCKS and self.path != STANDARD_INPUT:
            if found := chains_of(self.path, number, spec.name):
                reason += f"; the blocks are of the chain {' or '.join(found)}, not of {spec.name}"
        return RefusedBlock(number, reason)

    def lead_to(self, number: int) -> None:
        """Apply blocks up to a number. Raises BeyondEnd, RefusedBlock, UnreadableBlocks."""
        props = self.chain.state.props
        if self.last and number > self.last:
            raise BeyondEnd(number, self.last)
        if number > props.head_block_number:
            for block in self.blocks():
                self.apply(block)
                if block.number == number:
                    return
            raise BeyondEnd(number, props.head_block_number)

    def following(self) -> SignedBlock:
        """Return the block that follows the head. Raises BeyondEnd."""
        for block in self.blocks():
            return block
        head = self.chain.state.props.head_block_number
        raise BeyondEnd(head + 1, head)

    def stop(self) -> None:
        """Close the source; older blocks can be read on."""
        self._blocks.close()
        self._source.close()

    def close(self) -> None:
        """Close all files; the chain stays."""
        self.stop()
        self._older.close()

    def _start(self, latest: int | None) -> None:
        """Put the chain where a snapshot was taken, if the source is a data folder that has one which fits."""
        if not self.path.is_dir():
            return
        with as_data_errors():
            found = paths(folder_of(self.path), SYSTEM)
        for path in found:
            if latest is not None and block_of(path) > latest:
                continue
            try:
                if not self._has(path):
                    continue
                loaded = load(self.chain, path, SYSTEM, self._older.find, is_ours=True)
            except (SnapshotError, ChainError):
                continue  # of other plugins or rules, or damaged: an earlier one, or genesis, leads to the same state
            for deferred in loaded.left:
                deferred.finish()
            return

    def _has(self, path: Path) -> bool:
        """Whether the block that a snapshot was taken at, as its name says, is in the block log."""
        packed = self._older.find(block_of(path))
        return packed is not None and self.chain.state.wire.unpack_block(packed)[0].id.hex() == path.name[11:51]


def each(source: BlockSource) -> Generator[SignedBlock, None, None]:
    """Yield the blocks of a source, whoever asks for them, until it is closed."""
    yield from source


class Recent:
    """The last irreversible block of a chain: rules ask for no older one, and all together would fill the memory."""

    def __init__(self, chain: Chain) -> None:
        self._chain, self._blocks = chain, deque[SignedBlock]()
        chain.state.listeners.before_block.append(lambda _, block: self._blocks.append(block))

    def find(self, number: int) -> bytes | None:
        """Return an irreversible block as bytes, if it is the last one."""
        blocks = self._blocks
        while blocks and blocks[0].number < self._chain.irreversible:
            blocks.popleft()
        return self._chain.state.wire.pack_block(blocks[0]) if blocks and blocks[0].number == number else None


def require_unedited(path: Path) -> None:
    """Raise DataError for a data folder whose chain was changed by hand, which its blocks don't show."""
    if path.is_dir() and (path / EDITS_NAME).exists():
        raise DataError(f"{path}: the chain was changed by hand, and its blocks alone don't lead to its state; ask a node in the folder")
