"""Which keys must sign a transaction, and whether given signatures suffice."""
