"""Chains for scripts and notebooks: blocks of a file, the state at a block, and what each block has done (docs/library.md).

```py
from node.data import chain_at, open_blocks, replayed
```
"""

from node.data.blocks import Block, Blocks, Operation, Transaction, open_blocks
from node.data.chains import ChainAt, ChainState, chain_at
from node.data.errors import (
    BeyondEnd,
    CallRefused,
    DataError,
    MissingLibrary,
    NotThere,
    RefusedBlock,
    UnknownChain,
    UnreadableBlocks,
    WrongMoment,
)
from node.data.replaying import Change, Replayed, Step, replayed
from node.data.views import OrderedView, RowView, Tables, TableView, UniqueView

__all__ = [
    "BeyondEnd",
    "Block",
    "Blocks",
    "CallRefused",
    "ChainAt",
    "ChainState",
    "Change",
    "DataError",
    "MissingLibrary",
    "NotThere",
    "Operation",
    "OrderedView",
    "RefusedBlock",
    "Replayed",
    "RowView",
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
    "replayed",
]
