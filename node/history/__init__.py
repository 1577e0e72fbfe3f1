"""Blocks from files, applied to a chain, from genesis or from a snapshot."""
