"""The chain: plain functions over tables. Nothing here is async, reads a clock or does I/O.

From the outside in: plugins (derived indices), chain (blocks, transactions, forks), operations, effects (code that operations and block
steps share), tables (the rows of a chain), store (tables, indices, journal), protocol (wire formats). Each of these layers imports only
later ones in this list; lint-imports checks that (pyproject.toml).
"""
