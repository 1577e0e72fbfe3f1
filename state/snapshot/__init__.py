"""Snapshots: a whole state with its plugins as named sections of bytes, and a state made of them. Files are the node's affair."""
