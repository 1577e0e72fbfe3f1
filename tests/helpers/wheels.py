"""The wheel of this checkout, installed in an environment that all workers of a pytest run share."""

import fcntl
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from configparser import ConfigParser
from functools import cache
from pathlib import Path
from typing import NamedTuple

from hatchling.builders.wheel import WheelBuilder

from tests.conftest import ROOT

# Of the caller: what would change where Python looks, or what a node does.
MISLEADING = ("PYTHON", "PYTEST", "COIND", "MYPY", "VIRTUAL_ENV")


class Installed(NamedTuple):
    """An environment with the wheel and the packages of this checkout's environment."""

    wheel: Path
    python: Path
    command: Path
    package: Path


@cache
def installed(base: Path) -> Installed:
    """Return the environment of a run whose temporary files are in `base`, created by the first process."""
    folder = base / "installed"
    with (base / "installed.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            fill(folder)
            (folder / "done").touch()
    packages = packages_of(folder)
    [wheel] = folder.glob("*.whl")
    return Installed(wheel, folder / "bin" / "python", folder / "bin" / "coind", packages / "coind")


def fill(folder: Path) -> None:
    """Build the wheel, make an environment, and lay the wheel out in it as an installer does."""
    venv.create(folder, symlinks=True)
    wheel = built(folder)
    packages = packages_of(folder)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    # What the wheel needs is there already.
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    entries = ConfigParser()
    [text] = packages.glob("coind-*.dist-info/entry_points.txt")
    entries.read(text)
    for name, target in entries["console_scripts"].items():
        module, _, function = target.partition(":")
        script = folder / "bin" / name
        script.write_text(f"#!{folder / 'bin' / 'python'}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n")
        script.chmod(0o755)
    # As `pip install pytest` would make it: the one of this checkout's own environment doesn't see the plugin.
    runner = folder / "bin" / "pytest"
    runner.write_text(f"#!{folder / 'bin' / 'python'}\nimport sys\nimport pytest\nsys.exit(pytest.main())\n")
    runner.chmod(0o755)
    subprocess.run([folder / "bin" / "python", "-m", "compileall", "-q", packages / "coind"], env=clean_environment(folder), check=True)


def built(folder: Path) -> Path:
    """Build the wheel of this checkout into a folder; returns its path."""
    [path] = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    return Path(path)


def packages_of(folder: Path) -> Path:
    """The folder of an environment that has its packages."""
    return folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def clean_environment(home: Path) -> dict[str, str]:
    """Environment variables of a user without this checkout."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(MISLEADING)}
    return {**variables, "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home)}
