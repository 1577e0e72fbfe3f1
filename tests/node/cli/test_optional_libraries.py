"""`coind install` in an installed package: the command that it runs, and its error messages when the installation fails."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from node.cli import optional_libraries
from node.cli.optional_libraries import install, installer, packages_of
from node.runtime.errors import NodeError
from tests.helpers.golden import fails

REQUIRES = [
    "trio<1,>=0.31",
    "duckdb<3,>=1.4; extra == 'data'",
    'pyarrow<27,>=18 ; extra == "data"',
    "nats-py<3,>=2.13; extra == 'nats'",
]


def test_an_extra_is_what_the_wheel_says_of_it() -> None:
    assert packages_of("data", REQUIRES) == ["duckdb<3,>=1.4", "pyarrow<27,>=18"]
    assert packages_of("nats", REQUIRES) == ["nats-py<3,>=2.13"]


def test_the_pip_of_the_environment_comes_first_then_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert installer(["duckdb<3"]) == [sys.executable, "-P", "-m", "pip", "install", "duckdb<3"]
    monkeypatch.setattr(optional_libraries, "find_spec", lambda name: None)
    assert installer(["duckdb<3"]) == ["/usr/bin/uv", "pip", "install", "--directory", sys.prefix, "--python", sys.executable, "duckdb<3"]


def test_modules_of_the_callers_folder_are_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("pip.py", "json.py"):
        (tmp_path / name).write_text("raise SystemExit('a module of the folder was run')", "utf-8")
    monkeypatch.chdir(tmp_path)
    ran = subprocess.run([*installer([]), "--help"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "pip install" in ran.stdout


def test_without_pip_and_uv_the_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optional_libraries, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with fails(NodeError):
        installer(["duckdb<3,>=1.4"])


def test_an_installer_that_fails_is_shown_as_one_can_type_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optional_libraries, "installer", lambda packages: [sys.executable, "-c", "raise SystemExit(3)", *packages])
    with fails(NodeError):
        install(["duckdb<3"])
