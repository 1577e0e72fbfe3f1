"""`coind install`: installs optional dependencies.

In a checkout, the launcher script installs them before this code runs. In an installed package, this code runs pip in the package's
environment, or uv.
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

# The modules that show whether an extra is installed.
MODULES: dict[Extra, tuple[str, ...]] = {
    "data": ("pyarrow", "duckdb", "pandas"),
    "nats": ("nats",),
    "ray": ("ray", "grpc"),
    "testcontainers": ("testcontainers",),
}
HELP = "data: exports, SQL, reports; nats: blocks from a broker; ray: replay on a cluster; testcontainers: nodes in containers for tests."


def install_command(extra: Annotated[Extra, Parameter(help=HELP)], /) -> int:
    """Install optional dependencies: data, nats, ray or testcontainers."""
    if IS_INSTALLED and any(find_spec(module) is None for module in MODULES[extra]):
        install(packages_of(extra, requires("coind") or ()))
    for module in MODULES[extra]:
        load_extra(module, extra, what=f"the extra {extra}")
    say(f"{extra} is installed")
    return 0


def packages_of(extra: Extra, requirements: Sequence[str]) -> list[str]:
    """Return the packages of an extra with their versions, from the wheel's metadata.

    pip is given these packages instead of the wheel's own name, because a package index can have another project with that name.
    """
    pairs = [requirement.partition(";") for requirement in requirements]
    return [package.strip() for package, _, marker in pairs if marker.replace('"', "'").strip() == f"extra == '{extra}'"]


def install(packages: Sequence[str]) -> None:
    """Install packages into the environment of this process. Raises NodeError."""
    command = installer(packages)
    say(shlex.join(command))
    sys.stdout.flush()  # before the output of the command
    status = subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode
    if status:
        raise NodeError(f"{command[0]} failed with status {status}. Its output says why. To retry: {shlex.join(command)}")
    importlib.invalidate_caches()


def installer(packages: Sequence[str]) -> list[str]:
    """Return the command that installs packages for the Python of this process. Raises NodeError if neither pip nor uv is available.

    The command ignores the current folder, which could contain modules for Python or settings for uv, for example another package index.
    """
    if find_spec("pip"):
        return [sys.executable, "-P", "-m", "pip", "install", *packages]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--directory", sys.prefix, "--python", sys.executable, *packages]
    raise NodeError(
        f"{sys.executable} has no pip, and there is no uv. Install one of them, or install these packages: {shlex.join(packages)}"
    )
