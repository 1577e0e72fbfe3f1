"""Calls of JSON-RPC: to a node over HTTP, blocking or in trio, and to a service in this process."""
