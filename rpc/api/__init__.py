"""All RPC methods: importing this package declares them, one module per theme."""

from rpc.api import accounts, blocks, broadcast, debug_node, globals, jsonrpc, signatures, witnesses

__all__ = ["accounts", "blocks", "broadcast", "debug_node", "globals", "jsonrpc", "signatures", "witnesses"]
