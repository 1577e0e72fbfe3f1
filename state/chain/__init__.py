"""Blocks and their steps, forks, pending transactions, hardforks, producing: what applies operations. No files, no sockets.

Importing it fills the registry of operations, from which every `Wire` is made.
"""

import state.operations  # noqa: F401
