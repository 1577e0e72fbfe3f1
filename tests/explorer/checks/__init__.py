"""Checks of pages against the node's RPC replies, one module for each theme."""

from tests.explorer.checks import chain, charts, connections, everywhere, narrow, people, trade
from tests.explorer.checks.base import BRANCH, CHECKS

__all__ = ["BRANCH", "CHECKS", "chain", "charts", "connections", "everywhere", "narrow", "people", "trade"]
