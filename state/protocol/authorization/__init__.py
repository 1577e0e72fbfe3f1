"""Rules that determine which keys must sign a transaction, and whether given signatures suffice."""
