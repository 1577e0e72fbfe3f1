"""Verifies ranges of blocks in parallel. Each range starts at a snapshot and must lead to the digest of the next snapshot."""
