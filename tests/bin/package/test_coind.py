"""The wheel, installed and used by somebody whose own modules have the names of the node's: what is in it, and that it does what the
checkout does.
"""

import ast
import re
import subprocess
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

import pytest

from node.version import VERSION
from tests.conftest import ROOT
from tests.helpers.journey import CASE, CHAIN, MODULES, STEPS, Journey, call
from tests.helpers.wheels import Installed, clean_environment

# The launcher of this checkout for tests, which sets nothing up.
LAUNCHER = """#!/bin/sh
PYTHONPATH="{root}" exec "{python}" -P -m node "$@"
"""
CLIENT = """
from coind.data import chain_at
from coind.testing import LocalChain

chain = LocalChain()
reveal_type(chain.snapshot())
with chain_at("block_log", 1) as moment:
    reveal_type(moment.digest)
chain.mine("three")
"""


@pytest.fixture
def journey(package: Installed, tmp_path: Path) -> Journey:
    """A user's folder."""
    return Journey(tmp_path / "user", package.python, package.command, clean_environment(tmp_path), VERSION)


@pytest.fixture
def launcher(tmp_path: Path) -> Path:
    """The command of this checkout."""
    path = tmp_path / "launcher"
    path.write_text(LAUNCHER.format(root=ROOT, python=ROOT / ".venv" / "bin" / "python"))
    path.chmod(0o755)
    return path


# ------------------------------------------------------------------ what is in it


def names(wheel: Path) -> Iterator[tuple[str, str]]:
    """Yield the names of the files in a wheel, and their texts."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            yield name, archive.read(name).decode("utf-8", "replace")


def test_it_claims_one_name(package: Installed) -> None:
    found = [name for name, _ in names(package.wheel)]
    assert {name.partition("/")[0] for name in found} == {"coind", f"coind-{VERSION}.dist-info"}
    assert {"coind/py.typed", "coind/testing.py", "coind/genesis/dev.toml", "coind/rpc/explorer/web/index.html"} <= set(found)
    assert [name for name in found if "__pycache__" in name or "/tests/" in name] == []


def test_no_name_of_the_checkout_is_left(package: Installed) -> None:
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


def test_its_metadata_says_what_it_is(package: Installed) -> None:
    [text] = [text for name, text in names(package.wheel) if name.endswith(".dist-info/METADATA")]
    found = Parser().parsestr(text)
    assert (found["Name"], found["Version"], found["License-Expression"], found["Metadata-Version"]) == ("coind", VERSION, "MIT", "2.4")
    assert found.get_all("Provides-Extra") == ["data", "nats", "ray"]
    assert {"Framework :: Trio", "Framework :: Pytest", "Typing :: Typed"} <= set(found.get_all("Classifier") or ())
    assert any(name.endswith("/licenses/LICENSE") for name, _ in names(package.wheel))


# ------------------------------------------------------------------ what it does


@pytest.mark.parametrize("step", [step for step in STEPS if step != "snapshots"])
def test_a_step_of_a_user(journey: Journey, step: str) -> None:
    assert journey.take(step)
    if step == "node":
        assert journey.take("snapshots")


def test_somebody_has_the_extra_data(journey: Journey) -> None:
    """What it is for is done by the pages that `tests/docs` follows, and by `bin/test wheel`."""
    assert journey.coind("install", "data") == "data is installed\n"


def test_what_the_wheel_and_the_checkout_make_is_the_same(journey: Journey, launcher: Path) -> None:
    def checkout(*words: str) -> str:
        return subprocess.run([launcher, *words], cwd=journey.folder, capture_output=True, text=True, check=True).stdout

    options = ("--chain", CHAIN, "--snapshot-every", "20", "--workers", "0")
    for name, run in (("wheel", journey.coind), ("checkout", checkout)):
        run("replay", str(CASE), *options, "--snapshots", f"{name}-states")
        run("export", str(CASE), "--chain", CHAIN, "--to", f"{name}-export", "--tables", "accounts", "--format", "jsonl")
    for kind in ("states", "export"):
        ours, theirs = (files(journey.folder / f"{name}-{kind}") for name in ("wheel", "checkout"))
        assert ours == theirs
        assert ours
    # Each goes on from what the other has made.
    ends = [
        run("replay", str(CASE), "--chain", CHAIN, "--workers", "0", "--from", str(sorted((journey.folder / states).glob("*"))[0]))
        for run, states in ((journey.coind, "checkout-states"), (checkout, "wheel-states"))
    ]
    digests = {re.search(r"state digest: (\w+)", end) for end in ends}
    assert len({found[1] for found in digests if found}) == 1
    assert None not in digests


def files(folder: Path) -> dict[str, bytes]:
    """The content of the files below a folder, by their paths."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_checkout_goes_on_from_the_data_of_the_wheel(journey: Journey, launcher: Path) -> None:
    with journey.running("--data", "data") as (url, _):
        journey.coind("tx", "transfer", "alice", "bob", "1.000 COIN", "--wait", "--url", url)
        described = call(url, "rpc.discover", {})
        call(url, "dev_api.dump", {"path": str(journey.folder / "of-wheel")})
    other = Journey(journey.folder / "other", Path(journey.command), launcher, clean_environment(journey.folder), VERSION)
    with other.running("--data", str(journey.folder / "data")) as (url, _):
        assert "100001.000 COIN" in journey.coind("show", "account", "bob", "--url", url)
        assert call(url, "rpc.discover", {}) == described
    with other.running() as (url, _):
        # A dump holds the clock of its node, so that only one which was loaded comes out again as it was.
        call(url, "dev_api.load", {"path": str(journey.folder / "of-wheel")})
        call(url, "dev_api.dump", {"path": str(journey.folder / "of-checkout")})
    assert (journey.folder / "of-wheel").read_bytes() == (journey.folder / "of-checkout").read_bytes()


# ------------------------------------------------------------------ its types


def test_a_user_has_its_types_and_none_of_its_problems(package: Installed, tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text(CLIENT)
    (tmp_path / "mypy.ini").write_text("[mypy]\n")
    command: list[str | Path] = [ROOT / ".venv/bin/python", "-m", "mypy", "--strict", "--python-executable", package.python, "client.py"]
    done = subprocess.run(command, cwd=tmp_path, env=clean_environment(tmp_path), capture_output=True, text=True, check=False)
    assert [line.partition(" ")[2] for line in done.stdout.splitlines()] == [
        'note: Revealed type is "int"',
        'note: Revealed type is "str"',
        'error: Argument 1 to "mine" of "DevApi" has incompatible type "str"; expected "int"  [arg-type]',
        "1 error in 1 file (checked 1 source file)",
    ], done.stdout + done.stderr
