"""`coind tx`: makes, signs and broadcasts transactions, with a verb for each operation. It talks to nodes by RPC only."""
