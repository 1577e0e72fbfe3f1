"""All RPC methods: importing this package declares them, one module per theme."""

from rpc.api import (
    accounts,
    blocks,
    broadcast,
    comments,
    debug_node,
    globals,
    jsonrpc,
    orders,
    payments,
    proposals,
    recovery,
    signatures,
    tokens,
    vesting,
    witnesses,
)

__all__ = [
    "accounts",
    "blocks",
    "broadcast",
    "comments",
    "debug_node",
    "globals",
    "jsonrpc",
    "orders",
    "payments",
    "proposals",
    "recovery",
    "signatures",
    "tokens",
    "vesting",
    "witnesses",
]
