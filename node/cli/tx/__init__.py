"""`coind tx`: builds, signs and broadcasts transactions through RPC, with a command for each operation."""
