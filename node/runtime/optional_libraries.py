"""Imports of optional libraries, which users install as extras."""

import importlib
from types import ModuleType
from typing import Literal

from node.runtime.errors import NodeError

Extra = Literal["data", "nats", "ray", "testcontainers"]


def load_extra(module: str, extra: Extra, *, what: str) -> ModuleType:
    """Import a module of an extra. If it is missing, raise NodeError with the install command; `what` names the feature that needs it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise NodeError(f"{what} needs {error.name}, which isn't installed; install it: {install_hint(extra)}") from None


def install_hint(extra: Extra) -> str:
    """Return the command that installs an extra."""
    return f"bin/coind install {extra}"
