"""The workflows in .github: their commands exist, they use the Python versions in pyproject.toml, and each job has only the permissions it
needs.
"""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.conftest import ROOT

FOLDER = ROOT / ".github"
NAMES = ("ci", "nightly", "release")
# Commands of the runner's operating system, and of the action.
FOREIGN = {"coind", "docker", "gh", "pipx", "rm", "sudo"}
MATRIX = "${{ matrix.run }}"
# Write permissions for publishing the site, attesting the origin of a release, and creating it.
RIGHTS = {"ci": {"pages", "id-token"}, "nightly": set(), "release": {"contents", "id-token", "attestations"}}
CLASSIFIER = "Programming Language :: Python :: 3."


@cache
def workflow(name: str) -> dict[Any, Any]:
    """Return the content of a workflow."""
    found = yaml.safe_load((FOLDER / "workflows" / f"{name}.yml").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def commands(name: str) -> Iterator[str]:
    """Yield every command of a workflow, including those in its matrix."""
    for job in workflow(name)["jobs"].values():
        for step in job["steps"]:
            if step.get("run") == MATRIX:
                yield from (each["run"] for each in job["strategy"]["matrix"]["include"])
            else:
                yield from step.get("run", "").splitlines()


def wrong(command: str) -> str:
    """Return the error in a command, or "" if everything that it names exists."""
    program, *rest = command.split()
    if program in FOREIGN:
        return ""
    if program.rsplit("/", 1)[-1] in ("python", "python3"):
        module = rest[1] if rest[:1] == ["-m"] else ""
        return "" if module and find_spec(module) else f"{command}: there is no such module"
    if not (ROOT / program).is_file():
        return f"{command}: there is no such file"
    if program == "bin/test" and rest and rest[0] not in long_runs():
        return f"{command}: bin/test has no long run {rest[0]}"
    return ""


def long_runs() -> set[str]:
    """Return the names of the long tests, from the branches of bin/test."""
    text = (ROOT / "bin" / "test").read_text(encoding="utf-8")
    branches = re.findall(r"^(\w+(?: \| \w+)*)\)", text, re.MULTILINE)
    return {name for branch in branches for name in branch.split(" | ")}


@pytest.mark.parametrize("name", NAMES)
def test_every_command_exists(name: str) -> None:
    assert [problem for command in commands(name) if (problem := wrong(command))] == []


def test_nightly_workflow_includes_every_long_test() -> None:
    nightly = {command.split()[1] for command in commands("nightly") if command.startswith("bin/test")}
    in_ci = {command.split()[1] for command in commands("ci") if command.startswith("bin/test")}
    assert nightly | in_ci == long_runs()
    assert nightly & in_ci == set(), "the nightly workflow repeats a command of every push"


def test_python_versions_match_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = workflow("ci")["jobs"]["tests"]["strategy"]["matrix"]["python"]
    assert versions == [f"3.{text.removeprefix(CLASSIFIER)}" for text in project.get("classifiers", ()) if text.startswith(CLASSIFIER)]
    assert project["requires-python"] == f">={versions[0]}"
    texts = [(FOLDER / "workflows" / f"{name}.yml").read_text(encoding="utf-8") for name in NAMES]
    used = {version for text in texts for version in re.findall(r'python-version: "(.*)"', text)}
    assert used <= set(versions)


def test_launcher_accepts_every_python_version() -> None:
    ready = (ROOT / "bin" / "ensure_venv.sh").read_text(encoding="utf-8")
    for version in workflow("ci")["jobs"]["tests"]["strategy"]["matrix"]["python"]:
        assert f" python{version} " in ready


@pytest.mark.parametrize("name", NAMES)
def test_permissions_are_minimal_and_jobs_time_out(name: str) -> None:
    content = workflow(name)
    assert content["permissions"] == {"contents": "read"}
    assert content["concurrency"]["group"]
    given = set()
    for job in content["jobs"].values():
        assert isinstance(job["timeout-minutes"], int | str)
        given |= {right for right, level in job.get("permissions", {}).items() if level == "write"}
        for step in job["steps"]:
            assert not step.get("uses", "").startswith("actions/checkout") or step["with"] == {"persist-credentials": False}
            # Text from outside is never part of a shell command.
            assert step.get("run") == MATRIX or "${{" not in step.get("run", "")
    assert given == RIGHTS[name]


def test_actions_have_a_version() -> None:
    used = [step["uses"] for name in NAMES for job in workflow(name)["jobs"].values() for step in job["steps"] if "uses" in step]
    used.remove("./")
    versions: dict[str, set[str]] = {}
    for text in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+|[0-9a-f]{40})", text), text
        versions.setdefault(text.split("@")[0], set()).add(text)
    assert [each for each in versions.values() if len(each) > 1] == [], "an action is used in two versions"
