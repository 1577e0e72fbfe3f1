"""Tests the launchers in a fake checkout of shell scripts: when they start the program immediately, and when they run the setup first. Also
tests that the lock files include all imported packages.
"""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import distributions, packages_distributions, requires
from pathlib import Path
from typing import get_args

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bin.lock.__main__ import LOCKS, PROFILES
from node.cli.optional_libraries import MODULES
from node.runtime.optional_libraries import Extra
from tests.conftest import ROOT
from tests.helpers.sources import FOLDERS, imports, sources

SETUP_STATUS = 7
# The packages that the sessions of clients, browser, broker, Jupyter and Spark import are pinned by files next to these sessions.
CLIENTS = "tests/clients/"
EXPLORER = "tests/explorer/"
INDEXERS = "tests/indexers/"
NATS = "tests/nats/"
NOTEBOOK = "tests/notebook/"
SITE = "tests/site/"
SPARK = "tests/spark/"
# The long tests that the head of bin/test lists.
LONG = re.findall(r"^#   bin/test (\w+)", (ROOT / "bin" / "test").read_text("utf-8"), re.MULTILINE)
EXTRAS = tuple(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"])
# The pytest plugin imports the package by its name in the wheel, and a benchmark imports a client's session.
OWN = {"coind", "beem"}


def script(path: Path, text: str) -> None:
    """Write an executable script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A fake checkout after setup, in a path with spaces. Its Python prints its arguments; the system's Python fails."""
    root = tmp_path / "a check out"
    (root / "bin").mkdir(parents=True)
    for name in ("coind", "test", "ensure_venv.sh"):
        shutil.copy(ROOT / "bin" / name, root / "bin" / name)
    shutil.copytree(ROOT / "bin" / "lock", root / "bin" / "lock")
    script(root / ".venv/bin/python", 'printf "%s|" "$PYTHONPATH" "$PWD" "$@"')
    notes = root / ".venv/lib/coind"
    notes.mkdir(parents=True)
    (notes / "made-for").write_text(f"{root}\n")
    shutil.copy(root / "bin/lock/run.txt", notes)
    script(tmp_path / "system/python3", f'case "$*" in *setup.py*) echo "$@"; exit {SETUP_STATUS};; esac')
    return root


def start(launcher: Path, *arguments: str, folder: Path) -> tuple[int, str]:
    """Run a launcher in a folder and return its exit status and output."""
    path = f"{folder / 'system'}:/usr/bin:/bin"
    done = subprocess.run([launcher, *arguments], cwd=folder, env={"PATH": path}, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_ready_checkout_starts_without_setup(checkout: Path, tmp_path: Path) -> None:
    status, output = start(checkout / "bin/coind", "run", "--data", "a b", folder=tmp_path)
    assert (status, output) == (0, f"{checkout}|{tmp_path}|-P|-m|node|run|--data|a b|")


def test_launcher_unsets_pythondontwritebytecode(checkout: Path, tmp_path: Path) -> None:
    script(checkout / ".venv/bin/python", 'printf "%s" "${PYTHONDONTWRITEBYTECODE-unset}"')
    launcher = checkout / "bin" / "coind"
    environment = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([launcher, "run"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "unset"


def test_symbolic_link_starts_its_target(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "first").symlink_to(checkout / "bin/coind")
    (tmp_path / "second").symlink_to("first")
    assert start(tmp_path / "second", "version", folder=tmp_path) == (0, f"{checkout}|{tmp_path}|-P|-m|node|version|")


CHANGED = ["bin/lock/run.txt", ".venv/bin/python", ".venv/lib/coind/run.txt", ".venv/lib/coind/made-for", ".venv"]


@pytest.mark.parametrize("missing", CHANGED)
def test_change_triggers_setup(checkout: Path, tmp_path: Path, missing: str) -> None:
    changed = checkout / missing
    if missing.endswith(("txt", "made-for")):
        changed.write_text("other\n")
    else:
        changed.rename(tmp_path / "away")
    status, output = start(checkout / "bin/coind", "run", folder=tmp_path)
    assert (status, output) == (SETUP_STATUS, f"-I {checkout}/bin/setup.py run\n")


@pytest.mark.parametrize("name", LONG)
def test_long_tests_start_with_their_profile(checkout: Path, tmp_path: Path, name: str) -> None:
    needed = name if name in ("fuzz", "ray") else "test"
    assert start(checkout / "bin/test", name, "--count", "1", folder=tmp_path) == (SETUP_STATUS, f"-I {checkout}/bin/setup.py {needed}\n")
    shutil.copy(checkout / f"bin/lock/{needed}.txt", checkout / ".venv/lib/coind")
    module = {"simulate": "simulation", "walks": "random_walks", "forks": "fork"}.get(name, name)
    assert start(checkout / "bin/test", name, "--count", "1", folder=tmp_path) == (0, f"|{checkout}|-m|tests.{module}|--count|1|")


def test_a_moved_checkout_is_set_up_again(checkout: Path, tmp_path: Path) -> None:
    moved = checkout.rename(tmp_path / "moved")
    assert start(moved / "bin/coind", "run", folder=tmp_path) == (SETUP_STATUS, f"-I {moved}/bin/setup.py run\n")


def locked(profile: str) -> dict[str, str]:
    """Return the locked version of each package of a profile, keyed by the package's canonical name."""
    lines = (LOCKS / f"{profile}.txt").read_text("utf-8").splitlines()
    found = [Requirement(line.removesuffix(" \\")) for line in lines if line[:1].isalpha()]
    return {canonicalize_name(each.name): str(each.specifier).removeprefix("==") for each in found}


def requirements() -> list[Requirement]:
    """Return the wheel's requirements, including its extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [Requirement(text) for each in (project["dependencies"], *project["optional-dependencies"].values()) for text in each]


def test_wheel_version_ranges_include_locked_versions() -> None:
    versions = locked("fuzz") | locked("ray") | locked("testcontainers")
    for need in requirements():
        assert {each.operator for each in need.specifier} == {">=", "<"}, need
        assert need.specifier.contains(versions[canonicalize_name(need.name)]), need


def test_wheel_requires_every_imported_package() -> None:
    """A package that is installed only because another package requires it can disappear when that other package is updated."""
    known = {canonicalize_name(need.name) for need in requirements()}
    packages = packages_distributions()
    tops = {top for path, top in foreign() if path.startswith(("node/", "rpc/", "state/"))}
    assert {top for top in tops if not {canonicalize_name(name) for name in packages.get(top, [top])} & known} == set()


def test_each_package_has_one_locked_version() -> None:
    found = [set(locked(profile).items()) for profile in PROFILES]
    every = set().union(*found)
    assert len(dict(every)) == len(every)
    assert set(locked("run").items()) < set(locked("test").items()) < set(locked("fuzz").items())


def test_lock_files_contain_pyproject_requirements() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = {"run": project["project"]["dependencies"], **project["project"]["optional-dependencies"], **project["dependency-groups"]}
    assert set(groups) == set(PROFILES)
    for profile, named in groups.items():
        assert {canonicalize_name(Requirement(text).name) for text in named} <= set(locked(profile))


def test_extras_have_the_same_names_everywhere() -> None:
    assert set(get_args(Extra)) == set(MODULES) == set(EXTRAS)


@pytest.mark.parametrize("extra", EXTRAS)
def test_requested_extra_is_installed(checkout: Path, tmp_path: Path, extra: str) -> None:
    assert start(checkout / "bin/coind", "install", extra, folder=tmp_path) == (SETUP_STATUS, f"-I {checkout}/bin/setup.py {extra}\n")
    shutil.copy(checkout / f"bin/lock/{extra}.txt", checkout / ".venv/lib/coind")
    assert start(checkout / "bin/coind", "install", extra, folder=tmp_path)[0] == 0


def test_indirect_dependencies_are_locked() -> None:
    """pip installs only the packages in the lock file, so the file must also list the packages that those packages require."""
    needed = [(name, Requirement(text)) for name in sorted(set(locked("test")) & installed()) for text in requires(name) or []]
    wanted = [(name, need) for name, need in needed if need.marker is None or need.marker.evaluate({"extra": ""})]
    assert [f"{name} needs {need}" for name, need in wanted if canonicalize_name(need.name) not in locked("test")] == []
    assert {name for name, _ in needed} <= installed()


def installed() -> set[str]:
    """Return the names of the installed packages."""
    return {canonicalize_name(each.name) for each in distributions()}


@cache
def foreign() -> set[tuple[str, str]]:
    """Return the third-party packages that our code imports, each with the file that imports it."""
    own = {*sys.stdlib_module_names, *FOLDERS, *OWN}
    return {(source.path, top) for source in sources() for _, name in imports(source) if (top := name.partition(".")[0]) not in own}


def test_imported_packages_are_locked() -> None:
    known = set(locked("fuzz") | locked("ray") | locked("testcontainers"))
    packages = packages_distributions()
    pinned_elsewhere = (CLIENTS, EXPLORER, INDEXERS, NATS, NOTEBOOK, SITE, SPARK)
    found = [(path, top) for path, top in sorted(foreign()) if not path.startswith(pinned_elsewhere)]
    # Packages that aren't installed, for example those only for fuzzing, count under their import name.
    assert [(path, top) for path, top in found if not {canonicalize_name(name) for name in packages.get(top, [top])} & known] == []


@pytest.mark.parametrize(
    ("folder", "names"),
    [
        (EXPLORER, {"playwright", "axe-playwright-python"}),
        (NOTEBOOK, {"nbclient", "nbconvert", "matplotlib", "playwright"}),
        (SPARK, {"pyspark", "py4j", "chdb"}),
    ],
)
def test_session_dependencies_are_pinned(folder: str, names: set[str]) -> None:
    lines = [line for pins in sorted((ROOT / folder).glob("*.txt")) for line in pins.read_text().splitlines()]
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []
    assert names <= {canonicalize_name(Requirement(line).name) for line in lines}


def test_client_dependencies_are_pinned() -> None:
    for pins in (ROOT / CLIENTS).glob("*/requirements.txt"):
        lines = [line for line in pins.read_text().splitlines() if not line.startswith("#")]
        assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []
        assert canonicalize_name(pins.parent.name) in {canonicalize_name(Requirement(line).name) for line in lines}
    for package in (ROOT / CLIENTS).glob("*/package.json"):
        asked = json.loads(package.read_bytes())["dependencies"]
        locked = json.loads((package.parent / "package-lock.json").read_bytes())["packages"]
        assert {name: locked[f"node_modules/{name}"]["version"] for name in asked} == asked
