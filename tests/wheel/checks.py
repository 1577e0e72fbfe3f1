"""Compares the wheel with the checkout: both create the same files and continue from each other's data, and a user gets the types.

`bin/test wheel` runs it.
"""

import re
import subprocess
from pathlib import Path

import pytest

from node.version import VERSION
from tests.conftest import ROOT
from tests.helpers.install_scenario import CASE, CHAIN, InstallScenario, call
from tests.helpers.wheels import Installed, clean_environment

# A launcher of this checkout without the setup step.
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
def launcher(tmp_path: Path) -> Path:
    """The `coind` command of this checkout."""
    path = tmp_path / "launcher"
    path.write_text(LAUNCHER.format(root=ROOT, python=ROOT / ".venv" / "bin" / "python"))
    path.chmod(0o755)
    return path


def test_wheel_and_checkout_create_the_same_files(journey: InstallScenario, launcher: Path) -> None:
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
    # Each continues from the other's data.
    ends = [
        run("replay", str(CASE), "--chain", CHAIN, "--workers", "0", "--from", str(sorted((journey.folder / states).glob("*"))[0]))
        for run, states in ((journey.coind, "checkout-states"), (checkout, "wheel-states"))
    ]
    digests = {re.search(r"state digest: (\w+)", end) for end in ends}
    assert len({found[1] for found in digests if found}) == 1
    assert None not in digests


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of the files below a folder by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_checkout_continues_from_data_of_the_wheel(journey: InstallScenario, launcher: Path) -> None:
    with journey.running("--data", "data") as (url, _):
        journey.coind("tx", "transfer", "alice", "bob", "1.000 COIN", "--wait", "--url", url)
        described = call(url, "rpc.discover", {})
        call(url, "dev_api.dump", {"path": str(journey.folder / "of-wheel")})
    other = InstallScenario(journey.folder / "other", Path(journey.command), launcher, clean_environment(journey.folder), VERSION)
    with other.running("--data", str(journey.folder / "data")) as (url, _):
        assert "100001.000 COIN" in journey.coind("show", "account", "bob", "--url", url)
        assert call(url, "rpc.discover", {}) == described
    with other.running() as (url, _):
        # A dump contains the clock of its node, so only a dump that was loaded is dumped again unchanged.
        call(url, "dev_api.load", {"path": str(journey.folder / "of-wheel")})
        call(url, "dev_api.dump", {"path": str(journey.folder / "of-checkout")})
    assert (journey.folder / "of-wheel").read_bytes() == (journey.folder / "of-checkout").read_bytes()


def test_user_gets_types_without_errors(package: Installed, tmp_path: Path) -> None:
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
