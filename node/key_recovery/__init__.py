"""Recovers the public keys of signatures in worker processes, before the chain needs them."""
