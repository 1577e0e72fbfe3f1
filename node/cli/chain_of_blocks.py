"""Determines which chain the blocks that a command reads belong to."""

from pathlib import Path

from node.history.chain_detection import ChainUnclear, FormerChain, detect_chain
from node.runtime.errors import FileError, NodeError
from node.specs.builder import load_spec
from state.protocol.spec import ChainSpec


def spec_of_blocks(path: Path, chain: str | None) -> ChainSpec:
    """Return the chain spec with the name or path `chain`. If `chain` is None, return the spec of the chain to which the blocks belong.

    Raises NodeError, including if the blocks don't belong to the given chain.
    """
    given = None if chain is None else load_spec(chain)
    try:
        return detect_chain(path, given)
    except (FileError, FormerChain) as error:
        raise NodeError(str(error)) from None
    except ChainUnclear as error:
        raise NodeError(f"{error}. Give it by --chain." if given is None else f"--chain {chain}: {error}") from None
