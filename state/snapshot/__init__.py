"""Snapshots: encodes the state and its plugins as named sections of bytes, and restores them. node/snapshots writes the files."""
