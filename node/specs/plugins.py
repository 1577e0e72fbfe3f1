"""Selection of the enabled plugins and optional method groups, from the chain spec and the command line."""

from collections.abc import Iterable

from node.runtime.errors import NodeError
from node.runtime.suggestions import alternatives
from rpc.declare.plugin_switches import OPTIONAL_GROUPS
from state.plugins.registry import PLUGINS
from state.protocol.spec import ChainSpec

PAGE = "docs/options/chain.md"
KNOWN = (*PLUGINS, *[group.name for group in OPTIONAL_GROUPS])
"""All names that a chain spec, `--enable` and `--disable` accept. Plugins are in the order of installation."""
ALL = "all"
"""Accepted by `--enable` and `--disable` for every name; other names given are exceptions."""


def chosen_plugins(spec: ChainSpec, enable: Iterable[str] = (), disable: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the names of the enabled plugins and method groups, in the order of KNOWN. Raises NodeError for unknown names."""
    enabled, disabled = set(enable), set(disable)
    for name in (*spec.plugins, *sorted(enabled), *sorted(disabled)):
        if name not in (*KNOWN, ALL):
            raise NodeError(f"there is no plugin {name}; {alternatives(name, KNOWN, PAGE)}")
    if both := sorted(enabled & disabled):
        raise NodeError(f"{', '.join(both)} can't be both enabled and disabled")
    by_default = set(KNOWN) if ALL in enabled else set() if ALL in disabled else set(spec.plugins)
    return tuple(name for name in KNOWN if name in (by_default | enabled) - disabled)
