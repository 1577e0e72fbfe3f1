"""Exports of a chain to files: operations, blocks and table rows, with one file for each kind and range of blocks."""
