"""The wheel of this checkout and an environment with it installed, built once in each pytest run and shared by its workers."""

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

# Prefixes of the caller's environment variables that change Python's import path or the node's behaviour.
MISLEADING = ("PYTHON", "PYTEST", "COIND", "MYPY", "VIRTUAL_ENV")


class Installed(NamedTuple):
    """An environment with the wheel installed, in addition to the packages of this checkout's environment."""

    wheel: Path
    python: Path
    command: Path
    package: Path


@cache
def installed(base: Path) -> Installed:
    """Return the environment in `base`, the folder of the run's temporary files. The first process to call this creates it."""
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
    """Build the wheel, create an environment, and unpack the wheel into it as an installer does."""
    venv.create(folder, symlinks=True)
    wheel = built(folder)
    packages = packages_of(folder)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    # The dependencies come from this checkout's environment.
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    entries = ConfigParser()
    [text] = packages.glob("coind-*.dist-info/entry_points.txt")
    entries.read(text)
    for name, target in entries["console_scripts"].items():
        module, _, function = target.partition(":")
        script = folder / "bin" / name
        script.write_text(f"#!{folder / 'bin' / 'python'}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n")
        script.chmod(0o755)
    # Install the entry point of the pytest command, since the one in this checkout's environment doesn't load the plugin.
    runner = folder / "bin" / "pytest"
    runner.write_text(f"#!{folder / 'bin' / 'python'}\nimport sys\nimport pytest\nsys.exit(pytest.main())\n")
    runner.chmod(0o755)
    subprocess.run([folder / "bin" / "python", "-m", "compileall", "-q", packages / "coind"], env=clean_environment(folder), check=True)


def built(folder: Path) -> Path:
    """Build the wheel of this checkout into a folder and return its path."""
    [path] = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    return Path(path)


def packages_of(folder: Path) -> Path:
    """Return the site-packages folder of an environment."""
    return folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def clean_environment(home: Path) -> dict[str, str]:
    """Return the environment variables of a user without any from this checkout."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(MISLEADING)}
    return {**variables, "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home)}
