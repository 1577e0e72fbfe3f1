"""Which chain blocks are of, where a script doesn't say it: the data folder does, or the first block."""

from itertools import islice
from pathlib import Path

from node.data.errors import UnknownChain, UnreadableBlocks, as_data_errors
from node.failures import NodeError
from node.replaying.recognising import FIRST_BLOCKS, chains_of
from node.specs import load_spec, spec_names
from node.storage.blockfile import SYSTEM
from node.storage.datafolder import read_chain
from node.storage.sources import STANDARD_INPUT, open_source
from state.protocol.spec import ChainSpec
from state.protocol.transaction import Wire

ANY = "steem-mainnet"  # by which it shows whether a file is one of blocks at all


def chosen_chain(path: Path, chain: str | Path | ChainSpec | None) -> ChainSpec:
    """Return the spec of a chain by its name or the path of its file; without one, that of the blocks at a path.

    Raises UnknownChain, and UnreadableBlocks where the blocks are to say it.
    """
    if isinstance(chain, ChainSpec):
        return chain
    if chain is None and not path.exists() and path != STANDARD_INPUT:
        raise UnreadableBlocks(f"{path}: no such file or folder")
    try:
        return load_spec(str(chain if chain is not None else chain_of(path)))
    except NodeError as error:
        raise UnknownChain(str(error)) from None


def chain_of(path: Path) -> str:
    """Return the name of the chain that the blocks at a path are of. Raises UnknownChain, and NodeError for a damaged folder."""
    marked = read_chain(SYSTEM, path) if path.is_dir() else None
    if marked is not None and marked.name in spec_names():
        return marked.name
    is_pipe = path == STANDARD_INPUT or path.is_fifo()
    if not is_pipe:
        with as_data_errors():
            open_source(path, Wire(load_spec(ANY))).close()
    found = [] if is_pipe else chains_of(path, 1, "")
    if len(found) > 1:
        # Signatures of transactions tell chains apart whose witnesses have the same keys.
        found = chains_of(path, count_first(path, found[0]), "") or found
    if len(found) == 1:
        return found[0]
    which = f"{' and '.join(found)} both take the first ones" if found else f"known chains are {', '.join(spec_names())}"
    raise UnknownChain(f"{path}: name the chain of these blocks; {which}")


def count_first(path: Path, chain: str) -> int:
    """Return how many blocks there are, up to FIRST_BLOCKS."""
    source = open_source(path, Wire(load_spec(chain)))
    try:
        return sum(1 for _ in islice(source, FIRST_BLOCKS))
    finally:
        source.close()
