"""The operations of the chain. One class per operation declares its fields, required authorities, static checks and effect.

Importing this package fills the registry (state.protocol.operation.OPERATIONS), including virtual operations. Add a new module with
operations to the imports below; a test reports a missing one.
"""

from state.operations import (  # noqa: F401 - imported to register their classes
    accounts,
    authorities,
    content,
    custom,
    escrow,
    market,
    mining,
    proposals,
    rewards,
    transfers,
    vesting,
    witnesses,
)
from state.operations.smt import settings, tokens  # noqa: F401
from state.protocol import virtual  # noqa: F401
