"""Data about the chain and the node that all pages of the explorer need."""

from typing import TypedDict

from rpc.api.dev.control import HeadInfo, head_of
from rpc.declare.arguments import UInt32
from rpc.declare.method import method
from rpc.devchain import DevChain
from rpc.fork import Fork
from state.chain.chain import Chain
from state.protocol.constants import COIN_BLOCK_INTERVAL
from state.protocol.values.asset import COIN, SBD, VESTS, decimals, nai_text
from state.protocol.values.text import time_text


class Token(TypedDict):
    """A built-in token: its NAI with `@@`, its symbol in letters, and its number of decimal places."""

    nai: str
    symbol: str
    precision: UInt32


class ForkSummary(TypedDict):
    """The source of a forked chain, the source's block at which the chain begins, and whether the chain has everything of the source."""

    source: str
    block_num: UInt32
    time: str
    is_complete: bool


class ForkMember(TypedDict, total=False):
    """The member that only forked chains have."""

    fork: ForkSummary


class Overview(HeadInfo, ForkMember):
    """The chain, its head and time, and the node. Only a forked chain has `fork`."""

    chain: str
    chain_id: str
    key_prefix: str
    brand: str
    community_prefix: str
    is_test: bool
    version: str
    block_interval: UInt32
    tokens: list[Token]
    pending: UInt32


@method("explorer_api.get_overview")
def get_overview(chain: Chain, devchain: DevChain, /) -> Overview:
    """Return names, symbols, head and time of the chain, the number of pending transactions, whether it is a test chain, and its fork."""
    spec = chain.state.spec
    return {
        **head_of(chain, devchain),
        **fork_member(devchain.fork),
        "chain": spec.name,
        "chain_id": spec.chain_id.hex(),
        "key_prefix": spec.key_prefix,
        "brand": spec.brand,
        "community_prefix": spec.community_prefix,
        "is_test": spec.is_test,
        "version": devchain.version,
        "block_interval": COIN_BLOCK_INTERVAL,
        "tokens": [
            {"nai": nai_text(symbol), "symbol": letters, "precision": decimals(symbol)}
            for symbol, letters in ((COIN, spec.coin_symbol), (SBD, spec.debt_symbol), (VESTS, spec.vests_symbol))
        ],
        "pending": len(chain.pending),
    }


def fork_member(fork: Fork | None) -> ForkMember:
    """Return the member about a chain's fork, or nothing for other chains."""
    if fork is None:
        return {}
    origin = fork.origin
    return {
        "fork": {"source": origin.source, "block_num": origin.number, "time": time_text(origin.time), "is_complete": origin.is_complete}
    }
