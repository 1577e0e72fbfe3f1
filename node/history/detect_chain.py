"""Finds the chain of blocks that were refused by the named chain, by applying the first ones to each known chain.

Signatures of the first blocks tell chains apart, and constants such as the time of the genesis.
"""

from pathlib import Path

from node.history.sources import is_pipe, open_source
from node.runtime.errors import NodeError
from node.specs.builder import load_spec, spec_names
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.protocol.errors import ChainError
from state.protocol.spec import ChainSpec

FIRST_BLOCKS = 100  # a refusal up to here can mean that the blocks belong to another chain


def chains_of(path: Path, number: int, but: str) -> list[str]:
    """Return the known chains other than `but` that accept the blocks of a source up to `number`; none if `number` is large."""
    if number > FIRST_BLOCKS or is_pipe(path):
        return []
    return [name for name in spec_names() if name != but and takes(load_spec(name), path, number)]


def takes(spec: ChainSpec, path: Path, number: int) -> bool:
    """Return whether a chain at genesis accepts the blocks of a source up to a number."""
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
    """Return advice to append to the refusal of block `number`: the chain that the blocks belong to. Empty if it is not another chain."""
    may_be = f"; the blocks may be of another chain than {but}: name theirs with --chain" if number == 1 else ""
    return known_chain(path, number, but) or may_be


def known_chain(path: Path, number: int, but: str) -> str:
    """Return advice that names the known chains other than `but` which accept the blocks up to `number`. Empty if there is none."""
    found = chains_of(path, number, but)
    options = " or ".join(f"--chain {name}" for name in found)
    return f"; the blocks are of the chain {' or '.join(found)}: name it, {options}" if found else ""
