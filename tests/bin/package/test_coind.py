"""The content of the wheel, and users' programs whose modules have the same names as the node's. `bin/test wheel` tests the rest."""

import ast
import re
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

import pytest

from node.version import VERSION
from tests.helpers.install_scenario import MODULES, InstallScenario
from tests.helpers.wheels import Installed

# ------------------------------------------------------------------ content of the wheel


def names(wheel: Path) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of the files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            yield name, archive.read(name).decode("utf-8", "replace")


def test_wheel_contains_one_top_level_package(package: Installed) -> None:
    found = [name for name, _ in names(package.wheel)]
    assert {name.partition("/")[0] for name in found} == {"coind", f"coind-{VERSION}.dist-info"}
    assert {"coind/py.typed", "coind/testing/__init__.py", "coind/genesis/dev.toml", "coind/rpc/explorer/web/index.html"} <= set(found)
    assert [name for name in found if "__pycache__" in name or "/tests/" in name] == []


def test_no_module_name_of_the_checkout_remains(package: Installed) -> None:
    texts = {name: text for name, text in names(package.wheel) if name.startswith("coind/")}
    assert [name for name, text in texts.items() if "bin/coind" in text] == []
    tops = {
        (name, (node.module or "").partition(".")[0] if isinstance(node, ast.ImportFrom) else alias.name.partition(".")[0])
        for name, text in texts.items()
        if name.endswith(".py")
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    assert [(name, top) for name, top in tops if top in MODULES] == []
    assert [name for name, text in texts.items() if re.search(r"[\"'](node|state|rpc)(\.[a-z_]+)+:[a-z_]+[\"']", text)] == []


def test_metadata(package: Installed) -> None:
    [text] = [text for name, text in names(package.wheel) if name.endswith(".dist-info/METADATA")]
    found = Parser().parsestr(text)
    assert (found["Name"], found["Version"], found["License-Expression"], found["Metadata-Version"]) == ("coind", VERSION, "MIT", "2.4")
    assert found.get_all("Provides-Extra") == ["data", "nats", "ray", "testcontainers"]
    assert {"Framework :: Trio", "Framework :: Pytest", "Typing :: Typed"} <= set(found.get_all("Classifier") or ())
    assert any(name.endswith("/licenses/LICENSE") for name, _ in names(package.wheel))


# ------------------------------------------------------------------ users' programs


@pytest.mark.parametrize("step", ["library", "testing", "plugin"])
def test_user_program_runs(journey: InstallScenario, step: str) -> None:
    assert journey.take(step)


def test_installed_extra_data(journey: InstallScenario) -> None:
    """Checks only the installation. `bin/test wheel`, and the pages that `tests/docs` follows, test the functions of the extra."""
    assert journey.coind("install", "data") == "data is installed\n"
