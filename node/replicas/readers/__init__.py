"""More processes that answer reads: followers of one chain on the same machine, behind the port of the process that owns it."""
