"""Makes .venv, installs a lock file of bin/lock into it, and records that file in .venv for bin/ensure_venv.sh to compare.

Standard library only: this runs before anything is installed, in any Python from 3.11 on.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "bin" / "lock"
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOCK = VENV / "setup.lock"
# There while pip is at work: what a killed pip leaves is not to be trusted.
UNFINISHED = VENV / "unfinished"
# Inside lib, so that a .venv that lost its packages lost its notes as well.
NOTES = VENV / "lib" / "coind"
MADE_FOR = NOTES / "made-for"

# The other lock files that the one of a profile contains. A profile that isn't here is an extra of `bin/coind install`.
INCLUDES = {"run": (), "test": ("run", "data", "nats"), "fuzz": ("run", "data", "nats", "test")}

# Settings of the caller that would send packages elsewhere.
MISLEADING = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER")


class SetupError(Exception):
    """Setting up didn't work; says why."""


def set_up(profile: str) -> None:
    """Make .venv hold the packages of a profile; reads two files if it already does. One process at a time."""
    pins = (LOCKS / f"{profile}.txt").read_bytes()
    with locked() as lock:
        if not is_usable():
            clear()
            say(f"making .venv with Python {sys.version.split()[0]}")
            succeed("venv", run([os.path.realpath(sys.executable), "-I", "-m", "venv", str(VENV)], lock))
        if not holds(profile, pins):
            install(profile, pins, lock)
        note(profile)


def install(profile: str, pins: bytes, lock: int) -> None:
    """Install the packages of a profile. If it is interrupted, no note claims more than what is installed."""
    forget()
    say(f"installing {pins.count(b'==') - pins.count(b' == ')} packages into .venv, this once")
    started = time.monotonic()
    pip = [str(PYTHON), "-I", "-m", "pip", "install", "-qq", "--no-input", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
    UNFINISHED.touch()
    status = run([*pip, "--requirement", str(LOCKS / f"{profile}.txt")], lock)
    if status >= 0:
        UNFINISHED.unlink()
    succeed("pip", status)
    say(f"ready after {time.monotonic() - started:.0f} s")


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


def holds(profile: str, pins: bytes) -> bool:
    """Whether the lock file that was last installed for a profile is this one."""
    try:
        return (NOTES / f"{profile}.txt").read_bytes() == pins
    except OSError:
        return False


def note(profile: str) -> None:
    """Record for which checkout .venv was made, and the lock files that it holds."""
    NOTES.mkdir(parents=True, exist_ok=True)
    replace(MADE_FOR, os.fsencode(ROOT) + b"\n")
    for included in (*INCLUDES.get(profile, ("run",)), profile):
        replace(NOTES / f"{included}.txt", (LOCKS / f"{included}.txt").read_bytes())


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
