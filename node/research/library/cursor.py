"""A chain that is led through the blocks of a source, from genesis or from a snapshot, with the errors of the library."""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import state.operations  # noqa: F401 - blocks can't be read before all operations are declared
from node.history.apply import TRUST_OWN, BlockRefused, ChainCursor, keep_last_block_only
from node.history.detect_chain import chains_of
from node.history.resume import resume
from node.history.sources import OlderBlocks, open_source
from node.research.errors import BeyondEnd, DataError, RefusedBlock, as_data_errors
from node.snapshots.folder import folder_of
from node.specs.plugins import chosen_plugins
from node.storage.blockfile import SYSTEM
from node.storage.edit_log import EDITS_NAME
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.skip import Skip
from state.plugins.registry import enable
from state.protocol.spec import ChainSpec
from state.protocol.transaction import SignedBlock


class DataCursor:
    """A chain, and the blocks of a source that come after its head.

    The chain is at genesis or, of a data folder with snapshots, at the newest one that isn't after block `latest`. With `has_all` the
    blocks that are applied can be read again later: from a block log where they are in one, else from memory.
    """

    def __init__(
        self, path: Path, spec: ChainSpec, plugins: Iterable[str] | None, *, latest: int | None, is_checked: bool, has_all: bool
    ) -> None:
        self.path = path
        with as_data_errors():
            # Given ones stand in place of the spec's.
            self.plugins = chosen_plugins(spec) if plugins is None else chosen_plugins(spec, plugins, set(spec.plugins) - set(plugins))
        self.chain = chain = Chain(new_state(spec, partial(enable, names=self.plugins)))
        require_unedited(path)
        self._older = OlderBlocks(path, chain.state.wire)
        with as_data_errors():
            folder = folder_of(path)
            if path.is_dir() and (found := resume(chain, folder, SYSTEM, self._older.find, latest=latest, is_owner=False)):
                found.finish()
            source = open_source(path, chain.state.wire, chain.state.props.head_block_number + 1)
        if source.last and self._older.find(source.last) is not None:
            chain.irreversible_blocks.attach_log(self._older.find, lambda: chain.state.props.head_block_number)
        elif not has_all:
            keep_last_block_only(chain)
        self._cursor = ChainCursor(chain, source, skip_flags=Skip.NOTHING if is_checked else TRUST_OWN, signed=(1,))

    def blocks(self) -> Iterator[SignedBlock]:
        """Yield the blocks that come after the head; each must be applied before the next. Raises UnreadableBlocks."""
        with as_data_errors():
            # Not `yield from`, which would end the reading with whoever stops asking.
            for block in self._cursor.blocks:  # noqa: UP028
                yield block

    def apply(self, block: SignedBlock, transactions: int | None = None) -> None:
        """Apply the block that follows the head, or only its first `transactions`. Raises RefusedBlock."""
        try:
            self._cursor.apply(block, transactions)
        except BlockRefused as error:
            name = self.chain.state.spec.name
            found = chains_of(self.path, error.number, name)
            more = f"; the blocks are of the chain {' or '.join(found)}, not of {name}" if found else ""
            raise RefusedBlock(error.number, error.reason + more) from error

    def lead_to(self, number: int) -> None:
        """Apply blocks up to a number. Raises BeyondEnd, RefusedBlock, UnreadableBlocks."""
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
        """Return the block that follows the head. Raises BeyondEnd."""
        for block in self.blocks():
            return block
        head = self.chain.state.props.head_block_number
        raise BeyondEnd(head + 1, head)

    def stop(self) -> None:
        """Close the source; older blocks can be read on."""
        self._cursor.close()

    def close(self) -> None:
        """Close all files; the chain stays."""
        self.stop()
        self._older.close()


def require_unedited(path: Path) -> None:
    """Raise DataError for a data folder whose chain was changed by hand, which its blocks don't show."""
    if path.is_dir() and (path / EDITS_NAME).exists():
        raise DataError(f"{path}: the chain was changed by hand, and its blocks alone don't lead to its state; ask a node in the folder")
