"""Reader processes: copies of the chain on the same machine, behind the port of the process that owns it."""
