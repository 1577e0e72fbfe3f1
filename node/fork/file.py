"""The fork file: the state at the block where a local chain branches off from a live one, and its origin.

It is a base file (node/snapshots/base.py) with one more section. A chain starts from it without a network, and is the same everywhere.
"""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from node.runtime.errors import FileError
from node.snapshots.base import read_base, write_base
from node.snapshots.file import Snapshot, SnapshotError
from node.storage.disk import Disk, SystemDisk
from rpc.fork import Fork
from state.chain.chain import Chain
from state.protocol.constants import COIN_MAX_WITNESSES
from state.protocol.spec import ChainSpec

SECTION = "fork"
SECTION_SIZE_MAX = 1 << 20  # bytes, compressed
SYSTEM = SystemDisk()

ChainId = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
BlockId = Annotated[str, Meta(pattern=r"^[0-9a-f]{40}\Z")]
Count = Annotated[int, Meta(ge=0)]
RoundSize = Annotated[int, Meta(ge=0, le=COIN_MAX_WITNESSES)]


class ForkError(FileError):
    """Error for an unusable fork file. The message contains the path and the reason."""


class ForkOrigin(Struct, frozen=True, kw_only=True):
    """The origin of a forked chain: the source and its block, and the options with which the file was made.

    `chain_id` is that of the source. `accounts` and `posts` (`@author/permlink`) are the names that were asked for, and `newest_posts` is
    the number of posts of each account. `is_complete` means that the file has everything of the source. `counts` are the numbers of
    fetched rows by kind, and `notes` say what could not be fetched.
    """

    source: str
    chain_id: ChainId
    number: Annotated[int, Meta(ge=1)]
    block_id: BlockId
    time: Count
    accounts: tuple[str, ...] = ()
    posts: tuple[str, ...] = ()
    newest_posts: Count = 0
    is_complete: bool = False
    keys: Literal["derived", "kept"] = "derived"
    witnesses: RoundSize = 0  # that make blocks; 0: those of the source's schedule
    counts: dict[str, Count] = {}
    notes: tuple[str, ...] = ()


def fork_of(origin: ForkOrigin) -> Fork:
    """Return what a node shows of the origin of its chain."""
    return Fork(**{name: value for name, value in asdict(origin).items() if name != "witnesses"})


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
