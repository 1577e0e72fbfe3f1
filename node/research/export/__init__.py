"""Exports of a chain to files: operations, blocks and table rows, in one file per kind and range of blocks."""
