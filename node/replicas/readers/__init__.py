"""Reader processes: they have copies of the chain, run on the same machine, and share the port of the process that owns the chain."""
