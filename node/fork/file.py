"""The fork file: the state at the block where a local chain branches off from a live one, and its origin.

It is a base file (node/snapshots/base.py) with one more section. A chain starts from it without a network, and is the same everywhere.
"""

from pathlib import Path

import msgspec
from msgspec import Struct

from node.runtime.errors import FileError
from node.snapshots.base import read_base, write_base
from node.snapshots.file import Snapshot, SnapshotError
from node.storage.disk import Disk, SystemDisk
from rpc.fork import ForkOrigin
from state.chain.chain import Chain
from state.protocol.spec import ChainSpec

SECTION = "fork"
SECTION_SIZE_MAX = 1 << 20  # bytes, compressed
SYSTEM = SystemDisk()


class ForkError(FileError):
    """Error for an unusable fork file. The message contains the path and the reason."""


class ForkFile(Struct, frozen=True):
    """A fork file whose origin and spec were read. `new_chain(spec, path)` starts the chain."""

    path: Path
    origin: ForkOrigin
    spec: ChainSpec


def write_fork(chain: Chain, path: Path, origin: ForkOrigin, disk: Disk = SYSTEM) -> None:
    """Write a chain that is at its fork block into a file. An existing file is replaced atomically. Raises ForkError."""
    props = chain.state.props
    assert (props.head_block_number, props.head_block_id.hex()) == (origin.number, origin.block_id), "the chain is at its fork block"
    try:
        write_base(chain, path, disk, {SECTION: msgspec.json.encode(origin)})
    except OSError as error:
        raise ForkError(f"{path}: can't be written: {error.strerror}") from None
    except ValueError as error:
        raise ForkError(f"{str(path)!r} names no file: {error}") from None


def read_fork(path: Path, disk: Disk = SYSTEM) -> ForkFile:
    """Read the origin and the spec of a fork file, which can be a stranger's. Raises ForkError."""
    try:
        snapshot = Snapshot(path, disk)
        try:
            if not snapshot.has(SECTION):
                raise ForkError(f"{path}: is a snapshot, not a fork file. Make one: coind fork URL --to FILE")
            snapshot.check_schema(SECTION, SECTION)
            if sum(section.size for section in snapshot.index.sections if section.name == SECTION) > SECTION_SIZE_MAX:
                raise ForkError(f"{path}: its origin is larger than {SECTION_SIZE_MAX:,} bytes")
            origin = decode_origin(path, b"".join(snapshot.chunks(SECTION)))
        finally:
            snapshot.close()
        spec = read_base(path, disk)
    except SnapshotError as error:
        raise ForkError(str(error)) from None
    base = spec.base
    if (origin.number, origin.block_id, origin.time) != (base.number, base.block_id.hex(), base.time):
        raise ForkError(f"{path}: its state is of block {base.number}, not of the fork block {origin.number}")
    return ForkFile(path, origin, spec)


def decode_origin(path: Path, data: bytes) -> ForkOrigin:
    """Decode the fork file's own section. Raises ForkError."""
    try:
        origin = msgspec.json.decode(data, type=ForkOrigin)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ForkError(f"{path}: its origin is malformed: {error}") from None
    if not all(text.isprintable() for text in (origin.source, *origin.accounts, *origin.posts, *origin.counts, *origin.notes)):
        raise ForkError(f"{path}: its origin has characters that can't be printed")
    return origin
