"""Applies blocks from files to a chain, from genesis or from a snapshot."""
