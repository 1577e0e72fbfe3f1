"""Chains for scripts and notebooks: the blocks of a file, the state at a block, and the effects of each block (docs/library.md).

```py
from coind.data import chain_at, open_blocks, open_export, replayed, series
```
"""

from node.research.library import *  # noqa: F403
