"""The operations of the chain, one class each: fields, required authorities, static checks, effect; one module per theme.

Importing this package fills the registry (state.protocol.operation.OPERATIONS), virtual operations included. A new module
with operations is added here and nowhere else; a test looks whether one is missing.
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
