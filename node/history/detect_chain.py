"""Finds the chain that blocks are of, where they turn out not to be of the one that was named: their first blocks are tried on each.

Signatures of the first blocks decide, and constants of the chain such as the time of its genesis.
"""

from pathlib import Path

from node.history.sources import is_pipe, open_source
from node.runtime.errors import NodeError
from node.specs.builder import load_spec, spec_names
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.protocol.errors import ChainError
from state.protocol.spec import ChainSpec

FIRST_BLOCKS = 100  # where a refusal may mean that the blocks are of another chain


def chains_of(path: Path, number: int, but: str) -> list[str]:
    """Return the known chains other than `but` that take the blocks of a source up to `number`; none where a refusal has other reasons."""
    if number > FIRST_BLOCKS or is_pipe(path):
        return []
    return [name for name in spec_names() if name != but and takes(load_spec(name), path, number)]


def takes(spec: ChainSpec, path: Path, number: int) -> bool:
    """Return whether a chain at genesis takes the blocks of a source up to a number."""
    chain = Chain(new_state(spec))
    try:
        source = open_source(path, chain.state.wire)
        try:
            for block in source:
                chain.push_block(block)
                if block.number >= number:
                    return chain.state.props.head_block_number == number
        finally:
            source.close()
    except (ChainError, NodeError):
        pass
    return False


def advice(path: Path, number: int, but: str) -> str:
    """Return text to add to the refusal of block `number`: the chain that the blocks are of, empty where that can't be the reason."""
    may_be = f"; the blocks may be of another chain than {but}: name theirs with --chain" if number == 1 else ""
    return known_chain(path, number, but) or may_be


def known_chain(path: Path, number: int, but: str) -> str:
    """Return text that names the known chains other than `but` that take the blocks up to `number`, empty where there is none."""
    found = chains_of(path, number, but)
    options = " or ".join(f"--chain {name}" for name in found)
    return f"; the blocks are of the chain {' or '.join(found)}: name it, {options}" if found else ""
