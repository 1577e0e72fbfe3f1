"""Writes the lock files: `.venv/bin/python -m bin.lock [--upgrade]`. Needs uv (`pip install uv`) and a package index.

Without `--upgrade`, packages keep their locked versions if these are within the ranges of pyproject.toml. Each extra has its own file,
since pip can only install a complete file. A package has the same version in all files: the packages for the tests are locked first, and
constrain the others.
"""

import subprocess
import sys
from pathlib import Path

LOCKS = Path(__file__).resolve().parent
ROOT = LOCKS.parent.parent
PYTHON_MIN = "3.11.5"  # required by zensical's libraries; all others accept 3.11.0
UV = ["uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-header", "--python-version", PYTHON_MIN]
# For each profile, uv's options for the extras and dependency groups of pyproject.toml that it contains.
PROFILES = {
    "fuzz": ["--extra", "data", "--extra", "nats", "--group", "test", "--group", "fuzz"],
    "test": ["--extra", "data", "--extra", "nats", "--group", "test"],
    "ray": ["--extra", "ray"],
    "run": [],
    "data": ["--extra", "data"],
    "nats": ["--extra", "nats"],
    "testcontainers": ["--extra", "testcontainers"],
}


def main(options: list[str]) -> None:
    """Write the lock file of each profile."""
    written: list[str] = []
    for profile, parts in PROFILES.items():
        path = f"bin/lock/{profile}.txt"
        agreeing = [option for other in written for option in ("--constraint", other)]
        subprocess.run([*UV, *options, "--no-annotate", *parts, *agreeing, "--output-file", path, "pyproject.toml"], cwd=ROOT, check=True)
        written.append(path)


if __name__ == "__main__":
    main(sys.argv[1:])
