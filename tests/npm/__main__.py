"""Installs the npm package into a project, and runs the suites of docs/test-suites.md there: `bin/test npm`.

The project has the pinned versions of package-lock.json. npm installs them at the first run, which needs the network.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bin.npm import build
from tests.conftest import ROOT
from tests.docs.reader import Block, read_page
from tests.helpers.sessions import SESSION_SECONDS_MAX, make_once, report, totals

HERE = ROOT / "tests" / "npm"
PROJECT = {"name": "project", "private": True}
SUITES = {
    "types": ["tsc", "--project", "."],
    "types for a bundler": ["tsc", "--project", ".", "--module", "esnext", "--moduleResolution", "bundler"],
    "types for older settings": ["tsc", "--project", ".", "--module", "commonjs", "--moduleResolution", "node10"],
    "vitest, with dhive": ["vitest", "run", "--no-isolate", "--reporter=verbose", "wallet.test.ts", "worker.test.ts"],
    "vitest, a process for each file": ["vitest", "run", "--pool=forks", "wallet.test.ts", "worker.test.ts"],
    "vitest, in threads": ["vitest", "run", "--pool=threads", "wallet.test.ts", "worker.test.ts"],
    "jest, with dsteem": ["jest", "--rootDir", ".", "dsteem.test.js"],
    "mocha, with steem-js": ["mocha", "steem.test.js"],
    "mocha in parallel": ["mocha", "--parallel", "steem.test.js"],
}
OWN = ("tsconfig.json", "types.ts", "containers.test.mjs", "package.test.mjs")


def main() -> int:
    """Run every suite. The status is 0 if none failed."""
    missing = [tool for tool in ("node", "npm") if shutil.which(tool) is None]
    if missing:
        report(f"skip everything: {' and '.join(missing)} can't be found; it needs Node.js")
        return 0
    return totals(results())


def results() -> Iterator[str]:
    """Yield the result of each suite, and print it."""
    install = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(HERE)]
    make_once("test runners", HERE / "package-lock.json", HERE / "node_modules", [install])
    # In this folder, since packages of the folders above are found.
    with tempfile.TemporaryDirectory(prefix="project-", dir=HERE) as name:
        project = Path(name)
        archive = build(project)
        (project / "package.json").write_text(json.dumps(PROJECT))
        yield ran("npm installs the package", ["npm", "install", "--offline", "--no-audit", "--no-fund", f"./{archive.name}"], project)
        yield contents(archive, project / "node_modules" / "coind")
        for step in read_page(ROOT / "docs" / "test-suites.md"):
            if isinstance(step, Block) and step.name.endswith((".ts", ".js", ".mjs")):
                (project / step.name).write_text(step.text)
        for file in OWN:
            shutil.copy(HERE / file, project)
        for suite, command in SUITES.items():
            yield ran(suite, [str(HERE / "node_modules" / ".bin" / command[0]), *command[1:]], project)
        yield ran("errors and arguments", ["node", "--test", "package.test.mjs"], project)
        if has_image():
            yield ran("containers", ["node", "--test", "containers.test.mjs", "service.test.mjs"], project)
        else:
            yield report("skip containers: Docker has no image coind, which docs/deploy.md builds")


def has_image() -> bool:
    """Whether Docker is running, and has the image coind."""
    docker = shutil.which("docker")
    return docker is not None and subprocess.run([docker, "image", "inspect", "coind"], capture_output=True, check=False).returncode == 0


def contents(archive: Path, installed: Path) -> str:
    """Compare the archive with the files that npm itself would put into it. Return the result."""
    done = subprocess.run(["npm", "pack", "--dry-run", "--json"], cwd=installed, capture_output=True, text=True, check=True)
    packed = {each["path"] for each in json.loads(done.stdout)[0]["files"]}
    with tarfile.open(archive) as opened:
        ours = {name.removeprefix("package/") for name in opened.getnames()}
    return report("pass npm packs the same files" if packed == ours else f"fail npm packs other files: {sorted(packed ^ ours)}")


def ran(name: str, command: list[str], project: Path) -> str:
    """Run a command in the project, and return its result. Print its output if it fails."""
    environment = os.environ | {"COIND": str(ROOT / "bin" / "coind"), "NO_COLOR": "1"}
    done = subprocess.run(
        command,
        cwd=project,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=SESSION_SECONDS_MAX,
    )
    return report(f"fail {name}: {done.stdout}" if done.returncode else f"pass {name}")


if __name__ == "__main__":
    sys.exit(main())
