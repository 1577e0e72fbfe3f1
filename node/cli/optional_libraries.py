"""`coind install`: adds what only some users need.

In a checkout the launcher has done it before this is called. An installed package asks the pip of its own environment, or uv.
"""

import importlib
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import requires
from importlib.util import find_spec
from typing import Annotated

from cyclopts import Parameter

from node.runtime.errors import NodeError
from node.runtime.install_location import IS_INSTALLED
from node.runtime.optional_libraries import Extra, load_extra
from node.runtime.output import say

# A module of each, which shows whether it is there.
MODULES: dict[Extra, tuple[str, ...]] = {"data": ("pyarrow", "duckdb", "pandas"), "nats": ("nats",), "ray": ("ray", "grpc")}


def install_command(
    extra: Annotated[Extra, Parameter(help="data: exports, SQL, reports; nats: blocks by a broker; ray: replay in parallel.")], /
) -> int:
    """Add what only some users need."""
    if IS_INSTALLED and any(find_spec(module) is None for module in MODULES[extra]):
        install(packages_of(extra, requires("coind") or ()))
    for module in MODULES[extra]:
        load_extra(module, extra, what=f"the extra {extra}")
    say(f"{extra} is installed")
    return 0


def packages_of(extra: Extra, requirements: Sequence[str]) -> list[str]:
    """Return the packages of an extra, with the versions that fit, from what the wheel says of itself.

    The wheel isn't named to pip: a package index may have another project of this name.
    """
    pairs = [requirement.partition(";") for requirement in requirements]
    return [package.strip() for package, _, marker in pairs if marker.replace('"', "'").strip() == f"extra == '{extra}'"]


def install(packages: Sequence[str]) -> None:
    """Install packages into the environment of this process. Raises NodeError."""
    command = installer(packages)
    say(shlex.join(command))
    sys.stdout.flush()  # before what the command prints
    status = subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode
    if status:
        raise NodeError(f"{command[0]} ended with status {status}; what it needs stands above. To try once more: {shlex.join(command)}")
    importlib.invalidate_caches()


def installer(packages: Sequence[str]) -> list[str]:
    """Return the command that installs packages for the Python of this process. Raises NodeError where there is neither pip nor uv.

    The caller's folder has no say in it: Python would take modules from there, and uv settings, such as another index.
    """
    if find_spec("pip"):
        return [sys.executable, "-P", "-m", "pip", "install", *packages]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--directory", sys.prefix, "--python", sys.executable, *packages]
    raise NodeError(
        f"{sys.executable} has no pip, and there is no uv; add one of them, or install this by other means: {shlex.join(packages)}"
    )
