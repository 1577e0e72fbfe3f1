"""Applies the blocks of a source to a chain, for everything that replays: where the chain starts, and what is checked."""
