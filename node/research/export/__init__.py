"""Exports of a chain to files: operations, blocks and rows of tables, by kind and range of blocks."""
