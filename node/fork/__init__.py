"""Local chains that begin where the chain of another node (the source) stands: reading the source, and keeping what was read."""
