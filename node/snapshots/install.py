"""Installs a snapshot file in a data folder. If the folder has no blocks, the snapshot's blocks are installed too."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from node.runtime.errors import DiskError, NodeError
from node.snapshots.file import IncompatibleSnapshot, Snapshot
from node.snapshots.folder import BLOCKS, folder_of, name_of, require_in_log
from node.storage.datafolder import DataFolder
from node.storage.disk import Disk, write_part, written_whole
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.protocol.errors import ChainError
from state.protocol.spec import ChainSpec
from state.protocol.transaction import SignedBlock, Wire


def install(file: Path, data: Path, spec: ChainSpec, disk: Disk) -> Path:
    """Copy a snapshot into a data folder, and return its path there. Raises NodeError, in which case the folder is unchanged."""
    chain = Chain(new_state(spec))
    folder = DataFolder(data, spec, chain.state.wire)
    snapshot = Snapshot(file, disk)
    try:
        head = snapshot.head
        if not len(folder.log):
            if not snapshot.has(BLOCKS):
                raise IncompatibleSnapshot(
                    f"{file}: has no blocks, and {folder.log.path} is empty; save it --with-blocks, or copy a block_log there"
                )
            import_blocks(folder, snapshot, chain.state.wire)
        require_in_log(file, head.number, head.block_id, chain, folder.log.packed)
        if not folder.is_verified:
            raise NodeError(f"{folder.log.path}: its blocks have not been checked; start a node in the folder once")
        path = folder_of(data) / name_of(head)
        disk.make_folder(path.parent)
        with closing(disk.open_to_read(file)) as source, written_whole(disk, path) as copy:
            write_part(source, 0, copy)
    except OSError as error:
        raise DiskError(f"{error.filename or data}: {error.strerror}") from None
    finally:
        snapshot.close()
        folder.close()
    return path


def import_blocks(folder: DataFolder, snapshot: Snapshot, wire: Wire) -> None:
    """Write the blocks of a snapshot to an empty block log. They must form a chain that ends with the snapshot's block.

    The blocks are read twice, so that all of them are checked before the first is written.
    """
    for is_writing in (False, True):
        last_id = wire.spec.base.block_id
        for block in blocks_of(snapshot, wire):
            if block.previous != last_id:
                raise IncompatibleSnapshot(f"{snapshot.path}: its block {block.number} doesn't follow the one before")
            last_id = block.id
            if is_writing:
                folder.log.append(block)
        if last_id.hex() != snapshot.head.block_id:
            raise IncompatibleSnapshot(f"{snapshot.path}: its blocks don't end with block {snapshot.head.number}")
    folder.log.sync()


def blocks_of(snapshot: Snapshot, wire: Wire) -> Iterator[SignedBlock]:
    """Yield the blocks in a snapshot. Raises IncompatibleSnapshot."""
    for chunk in snapshot.chunks(BLOCKS):
        at = 0
        while at < len(chunk):
            try:
                block, at = wire.unpack_block(chunk, at)
            except ChainError as error:
                raise IncompatibleSnapshot(f"{snapshot.path}: a block can't be read: {error.message(wire.spec.spell)}") from None
            yield block
