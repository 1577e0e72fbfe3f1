"""The list of all plugins, and `enable`, which installs some of them. A new plugin must be added to the list."""

from collections.abc import Iterable
from typing import Any

from state.plugins.account_by_key import ACCOUNT_BY_KEY
from state.plugins.account_history import ACCOUNT_HISTORY
from state.plugins.follow.plugin import FOLLOW
from state.plugins.market_history import MARKET_HISTORY
from state.plugins.plugin import Plugin
from state.plugins.rc.plugin import RC
from state.plugins.reputation import REPUTATION
from state.plugins.social.plugin import COMMUNITIES
from state.plugins.tags.plugin import TAGS
from state.plugins.transaction_status import TRANSACTION_STATUS
from state.tables import State

# In order of installation, which is also the order of their listeners. `follow` uses the table of `reputation`, and `communities` reads
# both.
DECLARED: tuple[Plugin[Any], ...] = (
    ACCOUNT_BY_KEY,
    ACCOUNT_HISTORY,
    MARKET_HISTORY,
    TRANSACTION_STATUS,
    RC,
    REPUTATION,
    FOLLOW,
    TAGS,
    COMMUNITIES,
)
PLUGINS: dict[str, Plugin[Any]] = {plugin.name: plugin for plugin in DECLARED}
assert all(used in DECLARED[:place] for place, plugin in enumerate(DECLARED) for used in plugin.uses), "plugins follow the ones they use"


def enable(state: State, names: Iterable[str]) -> None:
    """Install the named plugins on a state at genesis, in the order of the registry.

    Names of other things are ignored: a chain spec also enables optional groups of RPC methods, which have no data. node/specs/plugins.py
    refuses unknown names.
    """
    wanted = set(names)
    for name, plugin in PLUGINS.items():
        if name in wanted:
            plugin.enable(state)
