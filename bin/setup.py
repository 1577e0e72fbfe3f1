"""Creates .venv, installs the packages of a lock file into it, and stores a copy of that file for bin/ensure_venv.sh to compare.

It uses only the standard library, since it runs before anything is installed. It works with Python 3.11 or newer.
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
# This file exists while pip runs. If pip was killed, the file remains, and .venv is not trusted.
UNFINISHED = VENV / "unfinished"
# This folder is inside lib, so that a .venv that has lost its packages has no notes, either.
NOTES = VENV / "lib" / "coind"
MADE_FOR = NOTES / "made-for"
# Names the folders of the modules, so that the Python of .venv can import `coind.data` from any folder.
MODULES = "coind-checkout.pth"

# For each profile, the other lock files that its lock file includes. Profiles not listed here are extras of `bin/coind install`.
INCLUDES = {"run": (), "test": ("run", "data", "nats"), "fuzz": ("run", "data", "nats", "test")}

# Environment variables that would make pip install the packages elsewhere.
MISLEADING = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER")


class SetupError(Exception):
    """Raised if the setup fails. The message is the reason."""


def set_up(profile: str) -> None:
    """Under a lock, make sure that .venv contains the packages of a profile. If it does already, only two small files are read."""
    pins = (LOCKS / f"{profile}.txt").read_bytes()
    with locked() as lock:
        if not is_usable():
            clear()
            say(f"making .venv with Python {sys.version.split()[0]}")
            require_success("venv", run([os.path.realpath(sys.executable), "-I", "-m", "venv", str(VENV)], lock))
        if not is_installed(profile, pins):
            install(profile, pins, lock)
        record_installation(profile)


def install(profile: str, pins: bytes, lock: int) -> None:
    """Install the packages of a profile. The records of what is installed are removed first, so that none is wrong after an abort."""
    remove_notes()
    say(f"installing {pins.count(b'==') - pins.count(b' == ')} packages into .venv, this once")
    started = time.monotonic()
    pip = [str(PYTHON), "-I", "-m", "pip", "install", "-qq", "--no-input", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
    UNFINISHED.touch()
    status = run([*pip, "--requirement", str(LOCKS / f"{profile}.txt")], lock)
    if status >= 0:
        UNFINISHED.unlink()
    require_success("pip", status)
    say(f"ready after {time.monotonic() - started:.0f} s")


def is_usable() -> bool:
    """Whether .venv is complete and was made at this path, and its Python still exists, is new enough and has pip."""
    if UNFINISHED.exists():
        return False
    try:
        lines = (VENV / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    made_here = any(line.startswith("command = ") and line.endswith(f" {VENV}") for line in lines)
    return made_here and succeeds([str(PYTHON), "-I", "-c", "import pip, tomllib"])


def is_installed(profile: str, pins: bytes) -> bool:
    """Whether the last installation of a profile used this lock file."""
    try:
        return (NOTES / f"{profile}.txt").read_bytes() == pins
    except OSError:
        return False


def record_installation(profile: str) -> None:
    """Record the checkout to which .venv belongs, make its modules importable, and copy the lock files of the installed profiles."""
    NOTES.mkdir(parents=True, exist_ok=True)
    replace(MADE_FOR, os.fsencode(ROOT) + b"\n")
    for packages in VENV.glob("lib/python*/site-packages"):
        replace(packages / MODULES, b"".join(os.fsencode(folder) + b"\n" for folder in (ROOT, ROOT / "bin" / "package")))
    for included in (*INCLUDES.get(profile, ("run",)), profile):
        replace(NOTES / f"{included}.txt", (LOCKS / f"{included}.txt").read_bytes())


def replace(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    unfinished = path.with_name(path.name + ".new")
    unfinished.write_bytes(content)
    unfinished.replace(path)


def remove_notes() -> None:
    """Remove all records of what is installed. The next start then checks everything again."""
    shutil.rmtree(NOTES, ignore_errors=True)


def clear() -> None:
    """Delete everything in .venv except the lock, for which other processes can be waiting."""
    remove_notes()
    for entry in VENV.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry != LOCK:
            entry.unlink()


@contextmanager
def locked() -> Iterator[int]:
    """Context manager that waits for the lock of .venv, and holds it. Yields the lock's file descriptor."""
    if VENV.is_symlink():
        VENV.unlink()  # The link points to another checkout's .venv.
    VENV.mkdir(exist_ok=True)
    with LOCK.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another start that is setting up .venv")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


def run(command: list[str], lock: int) -> int:
    """Run a command, with its output on stderr. Return its exit status, which is negative if a signal ended it.

    The command inherits the lock. If this process is killed while the command runs, the lock therefore stays held.
    """
    environment = {name: value for name, value in os.environ.items() if name not in MISLEADING}
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, env=environment, pass_fds=[lock], check=False).returncode


def require_success(name: str, status: int) -> None:
    """Raise SetupError if a command failed."""
    if status:
        raise SetupError(f"{name} ended with status {status}")


def succeeds(command: list[str]) -> bool:
    """Whether a command can be started and exits with status 0."""
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def say(text: str) -> None:
    """Print a line of progress to stderr."""
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
