"""The command line of the wheel's long test: `bin/test wheel [--python PATH]... [--lowest]`.

It compares the wheel with the checkout (checks.py), builds the sdist, and builds the wheel from the sdist alone. For every Python it finds,
it installs the wheel into a separate environment and runs a user's steps there, in an empty folder with a clean environment. For the first
Python, `coind install` adds the extra `data`. This needs a package index. `--lowest` uses uv to install the lowest versions that
pyproject.toml allows. At the end it prints a table of results. The status is 1 if a step failed.
"""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from email.parser import Parser
from pathlib import Path

from packaging.requirements import Requirement

from tests.conftest import ROOT
from tests.helpers.install_scenario import DATA_STEPS, NO_DATA_STEPS, STEPS, InstallError, InstallScenario
from tests.helpers.wheels import built, clean_environment

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
PYENV = "~/.pyenv/versions/*/bin/python{}"
EXTRA = "data"
MEBIBYTE = 2**20

Row = tuple[str, str, str, str]
"""A line of the table: Python, the step, how many seconds it took, and what was seen."""


def main() -> int:
    """Build everything and run the steps with each Python. Return the exit status."""
    parser = argparse.ArgumentParser(prog="bin/test wheel", description="Installs the wheel for each Python, and uses it there.")
    parser.add_argument("--python", action="append", default=[], metavar="PATH", help="a Python executable; can be repeated (default: all)")
    parser.add_argument("--lowest", action="store_true", help="install the lowest allowed versions (needs uv)")
    given = parser.parse_args()
    pythons = [Path(path) for path in given.python] or found()
    if given.lowest and shutil.which("uv") is None:
        parser.error("--lowest needs uv on the PATH: pip install uv")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="coind-wheel-") as name:
        compare(rows)
        wheel = build(Path(name), rows)
        for place, python in enumerate(pythons):
            travel(python, wheel, Path(name) / f"at-{place}", rows, lowest=given.lowest, adds=place == 0)
    show(rows)
    return 1 if any(seen.startswith("FAILED") for *_, seen in rows) else 0


def compare(rows: list[Row]) -> None:
    """Run tests/wheel/checks.py, which compares the wheel with this checkout, and append the result to the table."""
    begun = time.monotonic()
    try:
        run([sys.executable, "-m", "pytest", "tests/wheel/checks.py"], ROOT)
    except InstallError as error:
        note(rows, "", "beside the checkout", begun, f"FAILED: {error}")
    else:
        note(rows, "", "beside the checkout", begun, "the same")


def found() -> list[Path]:
    """Return one Python of each supported version, from the PATH or from pyenv."""
    named = [path for version in VERSIONS if (path := shutil.which(f"python{version}"))]
    candidates = [*named, *(path for version in VERSIONS for path in glob.glob(os.path.expanduser(PYENV.format(version))))]
    pythons: dict[str, Path] = {}
    for path in candidates:
        asked = [path, "-c", "import sys, venv, ensurepip; print('{}.{}'.format(*sys.version_info), sys.executable)"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        version, _, program = done.stdout.strip().partition(" ")
        if version in VERSIONS:
            pythons.setdefault(version, Path(program))
    return [pythons[version] for version in VERSIONS if version in pythons]


def build(folder: Path, rows: list[Row]) -> Path:
    """Build the sdist, the wheel from the sdist, and the wheel from this checkout. Both wheels must be identical. Return the wheel."""
    begun = time.monotonic()
    run([sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", folder, ROOT], folder)
    [sdist] = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    [source] = (folder / "unpacked").iterdir()
    run([sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", folder, source], folder)
    [wheel] = folder.glob("*.whl")
    (folder / "again").mkdir()
    again = built(folder / "again")
    note(rows, "", "sdist", begun, f"{sdist.stat().st_size / MEBIBYTE:.1f} MiB")
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(again) as second:
        same = {name: first.read(name) for name in first.namelist()} == {name: second.read(name) for name in second.namelist()}
    size = f"{wheel.stat().st_size / MEBIBYTE:.1f} MiB"
    note(rows, "", "wheel from the sdist", begun, f"{size}, as from the checkout" if same else "FAILED: another one than from the checkout")
    return wheel


def travel(python: Path, wheel: Path, folder: Path, rows: list[Row], *, lowest: bool, adds: bool) -> None:
    """Install the wheel for a Python and run every step. If `adds`, install the extra `data` and run its steps."""
    begun = time.monotonic()
    folder.mkdir()
    environment = clean_environment(folder) | {"TMPDIR": str(folder)}
    try:
        program = install(python, wheel, folder, lowest=lowest)
    except InstallError as error:
        note(rows, python.name, "install", begun, f"FAILED: {error}")
        return
    journey = InstallScenario(folder / "user", program, program.parent / "coind", environment, wheel.name.split("-")[1])
    label = re.sub(r"\+.*", "", journey.python("-c", "import platform; print(platform.python_version())").strip())
    note(rows, label, "install", begun, journey.python("-c", SEEN).strip())
    steps = [*STEPS, *NO_DATA_STEPS, *(("adding", *DATA_STEPS) if adds else ())]
    for step in steps:
        begun = time.monotonic()
        try:
            seen = add(journey, program, wheel, lowest=lowest) if step == "adding" else journey.take(step)
        except (InstallError, subprocess.TimeoutExpired, OSError) as error:
            seen = f"FAILED: {error}"
        note(rows, label, step, begun, seen)


# The versions that identify a run.
SEEN = """
from importlib.metadata import distributions, version

print(len(list(distributions())), "packages, trio", version("trio"))
"""


def install(python: Path, wheel: Path, folder: Path, *, lowest: bool) -> Path:
    """Create an environment with the wheel and pytest. Return its Python."""
    run([python, "-m", "venv", folder / "venv"], folder)
    program = folder / "venv" / "bin" / "python"
    if lowest:
        run(lowest_of(program, wheel, ""), folder)
        run([program, "-m", "pip", "install", "-q", "pytest"], folder)
    else:
        run([program, "-m", "pip", "install", "-q", wheel, "pytest"], folder)
    run([program, "-m", "pip", "check"], folder)
    return program


def lowest_of(program: Path, wheel: Path, extra: str) -> list[object]:
    """Return the uv command that installs the wheel with an extra and the lowest versions of the direct requirements.

    uv treats only requirements on its command line as direct. The lowest versions of indirect requirements are untested combinations.
    """
    with zipfile.ZipFile(wheel) as archive:
        [name] = [each for each in archive.namelist() if each.endswith(".dist-info/METADATA")]
        needs = [Requirement(text) for text in Parser().parsestr(archive.read(name).decode()).get_all("Requires-Dist") or ()]
    named = [f"{need.name}{need.specifier}" for need in needs if need.marker is None or need.marker.evaluate({"extra": extra})]
    lowest = ["--no-python-downloads", "--reinstall-package", "coind", "--resolution", "lowest-direct"]
    return ["uv", "pip", "install", "-q", *lowest, "--python", program, wheel, *named]


def add(journey: InstallScenario, program: Path, wheel: Path, *, lowest: bool) -> str:
    """Install the extra with coind's own command or with uv. Return the installed versions."""
    if lowest:
        run(lowest_of(program, wheel, EXTRA), journey.folder)
    said = journey.coind("install", EXTRA)
    if not said.endswith(f"{EXTRA} is installed\n"):
        raise InstallError(said)
    return journey.python(
        "-c", "import pyarrow, duckdb, pandas as p; print(pyarrow.__version__, duckdb.__version__, p.__version__)"
    ).strip()


def run(command: list[object], folder: Path) -> None:
    """Run a command until it ends. Raises InstallError with its output if it fails."""
    # pip's settings select the package index here; they are not part of the clean environment under test.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COIND", "VIRTUAL_ENV"))}
    done = subprocess.run(list(map(str, command)), cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InstallError(f"status {done.returncode} of {' '.join(map(str, command[:5]))}\n{(done.stdout + done.stderr)[-3000:]}")


def note(rows: list[Row], python: str, step: str, begun: float, seen: str) -> None:
    """Append a row to the table and print it immediately, since a run takes minutes."""
    rows.append((python, step, f"{time.monotonic() - begun:.1f}", seen))
    print(" ".join(rows[-1]), file=sys.stderr, flush=True)


def show(rows: list[Row]) -> None:
    print("| Python | step | seconds | seen |\n|---|---|---:|---|")
    for row in rows:
        print(f"| {' | '.join(cell.splitlines()[0] if cell else '' for cell in row)} |")


if __name__ == "__main__":
    sys.exit(main())
