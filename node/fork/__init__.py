"""Forks: local chains that begin at the head of another node's chain (the source). They are built from rows that RPC methods show."""
