"""Recovers public keys in other processes, ahead of the blocks that need them."""
