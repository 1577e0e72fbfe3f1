"""Replays of a chain from a file, in one process or in parallel by ranges."""
