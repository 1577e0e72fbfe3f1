"""The operations of the chain, one class each: fields, required authorities, static checks, effect; one module per theme.

Importing this package fills the registry (state.protocol.operation.OPERATIONS), virtual operations included.
"""

from state.operations import (
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
from state.operations.smt import settings as smt_settings
from state.operations.smt import tokens as smt
from state.protocol import virtual

__all__ = [
    "accounts",
    "authorities",
    "content",
    "custom",
    "escrow",
    "market",
    "mining",
    "proposals",
    "rewards",
    "smt",
    "smt_settings",
    "transfers",
    "vesting",
    "virtual",
    "witnesses",
]
