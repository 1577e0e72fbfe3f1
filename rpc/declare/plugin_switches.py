"""What `--enable` and the `plugins` of a chain spec can name for methods: plugins, and groups of methods that need none."""

from typing import Any

from msgspec import Struct

from state.plugins.plugin import Plugin


class OptionalGroup(Struct, frozen=True):
    """A group of methods that works without any plugin, but is served only where it is enabled by its name."""

    name: str


REWARDS_API = OptionalGroup("rewards_api")
OPTIONAL_GROUPS = (REWARDS_API,)

Switch = Plugin[Any] | OptionalGroup | str


def names_of(switch: Switch | tuple[Switch, ...]) -> tuple[str, ...]:
    """Return the names of one or several switches."""
    switches = switch if isinstance(switch, tuple) else (switch,)
    return tuple([one if isinstance(one, str) else one.name for one in switches])


def hint(names: tuple[str, ...]) -> str:
    """Say how to get methods that need one of these switches, when all of them are off."""
    kind = "group of methods" if all(name in {group.name for group in OPTIONAL_GROUPS} for name in names) else "plugin"
    options = " or ".join(f"--enable {name}" for name in names)
    return f"this needs the {kind} {' or '.join(names)}, which is off; start the node with {options}"
