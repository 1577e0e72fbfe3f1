"""Determines which chain the blocks that a command reads belong to."""

from pathlib import Path

import trio

from node.client.urls import BROKER, shown_url
from node.history.chain_detection import ChainUnclear, FormerChain, detect_chain, followed_variant
from node.runtime.errors import FileError, NodeError
from node.specs.builder import load_spec, spec_names
from state.protocol.spec import ChainSpec


def spec_of_node(url: str, chain: str | None) -> ChainSpec:
    """Return the chain spec with the name or path `chain`, or by default that of the node's chain, with the node's numbers of witnesses and
    accounts. Raises NodeError.
    """
    # Imported here, since replays don't need it.
    from node.replicas.follow.sources import header_of

    given = None if chain is None else load_spec(chain)
    header = None if url.startswith(BROKER) else trio.run(header_of, url)
    if header is None:
        if given is None:
            raise NodeError(
                f"{shown_url(url)} doesn't name its chain, which only nodes of coind do. Correct the URL, or give the chain by --chain."
            )
        return given
    if header.base:
        raise NodeError(f"the chain of {shown_url(url)} is a fork, which can't be followed here. Export the data folder of its node.")
    if given is None and header.name not in spec_names():
        raise NodeError(f"{shown_url(url)} has the chain {header.name}, which isn't known here. Give its spec by --chain.")
    return followed_variant(given or load_spec(header.name), header)


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
