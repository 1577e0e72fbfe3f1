"""Which plugins a node runs: those of the chain spec, and what the command line changes about them."""

from collections.abc import Iterable

from node.failures import NodeError
from state.protocol.spec import ChainSpec

KNOWN = (
    "account_by_key",
    "account_history",
    "market_history",
    "follow",
    "tags",
    "reputation",
    "transaction_status",
    "rc",
    "communities",
    "rewards_api",
)


def chosen_plugins(spec: ChainSpec, enable: Iterable[str] = (), disable: Iterable[str] = ()) -> tuple[str, ...]:
    """The names of the plugins to run, in the order in which they are started. Raises NodeError for unknown ones."""
    enabled, disabled = set(enable), set(disable)
    for name in (*spec.plugins, *sorted(enabled), *sorted(disabled)):
        if name not in KNOWN:
            raise NodeError(f"there is no plugin {name}; known are {', '.join(KNOWN)}")
    if both := sorted(enabled & disabled):
        raise NodeError(f"{', '.join(both)} can't be both enabled and disabled")
    return tuple(name for name in KNOWN if name in (set(spec.plugins) | enabled) - disabled)
