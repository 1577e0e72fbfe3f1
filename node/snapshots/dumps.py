"""Dumps: files that contain a whole chain up to its head, for chains in memory. A dump is a snapshot with blocks and two more sections.

`coind snapshot load` also accepts a dump, and installs the snapshot in it.
"""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from node.runtime.errors import NodeError
from node.snapshots.file import MAGIC, CorruptSnapshot, IncompatibleSnapshot, Snapshot, SnapshotError, SnapshotWriter, Unwritable
from node.snapshots.folder import computing, require_fit, write_sections
from node.snapshots.install import blocks_of
from node.storage.disk import NEW, Disk, written_whole
from node.version import VERSION
from state.chain.chain import Chain
from state.snapshot.dumps import ChainTail, chain_tail, restore_all, rewound
from state.snapshot.image import head_of
from state.store.columns import CorruptData, schema

REST, EXTRA = "dump/rest", "dump/extra"
REST_SCHEMA, EXTRA_SCHEMA = f"rest: {schema(ChainTail)}", "bytes of the node"
EXTRA_SIZE_MAX = 1 << 20
BYTES_PER_UNIT = 100  # of a dump that are loaded in a unit of work

Extra = TypeVar("Extra")


def dump(chain: Chain, path: Path, disk: Disk, extra: bytes = b"") -> int:
    """Write a chain and the node's data (`extra`) to a file. Return the file's size in bytes. Raises SnapshotError.

    An existing dump is replaced atomically; any other existing file is refused. The chain doesn't change.
    """
    assert len(extra) <= EXTRA_SIZE_MAX, "the node's data is small"
    require_replaceable(path, disk)
    rest = chain_tail(chain)
    try:
        with rewound(chain), written_whole(disk, path) as file:
            head = head_of(chain, computing(chain))
            writer = write_sections(SnapshotWriter(file), chain, head, with_blocks=True)
            writer.section(REST, REST_SCHEMA, iter([rest]))
            writer.section(EXTRA, EXTRA_SCHEMA, iter([extra]))
            writer.finish(VERSION, chain.state.spec, head)
            return file.size()
    except OSError as error:
        raise Unwritable(f"{path}: the dump can't be written: {error.strerror}") from None


def require_replaceable(path: Path, disk: Disk) -> None:
    """Refuse to overwrite a file that isn't a dump, so that a mistyped path doesn't destroy another file, link or device. Raises
    SnapshotError.
    """
    try:
        for each in (path, path.with_name(path.name + NEW)):
            try:
                file = disk.open_to_read(each)
            except FileNotFoundError:
                continue
            with closing(file):
                start = file.read(len(MAGIC), 0)
            if start and start != MAGIC:
                raise SnapshotError(f"{each}: exists and is not a dump; choose another path")
    except OSError as error:
        raise Unwritable(f"{path}: the dump can't be written: {error.strerror}") from None
    except ValueError as error:
        raise SnapshotError(f"{str(path)!r} names no file: {error}") from None


def load(chain: Chain, path: Path, disk: Disk, read_extra: Callable[[bytes], Extra]) -> Extra:
    """Replace a chain with the chain in a dump. Return the node's data, parsed by `read_extra`, which can raise ValueError.

    Raises NodeError, in which case nothing has changed.
    """
    dumped = Snapshot(path, disk, chain.state.journal.on_undone)
    try:
        if not dumped.has(REST):
            raise IncompatibleSnapshot(f"{path}: is a snapshot, not a dump; install it in a data folder: coind snapshot load")
        require_fit(dumped, chain.state, chain.state.spec)
        dumped.check_schema(REST, REST_SCHEMA)
        dumped.check_schema(EXTRA, EXTRA_SCHEMA)
        given, rest = (b"".join(dumped.chunks(name)) for name in (EXTRA, REST))
        try:
            extra = read_extra(given)
        except ValueError as error:
            raise CorruptSnapshot(f"{path}: can't be read: {error}") from None
        chain.state.work.announce(dumped.size // BYTES_PER_UNIT)
        restore_all(chain, dumped.head, dumped.chunks, blocks_of(dumped, chain.state.wire), rest)
    except CorruptData as error:
        raise CorruptSnapshot(f"{path}: can't be read: {error}") from None
    except OSError as error:
        raise NodeError(f"{path}: {error.strerror}") from None
    finally:
        dumped.close()
    return extra
