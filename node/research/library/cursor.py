"""Cursor that applies the blocks of a source to a chain, starting at genesis or at a snapshot. Raises the library's errors."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import state.operations  # noqa: F401 - blocks can't be read before all operations are declared
from node.history.apply import TRUST_OWN, BlockRefused, ChainCursor, attach_source, keep_last_block_only
from node.history.resume import resume
from node.history.sources import OlderBlocks, open_source
from node.research.errors import BeyondEnd, DataError, RefusedBlock, as_data_errors
from node.snapshots.base import new_chain
from node.snapshots.folder import folder_of
from node.specs.plugins import chosen_plugins
from node.storage.blockfile import SYSTEM
from node.storage.datafolder import fork_in
from node.storage.edit_log import EDITS_NAME
from state.chain.skip import Skip
from state.protocol.spec import ChainSpec
from state.protocol.transaction import SignedBlock


class DataCursor:
    """A chain, and the blocks of a source after its head.

    The chain starts at genesis or, for a data folder, at its newest snapshot up to block `latest`. With `has_all`, applied blocks can be
    read again: from the source if it is a block log, else from memory. With `is_edited`, the caller changes the blocks'
    transactions.
    """

    def __init__(
        self,
        path: Path,
        spec: ChainSpec,
        plugins: Iterable[str] | None,
        *,
        latest: int | None,
        is_checked: bool,
        has_all: bool,
        is_edited: bool = False,
    ) -> None:
        with as_data_errors():
            # The caller's plugins replace those of the spec.
            self.plugins = chosen_plugins(spec) if plugins is None else chosen_plugins(spec, plugins, set(spec.plugins) - set(plugins))
        with as_data_errors():
            self.chain = chain = new_chain(spec, fork_in(path), self.plugins)
        require_unedited(path)
        self._older = OlderBlocks(path)
        with as_data_errors():
            folder = folder_of(path)
            if path.is_dir() and (found := resume(chain, folder, SYSTEM, self._older.packed, latest=latest, is_owner=False)):
                found.finish()
            source = open_source(path, chain.state.wire, chain.state.props.head_block_number + 1)
        if (is_edited or not attach_source(chain, source, self._older)) and not has_all:
            keep_last_block_only(chain)
        skip_flags = Skip.NOTHING if is_checked else TRUST_OWN | (Skip.MERKLE_CHECK if is_edited else 0)
        self._cursor = ChainCursor(chain, source, skip_flags=skip_flags, signed=(chain.base + 1,))

    def blocks(self) -> Iterator[SignedBlock]:
        """Yield the blocks after the head. The caller must apply each block before reading the next. Raises UnreadableBlocks."""
        with as_data_errors():
            # Not `yield from`, which would close the source when this generator is closed.
            for block in self._cursor.blocks:  # noqa: UP028
                yield block

    def apply(self, block: SignedBlock, transactions: int | None = None) -> None:
        """Apply the block after the head, or only its first `transactions` transactions. Raises RefusedBlock."""
        try:
            self._cursor.apply(block, transactions)
        except BlockRefused as error:
            raise RefusedBlock(error.number, error.reason) from error

    def lead_to(self, number: int | None) -> None:
        """Apply blocks up to block `number`, or all blocks. Raises BeyondEnd, RefusedBlock, UnreadableBlocks."""
        if number is None:
            for block in self.blocks():
                self.apply(block)
            return
        props, last = self.chain.state.props, self._cursor.source.last
        if last and number > last:
            raise BeyondEnd(number, last)
        if number > props.head_block_number:
            for block in self.blocks():
                self.apply(block)
                if block.number == number:
                    return
            raise BeyondEnd(number, props.head_block_number)

    def following(self) -> SignedBlock:
        """Return the block after the head, without applying it. Raises BeyondEnd."""
        for block in self.blocks():
            return block
        head = self.chain.state.props.head_block_number
        raise BeyondEnd(head + 1, head)

    def stop(self) -> None:
        """Close the source. Blocks that were applied can still be read."""
        self._cursor.close()

    def close(self) -> None:
        """Close all files. The chain remains usable."""
        self.stop()
        self._older.close()


def require_unedited(path: Path) -> None:
    """Raise DataError for a data folder with state edits, because these are not in its blocks."""
    if path.is_dir() and (path / EDITS_NAME).exists():
        raise DataError(f"{path}: the chain has state edits, so its blocks alone don't lead to its state. Start a node in the folder.")
