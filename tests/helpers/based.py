"""A chain that begins after a block of another chain, for tests."""

from pathlib import Path

from msgspec import structs

from node.snapshots.base import new_chain, read_base, write_base
from state.chain.chain import Chain
from state.chain.state_edits import SetBalance
from state.protocol.spec import ChainSpec
from state.protocol.values.asset import COIN, Asset
from tests.helpers.nodes import DEV, dev_chain, make_block, transfer

BASE = 30  # the number of the block
BASE_PLUGINS = ("account_by_key", "account_history", "rc", "transaction_status")


def base_file(folder: Path, blocks: int = BASE) -> Path:
    """Write a base file with the state of a chain after some blocks with transfers. The last 21 of them are reversible."""
    chain = dev_chain(*BASE_PLUGINS)
    for number in range(blocks):
        chain.push_transaction(transfer(chain, str(number)))
        make_block(chain)
    path = folder / f"base-{blocks}"
    write_base(chain, path)
    return path


def based_spec(path: Path) -> ChainSpec:
    """Return the spec of the chain that begins with a base file, with the accounts and keys of the chain dev."""
    return structs.replace(DEV, base=read_base(path).base)


def based_chain(path: Path, *plugins: str) -> Chain:
    """Return a chain that begins with a base file."""
    return new_chain(read_base(path), path, plugins)


def live(chain: Chain, blocks: int = 30) -> None:
    """Make blocks with transfers and some state edits."""
    for number in range(blocks):
        chain.push_transaction(transfer(chain, f"later {number}"))
        make_block(chain, number % 3)
        if number % 4 == 1:
            chain.edit(SetBalance("carol", Asset(1000 + number, COIN)))
