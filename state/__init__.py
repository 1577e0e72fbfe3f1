"""The chain: plain functions over tables. Nothing here is async, reads a clock or does I/O.

From the outside in: plugins (derived indices), chain (what happens around operations), operations, effects (what they
share), tables (the rows), store (tables, indices, journal), protocol (what goes over the wire). A layer imports only
layers further in; lint-imports checks it (pyproject.toml).
"""
