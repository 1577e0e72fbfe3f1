"""JSON-RPC clients for other nodes, over HTTP."""
