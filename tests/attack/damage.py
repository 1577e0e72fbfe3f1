"""Damaged files: bits, pages, cuts, files that are missing or another chain's; nothing of it may be believed.

A start from a damaged folder either has exactly the state that was there, or is refused with the file and what to do. Which file is
damaged how follows from one seed.
"""

import random
from collections import Counter
from collections.abc import Callable
from functools import cache

from node.failures import NodeError
from node.replay import TRUST_OWN
from node.storage.datafolder import DataFolder
from state.chain.digest import state_digest
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedBlock
from tests.attack.power import FOLDER, at_block_1, tree
from tests.helpers.nodes import DEV, dev_chain
from tests.helpers.simulated_disk import SimulatedDisk

Files = dict[str, bytes]
PAGES = (1, 64, 512, 4096)
ADVICE = ("put a good copy", "put it back", "use another folder", "bin/coind blocks repair", "use the version")


@cache
def folders() -> tuple[tuple[SimulatedDisk, Files, SignedBlock, bool], ...]:
    """Folders with the disk that they are on and their true head: stopped in order, and killed after a sync; on two branches each."""
    found = []
    for is_killed in (False, True):
        for branch in tree().branches[:2]:
            disk = SimulatedDisk(7)
            disk.make_folder(FOLDER.parent)
            folder = DataFolder(FOLDER, DEV, tree().wire, disk)
            for block in branch:
                folder.log.append(block)
                if block.number == 9:
                    folder.log.sync()
            if not is_killed:
                folder.close()
            content = {path.name: bytes(node.data) for path, node in disk.nodes.items()}
            found.append((disk, content, branch[-1], is_killed))
    return tuple(found)


def flip(data: bytes, dice: random.Random) -> bytes:
    """Flip some bits."""
    changed = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 8))):
        changed[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def overwrite(data: bytes, dice: random.Random) -> bytes:
    """Put zeros, ones, chance, or another piece of the file in place of a page."""
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
    """Cut it anywhere, or to nothing."""
    return data[: dice.choice((0, dice.randrange(len(data)), len(data) - 1))]


def add(data: bytes, dice: random.Random) -> bytes:
    """Add bytes: of chance, zeros, or what it ends with once more."""
    size = min(dice.choice((1, 4, 8, 129, 512, 4096)), len(data))
    return data + dice.choice((bytes(size), dice.randbytes(size), data[-size:]))


def leave_out(data: bytes, dice: random.Random) -> bytes:
    """Leave out a piece in the middle."""
    at = dice.randrange(len(data))
    return data[:at] + data[at + dice.choice(PAGES) :]


KINDS: tuple[Callable[[bytes, random.Random], bytes], ...] = (flip, flip, overwrite, swap, cut, add, leave_out)


def damaged(files: Files, other: Files, ends: list[int], dice: random.Random, count: int) -> tuple[Files, list[str]]:
    """Return the files of a folder after some damages, and what was done. Only one file becomes another chain's."""
    found, done = dict(files), []
    for _ in range(count):
        name = dice.choice([name for name in sorted(found) if found[name]])
        kind = dice.randrange(10)
        if kind == 0:
            del found[name]
            done.append(f"{name} deleted")
        elif kind == 1 and not done:
            found[name] = other[name]
            done.append(f"{name} of another chain")
        elif kind == 2:
            found["block_log"] = found.get("block_log", b"")[: dice.choice(ends)]
            done.append("block_log cut after a block")
        else:
            act = dice.choice(KINDS)
            found[name] = act(found[name], dice)
            done.append(f"{name}: {act.__name__}")
    return found, done


def start(files: Files, boot_of: SimulatedDisk) -> tuple[bytes, str]:
    """Start from files, as the node does; returns the head's id and the digest of the state. Raises NodeError."""
    disk = SimulatedDisk(1)
    disk.set_boot(boot_of.boot())
    disk.make_folder(FOLDER)
    for name, data in files.items():
        file = disk.open(FOLDER / name, create=True)
        file.write(data, 0)
        file.sync()
    disk.sync_folder(FOLDER)
    folder = DataFolder(FOLDER, DEV, tree().wire, disk)
    chain = at_block_1() if len(folder.log) else dev_chain()
    blocks = folder.log.blocks(1)
    for block in blocks:
        if block.number == 1:
            assert block.id == chain.state.props.head_block_id
            continue
        try:
            chain.push_block(block, TRUST_OWN if folder.is_verified else 0)
        except ChainError as error:
            raise NodeError(f"{folder.log.path}: {error}") from error
    blocks.close()
    folder.adopt()
    folder.close()
    return chain.state.props.head_block_id, state_digest(chain.state)


def attack(seed: int) -> str:
    """Damage a folder and start from it; returns the outcome."""
    dice = random.Random(seed)
    place = dice.randrange(len(folders()))
    disk, files, head, is_killed = folders()[place]
    other = folders()[place ^ 1][1]
    index = files["block_log.index"]
    ends = [int.from_bytes(index[at : at + 8], "little") for at in range(0, len(index), 8)]
    # Of the blocks after the last sync only log and checksums know: after a kill both may not be damaged at once.
    count = 1 if is_killed else dice.choice((1, 1, 1, 2))
    found, done = damaged(files, other, ends, dice, count)
    try:
        head_id, digest = start(found, disk)
    except NodeError as error:
        text = str(error)
        assert str(FOLDER) in text, f"{done}: {text}"
        assert any(advice in text for advice in ADVICE), f"{done}: {text}"
        return "refused"
    assert head_id == head.id, f"{done}: believed, head {int.from_bytes(head_id[:4], 'big')}"
    assert digest == tree().digests[head.id], f"{done}: another state"
    return "started, as it was"


def run(count: int, seed: int) -> dict[str, int]:
    """Damage so many folders, from one seed on; returns the outcomes. Raises AssertionError with the seed that failed."""
    counts: Counter[str] = Counter()
    for each in range(seed, seed + count):
        try:
            counts[attack(each)] += 1
        except Exception as error:  # whatever it is, the seed must be named
            raise AssertionError(f"python -m tests.attack damage --count 1 --seed {each}: {error!r}") from error
    return dict(counts)
