"""Recovers the public keys of signatures in worker processes, before they are needed."""
