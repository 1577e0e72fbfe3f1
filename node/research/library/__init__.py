"""Chain data for scripts and notebooks: the blocks of a file, the state at a block, and the effects of each block (docs/library.md).

```py
from node.research.library import chain_at, open_blocks, open_export, replayed, series
```
"""

from node.research.errors import (
    BeyondEnd,
    CallRefused,
    DataError,
    InvalidPosition,
    MissingLibrary,
    NotThere,
    RefusedBlock,
    UnknownChain,
    UnreadableBlocks,
)
from node.research.library.blocks import Block, Blocks, Operation, Transaction, open_blocks
from node.research.library.chains import ChainAt, ChainState, chain_at
from node.research.library.exports import open_export
from node.research.library.replay import BlockStep, Change, Replayed, replayed
from node.research.library.series import Series, series
from node.research.library.views import OrderedView, RowView, Tables, TableView, UniqueView

# Deprecated names, for one release.
Step = BlockStep
WrongMoment = InvalidPosition

__all__ = [
    "BeyondEnd",
    "Block",
    "BlockStep",
    "Blocks",
    "CallRefused",
    "ChainAt",
    "ChainState",
    "Change",
    "DataError",
    "InvalidPosition",
    "MissingLibrary",
    "NotThere",
    "Operation",
    "OrderedView",
    "RefusedBlock",
    "Replayed",
    "RowView",
    "Series",
    "Step",
    "TableView",
    "Tables",
    "Transaction",
    "UniqueView",
    "UnknownChain",
    "UnreadableBlocks",
    "WrongMoment",
    "chain_at",
    "open_blocks",
    "open_export",
    "replayed",
    "series",
]
