"""Snapshot files: writing, checking, loading at a start, and saving while the node runs. state/snapshot encodes their content."""
