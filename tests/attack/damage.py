"""Damages files of a data folder: flipped bits, overwritten pages, truncation, missing files, files of another chain.

A start from a damaged folder must either restore exactly the original state, or refuse with the file's path and advice. A seed
determines all damage.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from msgspec import Struct

from node.history.apply import TRUST_OWN
from node.history.resume import resume
from node.runtime.errors import NodeError
from node.snapshots.base import new_chain, read_base
from node.snapshots.folder import FOLDER_NAME as SNAPSHOTS
from node.snapshots.folder import folder_of, save
from node.storage.datafolder import DataFolder, fork_in
from node.storage.spec_copy import SPEC_NAME
from state.chain.digest import state_digest
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedBlock, Wire
from tests.attack.power import FOLDER, FORK, at_first_block, new_disk, start_of, tree
from tests.helpers.log_capture import capture_logs
from tests.helpers.nodes import DEV, make_block, transfer
from tests.helpers.simulated_disk import SimulatedDisk

Files = dict[str, bytes]
PAGES = (1, 64, 512, 4096)
ADVICE = ("put a good copy", "put it back", "use another folder", "bin/coind blocks repair", "use the version")
SYNCED, SNAPSHOT_HEIGHT, PARTING = 9, 40, 30  # blocks


class Folder(Struct, frozen=True):
    """An undamaged folder: its disk, its files by relative path, its head and the state digest at the head."""

    disk: SimulatedDisk
    files: Files
    head: bytes
    digest: str
    is_killed: bool = False
    has_snapshot: bool = False
    is_based: bool = False


@cache
def folders(is_based: bool) -> tuple[Folder, ...]:
    """Return data folders for each of two branches: one closed cleanly, one whose node was killed after a sync, and one with a snapshot."""
    found = []
    for is_killed in (False, True):
        for branch in tree(is_based).branches[:2]:
            disk = new_disk(7, is_based)
            fill(disk, branch, is_killed=is_killed, is_based=is_based)
            digest = tree(is_based).digests[branch[-1].id]
            found.append(Folder(disk, files_of(disk), branch[-1].id, digest, is_killed=is_killed, is_based=is_based))
    return (*found, *with_snapshots(is_based))


def with_snapshots(is_based: bool) -> Iterator[Folder]:
    """Yield two folders on different branches that fork before the blocks of their snapshots."""
    for missed in (0, 2):
        chain = start_of(is_based)
        while (number := chain.state.props.head_block_number - chain.base) < SNAPSHOT_HEIGHT:
            chain.push_transaction(transfer(chain, f"{number}"))
            make_block(chain, missed if number == PARTING - missed * 10 else 0)
        numbers = range(chain.base + 1, chain.base + SNAPSHOT_HEIGHT + 1)
        blocks = [block for number in numbers if (block := chain.block_by_number(number)) is not None]
        head, digest = chain.state.props.head_block_id, state_digest(chain.state)
        disk = new_disk(7, is_based)
        fill(disk, blocks, is_based=is_based)
        save(chain, FOLDER / SNAPSHOTS, disk)
        yield Folder(disk, files_of(disk), head, digest, has_snapshot=True, is_based=is_based)


def fill(disk: SimulatedDisk, blocks: Sequence[SignedBlock], *, is_killed: bool = False, is_based: bool = False) -> None:
    """Write blocks into a folder, and close it unless the node is killed."""
    known = tree(is_based)
    folder = DataFolder(FOLDER, known.spec, known.wire, disk, fork=FORK)
    for block in blocks:
        folder.log.append(block)
        if len(folder.log) == SYNCED:
            folder.log.sync()
    if not is_killed:
        folder.close()


def files_of(disk: SimulatedDisk) -> Files:
    return {str(path.relative_to(FOLDER)): bytes(node.data) for path, node in disk.nodes.items() if path != FORK}


def flip(data: bytes, dice: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 8))):
        changed[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def overwrite(data: bytes, dice: random.Random) -> bytes:
    """Replace a page with zeros, 0xff bytes, random bytes, or another part of the file."""
    size = min(dice.choice(PAGES), len(data))
    at = dice.randrange(0, len(data) - size + 1)
    other = dice.randrange(0, len(data) - size + 1)
    piece = dice.choice((bytes(size), b"\xff" * size, dice.randbytes(size), data[other : other + size]))
    return data[:at] + piece + data[at + size :]


def swap(data: bytes, dice: random.Random) -> bytes:
    """Exchange two pages."""
    size = min(dice.choice(PAGES), len(data) // 2)
    first = dice.randrange(0, len(data) - 2 * size + 1)
    second = dice.randrange(first + size, len(data) - size + 1)
    middle = data[first + size : second]
    return data[:first] + data[second : second + size] + middle + data[first : first + size] + data[second + size :]


def cut(data: bytes, dice: random.Random) -> bytes:
    """Truncate the data anywhere, possibly to nothing."""
    return data[: dice.choice((0, dice.randrange(len(data)), len(data) - 1))]


def add(data: bytes, dice: random.Random) -> bytes:
    """Append random bytes, zeros, or a copy of the last bytes."""
    size = min(dice.choice((1, 4, 8, 129, 512, 4096)), len(data))
    return data + dice.choice((bytes(size), dice.randbytes(size), data[-size:]))


def remove_range(data: bytes, dice: random.Random) -> bytes:
    """Remove a range in the middle."""
    at = dice.randrange(len(data))
    return data[:at] + data[at + dice.choice(PAGES) :]


KINDS: tuple[Callable[[bytes, random.Random], bytes], ...] = (flip, flip, overwrite, swap, cut, add, remove_range)


def damaged(files: Files, other: Files, dice: random.Random, count: int) -> tuple[Files, list[str]]:
    """Damage the files `count` times at random. Return the damaged files and a description of each change. At most one file is replaced
    with the other chain's file.
    """
    index = files["block_log.index"]
    ends = [int.from_bytes(index[at : at + 8], "little") for at in range(0, len(index), 8)]
    found, done = dict(files), []
    for _ in range(count):
        # The chain spec only affects the wording of refusals.
        name = dice.choice([name for name in sorted(found) if found[name] and name != SPEC_NAME])
        kind = dice.randrange(10)
        if kind == 0:
            del found[name]
            done.append(f"{name} deleted")
        elif kind == 1 and not done:
            # A snapshot's file name contains its block, so the other chain's snapshot has another name.
            found[name] = other.get(name) or next(other[each] for each in other if each.startswith(SNAPSHOTS))
            done.append(f"{name} of another chain")
        elif kind == 2:
            found["block_log"] = found.get("block_log", b"")[: dice.choice(ends)]
            done.append("block_log cut after a block")
        else:
            act = dice.choice(KINDS)
            found[name] = act(found[name], dice)
            done.append(f"{name}: {act.__name__}")
    return found, done


def start(files: Files, boot_of: SimulatedDisk, *, is_plain: bool, is_based: bool) -> tuple[bytes, str, bool]:
    """Start from the files as the node does. Return the head's id, the state digest, and whether the start used a snapshot.

    If `is_plain`, the files contain blocks of `tree()`. All of these descend from the same block 1, so the chain starts at that block
    instead of at genesis. Raises NodeError.
    """
    disk = SimulatedDisk(1)
    disk.set_boot(boot_of.boot())
    disk.make_folder(FOLDER if is_plain else FOLDER / SNAPSHOTS)
    for name, data in files.items():
        file = disk.open(FOLDER / name, create=True)
        file.write(data, 0)
        file.sync()
    disk.sync_folder(FOLDER)
    fork = fork_in(FOLDER, disk)
    spec = DEV if fork is None else read_base(fork, disk)
    chain = None if fork is None else new_chain(spec, fork, (), disk)
    folder = DataFolder(FOLDER, spec, Wire(spec), disk, fork=fork)
    if chain is None:
        chain = at_first_block(is_based) if is_plain and len(folder.log) else start_of(is_based)
    loaded = resume(chain, folder_of(FOLDER), disk, folder.log.packed) if folder.is_verified else None
    if loaded is not None:
        loaded.finish()
    blocks = folder.log.blocks(0 if loaded is None else loaded.head.number + 1)
    for block in blocks:
        if block.number <= chain.state.props.head_block_number:
            assert block.id == chain.state.props.head_block_id
            continue
        try:
            chain.push_block(block, TRUST_OWN if folder.is_verified else 0)
        except ChainError as error:
            raise NodeError(f"{folder.log.path}: {error}") from error
    blocks.close()
    folder.adopt()
    folder.close()
    return chain.state.props.head_block_id, state_digest(chain.state), loaded is not None


def attack(seed: int, is_based: bool) -> str:
    """Damage a data folder, start a node from it, and return the outcome."""
    dice = random.Random(seed)
    place = dice.randrange(len(folders(is_based)))
    folder, other = folders(is_based)[place], folders(is_based)[place ^ 1]
    # After a kill, only the log and its checksums confirm the blocks since the last sync. Damage to both could go undetected, so damage
    # only one of them.
    count = 1 if folder.is_killed else dice.choice((1, 1, 1, 2))
    found, done = damaged(folder.files, other.files, dice, count)
    try:
        head_id, digest, is_from_snapshot = start(found, folder.disk, is_plain=not folder.has_snapshot, is_based=folder.is_based)
    except NodeError as error:
        text = str(error)
        assert str(FOLDER) in text, f"{done}: {text}"
        assert any(advice in text for advice in ADVICE), f"{done}: {text}"
        return "refused"
    assert head_id == folder.head, f"{done}: the damage was not detected, head {int.from_bytes(head_id[:4], 'big')}"
    assert digest == folder.digest, f"{done}: the state differs"
    if folder.has_snapshot:
        return "started as it was, from the snapshot" if is_from_snapshot else "started as it was, without the snapshot"
    return "started as it was"


def run(count: int, seed: int, *, is_based: bool = False) -> dict[str, int]:
    """Damage `count` folders with consecutive seeds, of a chain from genesis or from a base. Return the number of each outcome.

    Raises AssertionError with the failing seed.
    """
    counts: Counter[str] = Counter()
    for each in range(seed, seed + count):
        try:
            with capture_logs():
                counts[attack(each, is_based)] += 1
        except Exception as error:  # any error must name the seed
            raise AssertionError(f"python -m tests.attack damage --count 1 --seed {each}: {error!r}") from error
    return dict(counts)
