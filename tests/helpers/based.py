"""A chain that begins after a block of another chain, for tests."""

import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from node.fork.file import write_fork
from node.snapshots.base import new_chain, read_base
from rpc.fork import ForkOrigin
from state.chain.chain import Chain
from state.chain.state_edits import SetBalance
from state.protocol.constants import COIN_BLOCK_INTERVAL
from state.protocol.values.asset import COIN, Asset
from tests.helpers.nodes import dev_chain, make_block, transfer
from tests.helpers.simulated_disk import SimulatedDisk

BASE = 30  # the number of the block
BASE_PLUGINS = ("account_by_key", "account_history", "rc", "transaction_status")


def base_file(folder: Path, blocks: int = BASE, plugins: Iterable[str] = BASE_PLUGINS, time: int = 0) -> Path:
    """Write a fork file with the state of a chain after some blocks with transfers. The last 21 of them are reversible. With `time` the
    head has this time.
    """
    chain = dev_chain(*plugins)
    late = time // COIN_BLOCK_INTERVAL - chain.state.head_time // COIN_BLOCK_INTERVAL - blocks
    for number in range(blocks):
        chain.push_transaction(transfer(chain, str(number)))
        make_block(chain, max(0, late) if not number else 0)
    props, path = chain.state.props, folder / f"base-{blocks}"
    block_id, chain_id = props.head_block_id.hex(), chain.state.spec.chain_id.hex()
    write_fork(chain, path, ForkOrigin(source="http://source", chain_id=chain_id, number=blocks, block_id=block_id, time=props.time))
    return path


@cache
def fork_of_young_chain() -> Path:
    """Return a fork file of a chain whose blocks are all reversible."""
    return base_file(Path(tempfile.mkdtemp(prefix="coind-fork-")), 5)


def put_file(disk: SimulatedDisk, path: Path, data: bytes) -> None:
    """Write a file to a disk in memory, so that it survives a power loss."""
    disk.make_folder(path.parent)
    file = disk.open(path, create=True)
    file.write(data, 0)
    file.sync()
    disk.sync_folder(path.parent)


def based(path: Path) -> dict[str, Any]:
    """Return the settings of a node whose chain begins with a fork file."""
    return {"spec": read_base(path), "base": path}


def based_chain(path: Path, *plugins: str) -> Chain:
    """Return a chain that begins with a fork file."""
    return new_chain(read_base(path), path, plugins)


def live(chain: Chain, blocks: int = 30) -> None:
    """Make blocks with transfers and some state edits."""
    for number in range(blocks):
        chain.push_transaction(transfer(chain, f"later {number}"))
        make_block(chain, number % 3)
        if number % 4 == 1:
            chain.edit(SetBalance("carol", Asset(1000 + number, COIN)))
