"""Snapshot files: writing, checking, loading on startup, and saving while the node runs. state/snapshot encodes their content."""
