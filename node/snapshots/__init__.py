"""Snapshot files: how they are written, checked, found at a start, and made while the node runs. What they hold is state/snapshot's."""
