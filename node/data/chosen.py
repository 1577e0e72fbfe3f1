"""Which chain blocks are of, where a script doesn't say it: the data folder does, or the first block."""

from pathlib import Path

from node.data.errors import UnknownChain
from node.failures import NodeError
from node.replaying.recognising import chains_of
from node.specs import load_spec, spec_names
from node.storage.blockfile import SYSTEM
from node.storage.datafolder import read_chain
from node.storage.sources import STANDARD_INPUT
from state.protocol.spec import ChainSpec


def chosen_chain(path: Path, chain: str | Path | ChainSpec | None) -> ChainSpec:
    """Return the spec of a chain by its name or the path of its file; without one, that of the blocks at a path. Raises UnknownChain."""
    if isinstance(chain, ChainSpec):
        return chain
    try:
        return load_spec(str(chain if chain is not None else chain_of(path)))
    except NodeError as error:
        raise UnknownChain(str(error)) from None


def chain_of(path: Path) -> str:
    """Return the name of the chain that the blocks at a path are of. Raises UnknownChain, and NodeError for a damaged folder."""
    marked = read_chain(SYSTEM, path) if path.is_dir() else None
    if marked is not None and marked.name in spec_names():
        return marked.name
    found = [] if path == STANDARD_INPUT or path.is_fifo() else chains_of(path, 1, "")
    if len(found) == 1:
        return found[0]
    which = f"several chains take their first block: {', '.join(found)}" if found else f"known ones are {', '.join(spec_names())}"
    raise UnknownChain(f"{path}: name the chain of these blocks; {which}")
