"""The export of a chain into files for other programs: operations, blocks and rows of tables, by kind and range of blocks."""
