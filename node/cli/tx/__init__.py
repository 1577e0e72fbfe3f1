"""`coind tx`: builds, signs and broadcasts transactions over RPC, with a command for each operation."""
