"""Which chain the blocks are of that a command reads."""

from pathlib import Path

from node.research.chain_selection import chosen_chain
from node.research.errors import DataError, UnknownChain
from node.runtime.errors import NodeError
from node.specs.builder import load_spec
from state.protocol.spec import ChainSpec


def spec_of_blocks(path: Path, chain: str | None) -> ChainSpec:
    """Return the spec of a chain by its name or the path of its file; without one, that of the blocks at a path.

    Raises NodeError, also for a chain that the blocks contradict.
    """
    given = None if chain is None else load_spec(chain)
    try:
        return chosen_chain(path, given)
    except UnknownChain as error:
        raise NodeError(f"{error}; give it as --chain" if given is None else f"--chain {chain}: {error}") from None
    except DataError as error:
        raise NodeError(str(error)) from None
