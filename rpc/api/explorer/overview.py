"""Data about the chain and the node that all pages of the explorer need."""

from typing import TypedDict

from rpc.api.dev.control import HeadInfo, head_of
from rpc.declare.arguments import UInt32
from rpc.declare.method import method
from rpc.devchain import DevChain
from state.chain.chain import Chain
from state.protocol.constants import COIN_BLOCK_INTERVAL
from state.protocol.values.asset import COIN, SBD, VESTS, decimals, nai_text


class Token(TypedDict):
    """A built-in token: its NAI with `@@`, its symbol in letters, and its number of decimal places."""

    nai: str
    symbol: str
    precision: UInt32


class Overview(HeadInfo):
    """The chain, its head and time, and the node."""

    chain: str
    chain_id: str
    key_prefix: str
    brand: str
    is_test: bool
    version: str
    block_interval: UInt32
    tokens: list[Token]
    pending: UInt32


@method("explorer_api.get_overview")
def get_overview(chain: Chain, devchain: DevChain, /) -> Overview:
    """Return names, symbols, head and time of the chain, the number of pending transactions, and whether it is a test chain."""
    spec = chain.state.spec
    return {
        **head_of(chain, devchain),
        "chain": spec.name,
        "chain_id": spec.chain_id.hex(),
        "key_prefix": spec.key_prefix,
        "brand": spec.brand,
        "is_test": spec.is_test,
        "version": devchain.version,
        "block_interval": COIN_BLOCK_INTERVAL,
        "tokens": [
            {"nai": nai_text(symbol), "symbol": letters, "precision": decimals(symbol)}
            for symbol, letters in ((COIN, spec.coin_symbol), (SBD, spec.debt_symbol), (VESTS, spec.vests_symbol))
        ],
        "pending": len(chain.pending),
    }
