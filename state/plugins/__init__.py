"""Indices derived from operations, each a plugin that a node enables by name; consensus never looks at them.

A plugin is one module: its tables (undone with the state's journal), `install(state)`, which makes them, registers its
listeners and returns them, and functions that read them. `enable` puts what it returns into `state.plugins[name]`.
"""

from collections.abc import Callable, Iterable
from typing import Any

from state.plugins import account_by_key, account_history, market_history, reputation, transaction_status
from state.plugins.follow import plugin as follow
from state.plugins.rc import plugin as rc
from state.plugins.social import plugin as communities
from state.plugins.tags import plugin as tags
from state.tables import State

# In the order in which they are initialised; listeners are told in that order.
PLUGINS: dict[str, Callable[[State], Any]] = {
    account_by_key.NAME: account_by_key.install,
    account_history.NAME: account_history.install,
    market_history.NAME: market_history.install,
    transaction_status.NAME: transaction_status.install,
    rc.NAME: rc.install,
    reputation.NAME: reputation.install,
    follow.NAME: follow.install,
    tags.NAME: tags.install,
    communities.NAME: communities.install,
}


def enable(state: State, names: Iterable[str]) -> None:
    """Install the named plugins on a state at genesis."""
    wanted = set(names)
    for name, install in PLUGINS.items():
        if name in wanted:
            state.plugins[name] = install(state)
