"""Calls of another node by JSON-RPC over HTTP."""
