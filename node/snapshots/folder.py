"""The folder `snapshots` of a data folder: saves, loads and removes snapshots, and renames corrupt ones.

A file has a temporary name until it is complete and synced. What a kill or a power loss leaves behind is therefore never mistaken for a
snapshot.
"""

import re
from collections.abc import Iterator
from contextlib import closing
from itertools import chain as joined
from itertools import islice
from pathlib import Path

from msgspec import MsgspecError, Struct

from node.runtime import former_chains
from node.runtime.child_chunks import chunks_of_children
from node.runtime.forked_child import ChildFailed
from node.runtime.memory import collector_off
from node.snapshots.file import CorruptSnapshot, IncompatibleSnapshot, OffChainSnapshot, Snapshot, SnapshotError, SnapshotWriter, Unwritable
from node.storage.datafolder import mark_of
from node.storage.disk import NEW, Disk, written_whole
from node.storage.spec_copy import difference
from node.version import VERSION
from rpc.log import Log
from state.chain.chain import Chain
from state.chain.digest import Compute
from state.chain.irreversible import no_block
from state.protocol.errors import ChainError, UnreadableBlock
from state.protocol.spec import ChainSpec
from state.snapshot.image import CONSENSUS, RULES, Older, SnapshotHeader, head_of, parts_of, restore
from state.snapshot.texts import has_records
from state.store.columns import CorruptData
from state.store.lazy.background_load import BackgroundLoad
from state.store.serializers import pieces_of
from state.tables import State

FOLDER_NAME, SUFFIX, ASIDE = "snapshots", ".snapshot", ".broken"
KEPT_MAX = 3  # snapshots
ASIDE_MAX = 3  # corrupt ones, retained for inspection
TEXTS = f"{CONSENSUS}/comment_contents"
BLOCKS = "blocks"  # the section with all blocks up to the snapshot's, in files saved with `--with-blocks`
BLOCKS_PER_CHUNK = 1000
ROOM_BYTES_MIN = 1 << 26  # to leave free on the disk after a snapshot was written

_NAME = re.compile(r"[0-9]{10}-[0-9a-f]{40}\.snapshot")
_log = Log("snapshots")


def folder_of(data: Path) -> Path:
    """Return the snapshot folder of a data folder."""
    return data / FOLDER_NAME


def name_of(head: SnapshotHeader) -> str:
    """Return the file name of the snapshot with this header."""
    return f"{head.number:010}-{head.block_id}{SUFFIX}"


def paths(folder: Path, disk: Disk) -> list[Path]:
    """Return the paths of the snapshots in a folder, newest first."""
    try:
        return [folder / name for name in reversed(disk.names(folder)) if _NAME.fullmatch(name)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Unwritable(f"{folder}: {error.strerror}; it must be a folder that this user can write to") from None


def block_of(path: Path) -> int:
    """Return the block number in a snapshot's file name."""
    return int(path.name[:10])


# ------------------------------------------------------------------ saving


def save(chain: Chain, folder: Path, disk: Disk, *, with_blocks: bool = False, is_used_with_log: bool = False) -> Path:
    """Write a snapshot at the last irreversible block into a folder, and return its path. Raises SnapshotError.

    If it `is_used_with_log`, the block log of the chain, it doesn't contain the texts of comments that are in the log.

    This rewinds the chain to that block, after which the chain is unusable. The caller must therefore run it in a forked child, or at the
    end of the process.
    """
    if chain.rewind() <= chain.base:
        raise SnapshotError("there is no irreversible block yet, so there is nothing to save")
    try:
        disk.make_folder(folder)
        require_room(folder, disk)
        path = write(chain, folder, disk, with_blocks=with_blocks, is_used_with_log=is_used_with_log)
    except OSError as error:
        raise Unwritable(f"{error.filename or folder}: {error.strerror}; it must be a folder that this user can write to") from None
    except (ChildFailed, UnreadableBlock) as error:
        raise SnapshotError(str(error)) from None
    return path


def write(chain: Chain, folder: Path, disk: Disk, *, with_blocks: bool = False, is_used_with_log: bool = False) -> Path:
    """Write a snapshot file of a chain that was rewound to its last irreversible block. Return the file's path. Raises OSError."""
    head = head_of(chain, computing(chain))
    path = folder / name_of(head)
    with written_whole(disk, path) as file:
        writer = write_sections(SnapshotWriter(file), chain, head, with_blocks=with_blocks, is_used_with_log=is_used_with_log)
        writer.finish(VERSION, chain.state.spec, head)
    return path


def write_sections(
    writer: SnapshotWriter, chain: Chain, head: SnapshotHeader, *, with_blocks: bool, is_used_with_log: bool = False
) -> SnapshotWriter:
    """Write all sections of a chain that was rewound to the block of `head`. Return the writer.

    The texts of comments are left out if they can be read from the blocks: those in the snapshot, or those of the chain's log.
    """
    has_blocks = with_blocks or (chain.irreversible_blocks.are_logged and is_used_with_log)
    parts = parts_of(chain.state, has_blocks=has_blocks)
    pieces = {name: pieces_of(part) for name, part in parts.items()}
    computed = computing(chain)([piece for some in pieces.values() for piece in some])
    for name, part in parts.items():
        writer.section(name, part.schema, joined.from_iterable(islice(computed, len(pieces[name]))))
    if with_blocks:
        writer.section(BLOCKS, BLOCKS, packed_blocks(chain, head.number))
    return writer


def computing(chain: Chain) -> Compute:
    """Return the function that encodes the parts of a chain: in forked children if the chain itself is a copy in one."""
    return chunks_of_children if chain.is_disposable else iter


def packed_blocks(chain: Chain, last: int) -> Iterator[bytes]:
    """Yield the packed blocks of a chain up to number `last`, BLOCKS_PER_CHUNK per chunk."""
    pack = chain.state.wire.pack_block
    for begin in range(chain.base + 1, last + 1, BLOCKS_PER_CHUNK):
        blocks = [chain.block_by_number(number) for number in range(begin, min(begin + BLOCKS_PER_CHUNK, last + 1))]
        yield b"".join(pack(block) for block in blocks if block is not None)


def require_room(folder: Path, disk: Disk) -> None:
    """Raise Unwritable unless the disk has space for twice the size of the newest snapshot, plus ROOM_BYTES_MIN."""
    newest = next(iter(paths(folder, disk)), None)
    size = 0
    if newest is not None:
        with closing(disk.open_to_read(newest)) as file:
            size = file.size()
    free = disk.free(folder)
    if free < ROOM_BYTES_MIN + 2 * size:
        raise Unwritable(f"{folder}: no snapshot is saved, {free:,} bytes are free on the disk, {ROOM_BYTES_MIN + 2 * size:,} are needed")


def tidy(folder: Path, disk: Disk) -> None:
    """Remove the files of an interrupted save, all but the newest KEPT_MAX snapshots, and all but the newest ASIDE_MAX corrupt ones."""
    try:
        names = disk.names(folder)
    except OSError:
        return
    aside = [name for name in names if name.endswith(ASIDE)]
    old = [path.name for path in paths(folder, disk)[KEPT_MAX:]]
    for name in [*(name for name in names if name.endswith(SUFFIX + NEW)), *aside[:-ASIDE_MAX], *old]:
        try:
            disk.remove(folder / name)
        except OSError as error:
            _log.warning("a file could not be removed", file=str(folder / name), error=error.strerror)


def remove_after(folder: Path, disk: Disk, number: int) -> None:
    """Remove the snapshots taken after block `number`."""
    try:
        for path in paths(folder, disk):
            if block_of(path) > number:
                disk.remove(path)
    except (OSError, SnapshotError) as error:
        _log.warning("a snapshot of removed blocks could not be deleted", reason=str(error))


# ------------------------------------------------------------------ loading


class LoadedSnapshot(Struct, frozen=True):
    """The snapshot that a chain has started from, including its tables that are still loading (see `state.snapshot.image.restore`)."""

    path: Path
    head: SnapshotHeader
    left: list[BackgroundLoad]

    def steps(self) -> Iterator[None]:
        """Load the remaining tables, one chunk per step. Raises CorruptSnapshot."""
        for deferred in self.left:
            while not deferred.is_done:
                try:
                    deferred.advance()
                except (ChainError, MsgspecError, ValueError) as error:
                    raise CorruptSnapshot(f"{self.path}: can't be read: {error}; remove it, then the start replays the blocks") from None
                yield

    def finish(self) -> SnapshotHeader:
        """Load all remaining tables, and return the snapshot's header. Raises CorruptSnapshot."""
        for _ in self.steps():
            pass
        return self.head


def load(chain: Chain, path: Path, disk: Disk, older: Older | None = None, *, is_ours: bool = False) -> LoadedSnapshot:
    """Load a snapshot into a chain at genesis. Raises CorruptSnapshot or IncompatibleSnapshot, in which case nothing has changed.

    `older` finds the blocks before the snapshot; by default there are none. With `is_ours` the file must have the name that `name_of`
    returns; otherwise OffChainSnapshot is raised.
    """
    snapshot = Snapshot(path, disk)
    try:
        if is_ours and path.name != name_of(snapshot.head):
            raise OffChainSnapshot(f"{path}: holds another snapshot, {name_of(snapshot.head)}")
        require_fit(snapshot, chain.state, chain.state.spec)
        if older is not None and has_records(snapshot.chunks(TEXTS)) and older(snapshot.head.number) is None:
            raise IncompatibleSnapshot(
                f"{path}: has the positions of the posts' texts in the blocks instead of the texts, and the blocks aren't here; "
                "use it with the block log of its data folder, or save it with --to"
            )
        now = chain.savepoint()
        try:
            with collector_off():
                return LoadedSnapshot(path, snapshot.head, restore(chain, snapshot.head, snapshot.chunks, older or no_block))
        except BaseException:
            chain.restore(now)
            raise
    except CorruptData as error:
        raise CorruptSnapshot(f"{path}: can't be read: {error}") from None
    finally:
        snapshot.close()


def has_positions(path: Path, disk: Disk) -> bool:
    """Whether a snapshot has positions of posts' texts in the blocks instead of the texts. Raises SnapshotError."""
    snapshot = Snapshot(path, disk)
    try:
        return has_records(snapshot.chunks(TEXTS))
    except CorruptData as error:
        raise CorruptSnapshot(f"{path}: can't be read: {error}") from None
    finally:
        snapshot.close()


def require_rules(snapshot: Snapshot, advice: str) -> None:
    """Raise IncompatibleSnapshot, with advice, if the snapshot was made with other rules."""
    index = snapshot.index
    if index.head.rules != RULES:
        what = f"was made with other rules ({index.head.rules}, coind {index.program}; these are {RULES})"
        raise IncompatibleSnapshot(f"{snapshot.path}: {what}: {advice}")


def require_fit(snapshot: Snapshot, state: State, spec: ChainSpec, advice: str = "replay and save again") -> None:
    """Raise IncompatibleSnapshot unless the snapshot belongs to the chain with this spec and these rules, and contains all tables and
    plugins of `state`. `advice` is for a snapshot made with other rules.
    """
    path, index, ours = snapshot.path, snapshot.index, mark_of(spec)
    if index.chain.chain_id != ours.chain_id:
        raise IncompatibleSnapshot(
            f"{path}: is of the chain {index.chain.name} ({index.chain.chain_id[:8]}), not of {ours.name} ({ours.chain_id[:8]})"
            f"{former_chains.advice(index.chain.chain_id)}"
        )
    if index.chain.genesis != ours.genesis:
        differs = difference(index.spec.encode(), index.chain.genesis, spec) or "it doesn't say which"
        what = f"is of the chain {index.chain.name} with another genesis or other constants than {ours.name} has now"
        options = "--witnesses, --accounts and --no-produce"
        raise IncompatibleSnapshot(f"{path}: {what} ({differs}); start with the spec, {options} as they were")
    require_rules(snapshot, advice)
    missing = [name for name in state.plugins if name not in index.head.plugins]
    if missing:
        raise IncompatibleSnapshot(f"{path}: lacks the data of {', '.join(missing)}, enabled now, but not when it was made")
    for name, part in parts_of(state).items():
        snapshot.check_schema(name, part.schema)


def require_in_log(path: Path, number: int, block_id: str, chain: Chain, older: Older) -> None:
    """Raise OffChainSnapshot unless `older`, which reads a block log, finds the block at which the snapshot was taken."""
    packed = older(number)
    if packed is None:
        raise OffChainSnapshot(f"{path}: was taken at block {number}, which the block log doesn't have")
    if chain.state.wire.unpack_block(packed)[0].id.hex() != block_id:
        raise OffChainSnapshot(f"{path}: was taken at block {number} ({block_id}), and the block log has another block {number}")


def set_aside(path: Path, disk: Disk) -> str:
    """Rename a corrupt snapshot. Return its new path, or the old path if that fails."""
    aside = path.with_name(path.name + ASIDE)
    try:
        disk.replace(path, aside)
        disk.sync_folder(path.parent)
    except OSError:
        return str(path)
    return str(aside)
