"""Determines which keys must sign a transaction, and checks whether given signatures suffice."""
