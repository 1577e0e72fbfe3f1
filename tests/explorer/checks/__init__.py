"""What pages show, compared with what the node says by RPC; a module for each theme."""

from tests.explorer.checks import chain, connections, everywhere, people, trade
from tests.explorer.checks.base import BRANCH, CHECKS

__all__ = ["BRANCH", "CHECKS", "chain", "connections", "everywhere", "people", "trade"]
