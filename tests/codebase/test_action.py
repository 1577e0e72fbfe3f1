"""The action in action.yml. Its step, run in the same way as on GitHub, starts a node and writes the job's environment."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import yaml  # type: ignore[import-untyped]

from tests.conftest import ROOT

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
[STEP] = ACTION["runs"]["steps"]
FILES = ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH")


def run_step(folder: Path, inputs: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the step in an empty folder, with these inputs besides the defaults."""
    given = {f"${{{{ inputs.{name} }}}}": inputs.get(name, each["default"]) for name, each in ACTION["inputs"].items()}
    environment = {name: text for name, text in os.environ.items() if not name.startswith("COIND")}
    environment |= {name: given[expression] for name, expression in STEP["env"].items()}
    environment |= {name: str(folder / name) for name in FILES} | {"RUNNER_TEMP": str(folder), "GITHUB_ACTION_PATH": str(ROOT)}
    script = folder / "step.sh"
    script.write_text(STEP["run"], encoding="utf-8")
    # The options of `shell: bash` on GitHub.
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_step_starts_node_and_writes_environment(tmp_path: Path) -> None:
    done = run_step(tmp_path, {"chain": "dev-tests", "options": "--accounts 3 --witnesses 2"})
    [ready] = tmp_path.glob("coind-*/node.json")
    node = json.loads(ready.read_bytes())
    try:
        assert done.returncode == 0, done.stdout + done.stderr
        variables, outputs = (dict(line.split("=", 1) for line in (tmp_path / name).read_text().splitlines()) for name in FILES[:2])
        assert node["chain"] == "dev-tests"
        assert outputs == {"url": node["address"], "chain-id": node["chain_id"]}
        assert {f"${{{{ steps.{STEP['id']}.outputs.{name} }}}}" for name in outputs} == {
            each["value"] for each in ACTION["outputs"].values()
        }
        assert (variables["COIND_URL"], variables["CHAIN_ID"]) == (node["address"], node["chain_id"])
        assert json.loads(variables["CHAIN_KEYS"])["alice"]["active"].startswith("5")
        with urlopen(f"{variables['COIND_URL']}/health") as reply:
            assert reply.status == 200
        [path] = (tmp_path / "GITHUB_PATH").read_text().splitlines()
        assert os.listdir(path) == ["coind"]
    finally:
        os.kill(node["pid"], signal.SIGTERM)


def test_node_that_does_not_start_fails_the_step(tmp_path: Path) -> None:
    done = run_step(tmp_path, {"chain": "no-such-chain"})
    assert done.returncode == 1
    assert "no-such-chain" in done.stdout
