"""What happens around operations: blocks, forks, pending transactions, hardforks, producing. No files, no sockets.

Importing it fills the registry of operations, which every `Wire` is made from.
"""

import state.operations  # noqa: F401
