"""The names that `--enable` and the `plugins` of chain specs accept: plugins, and optional groups of methods that need no plugin."""

from typing import Any

from msgspec import Struct

from state.plugins.plugin import Plugin


class OptionalGroup(Struct, frozen=True):
    """A group of methods that needs no plugin. It is served only if its name is enabled."""

    name: str


REWARDS_API = OptionalGroup("rewards_api")
OPTIONAL_GROUPS = (REWARDS_API,)

Switch = Plugin[Any] | OptionalGroup | str


def names_of(switch: Switch | tuple[Switch, ...]) -> tuple[str, ...]:
    """Return the names of one or more plugins or optional groups."""
    switches = switch if isinstance(switch, tuple) else (switch,)
    return tuple([one if isinstance(one, str) else one.name for one in switches])


def hint(names: tuple[str, ...]) -> str:
    """Return a hint that explains how to enable methods that need one of these plugins or groups."""
    kind = "group of methods" if all(name in {group.name for group in OPTIONAL_GROUPS} for name in names) else "plugin"
    options = " or ".join(f"--enable {name}" for name in names)
    return f"this needs the {kind} {' or '.join(names)}, which is off. Start the node with {options}"
