"""Verifies ranges of blocks in parallel. Each starts at a snapshot and must lead to the digest of the next one."""
