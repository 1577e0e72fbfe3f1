"""Replays of a chain from a file, whole or by ranges in parallel."""
