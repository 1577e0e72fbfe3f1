"""Applies transactions and blocks: block steps, forks, pending transactions, hardforks, block production.

Importing this package fills the registry of operations, from which every `Wire` is built.
"""

import state.operations  # noqa: F401
