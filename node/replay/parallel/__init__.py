"""Verifies a chain by ranges of blocks side by side: each begins at a snapshot, and must lead to the digest of the next one."""
