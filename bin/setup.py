"""Makes .venv, fills it with the pins of pyproject.toml and notes what it holds, for bin/ready.sh to compare.

Standard library only: this runs before anything is installed, in any Python from 3.11 on.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PROJECT = ROOT / "pyproject.toml"
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOCK = VENV / "setup.lock"
# There while pip is at work: what a killed pip leaves is not to be trusted.
UNFINISHED = VENV / "unfinished"
# Inside lib, so that a .venv that lost its packages lost its notes as well.
NOTES = VENV / "lib" / "coind"
MADE_FOR = NOTES / "made-for"

# What is ready once a profile has been installed: names of profiles, and of the extras and groups of pyproject.toml. A profile that isn't
# here is an extra, which `bin/coind install` adds to what the node needs.
INCLUDES = {
    "run": ("run",),
    "test": ("run", "data", "nats", "test"),
    "fuzz": ("run", "data", "nats", "test", "fuzz"),
}

# Settings of the caller that would send packages elsewhere.
MISLEADING = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER")


class SetupError(Exception):
    """Setting up didn't work; says why."""


class Pins(NamedTuple):
    """The packages that pip installs, and the versions of everything that they pull in."""

    packages: list[str]
    constraints: list[str]


def set_up(profile: str) -> None:
    """Make .venv hold the pins of a profile; costs nothing but a look when it does. One process at a time."""
    project = PROJECT.read_bytes()
    with locked() as lock:
        if not is_usable():
            clear()
            say(f"making .venv with Python {sys.version.split()[0]}")
            succeed("venv", run([os.path.realpath(sys.executable), "-I", "-m", "venv", str(VENV)], lock))
        if not holds(profile, project):
            install(profile, project, lock)
        note(profile, project)


def install(profile: str, project: bytes, lock: int) -> None:
    """Install the pins of a profile; whatever interrupts it, no note is left that claims more than what is there."""
    pins = pins_of(project, profile)
    forget()
    say(f"installing {len(pins.packages)} packages into .venv, this once")
    started = time.monotonic()
    constraints = VENV / "constraints.txt"
    constraints.write_text("\n".join(pins.constraints) + "\n", encoding="utf-8")
    pip = [str(PYTHON), "-I", "-m", "pip", "install", "-qq", "--no-input", "--disable-pip-version-check"]
    UNFINISHED.touch()
    status = run([*pip, "--constraint", str(constraints), *pins.packages], lock)
    if status >= 0:
        UNFINISHED.unlink()
    succeed("pip", status)
    say(f"ready after {time.monotonic() - started:.0f} s")


def pins_of(project: bytes, profile: str) -> Pins:
    """The pins of a profile, from the text of pyproject.toml: the only place where they stand.

    What a profile installs is named with ranges, for the wheel, or without versions; one list pins all of it. Raises SetupError where a
    package isn't in that list.
    """
    content = tomllib.loads(project.decode())
    pinned = {name_of(pin): pin for pin in content["tool"]["coind"].get("pins", ())}
    wanted = {name_of(each) for each in content["project"]["dependencies"]}
    for table in (content["project"]["optional-dependencies"], content.get("dependency-groups", {})):
        for extra in included_in(profile):
            wanted |= {name_of(each) for each in table.get(extra, ())}
    if unpinned := wanted - pinned.keys():
        raise SetupError(f"pyproject.toml names {', '.join(sorted(unpinned))} without a version under [tool.coind]; add it there")
    return Pins([pin for name, pin in pinned.items() if name in wanted], [pin for name, pin in pinned.items() if name not in wanted])


def included_in(profile: str) -> tuple[str, ...]:
    """The names of everything that is ready once a profile has been installed."""
    return INCLUDES.get(profile, ("run", profile))


def name_of(requirement: str) -> str:
    """The name of the package that a requirement asks for, in the one spelling that can be compared."""
    found = re.match(r"[\w.-]+", requirement)
    assert found, f"{requirement} has no name"
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def is_usable() -> bool:
    """Whether .venv was made for this place, by a Python that is still there, is new enough and has pip, and is no torso."""
    if UNFINISHED.exists():
        return False
    try:
        lines = (VENV / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    made_here = any(line.startswith("command = ") and line.endswith(f" {VENV}") for line in lines)
    return made_here and answers([str(PYTHON), "-I", "-c", "import pip, tomllib"])


def holds(profile: str, project: bytes) -> bool:
    """Whether the pins of a profile are installed: whether they are the ones that were noted after installing."""
    try:
        noted = pins_of((NOTES / f"{profile}.toml").read_bytes(), profile)
    except (OSError, SetupError):
        return False  # nothing is noted, or by a version of this program that kept pins elsewhere
    return noted == pins_of(project, profile)


def note(profile: str, project: bytes) -> None:
    """Note for which place .venv was made and with which pyproject.toml it was filled."""
    NOTES.mkdir(parents=True, exist_ok=True)
    replace(MADE_FOR, os.fsencode(ROOT) + b"\n")
    for included in included_in(profile):
        replace(NOTES / f"{included}.toml", project)


def replace(path: Path, content: bytes) -> None:
    """Write a file so that others see either the old or the new content."""
    unfinished = path.with_name(path.name + ".new")
    unfinished.write_bytes(content)
    unfinished.replace(path)


def forget() -> None:
    """Take back every note: the next start looks at everything again."""
    shutil.rmtree(NOTES, ignore_errors=True)


def clear() -> None:
    """Empty .venv, except for the lock that others may be waiting for."""
    forget()
    for entry in VENV.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry != LOCK:
            entry.unlink()


@contextmanager
def locked() -> Iterator[int]:
    """Hold the lock of .venv, waiting for whoever has it; yields its descriptor."""
    if VENV.is_symlink():
        VENV.unlink()  # what a link leads to belongs to another checkout, and isn't emptied from here
    VENV.mkdir(exist_ok=True)
    with LOCK.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another start that is setting up .venv")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


def run(command: list[str], lock: int) -> int:
    """Run a command to its end, with all that it prints on stderr; returns its status, negative when a signal ended it.

    It shares the lock, so that nobody else starts while it goes on after this process was killed.
    """
    environment = {name: value for name, value in os.environ.items() if name not in MISLEADING}
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, env=environment, pass_fds=[lock], check=False).returncode


def succeed(name: str, status: int) -> None:
    """Give up when a command failed."""
    if status:
        raise SetupError(f"{name} ended with status {status}")


def answers(command: list[str]) -> bool:
    """Whether a command can be started and succeeds."""
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def say(text: str) -> None:
    """One line about what is going on."""
    print(f"coind: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        set_up(sys.argv[1])
    except (SetupError, OSError, ValueError) as error:
        say(f"could not set up .venv: {error}")
        sys.exit(1)
    except KeyboardInterrupt:
        say("interrupted; the next start sets up .venv again")
        sys.exit(130)
