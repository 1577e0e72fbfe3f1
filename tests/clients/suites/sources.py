"""Environments of the suites: each has a copy of its source as published, and a working copy with its packages and our settings."""

import shutil
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tests.clients.suites.declaration import HERE, Source, Suite, fill
from tests.helpers.sessions import SetupError, say, succeed


def installed(suite: Suite, place: Path, git_directory: Path | None) -> Path:
    """Fetch a suite and install its packages below `place`, unless that was done for the same declaration. Return its working copy."""
    note, source, work = place / "made-for", place / "source", place / "work"
    own_files = [file.read_bytes() for file in sorted((HERE / suite.name).rglob("*")) if file.is_file()]
    made_for = msgspec.json.encode([suite.source, suite.install, own_files])
    if note.exists() and note.read_bytes() == made_for:
        return work
    say(f"installing the suite of {suite.library} {suite.version}, this once")
    shutil.rmtree(place, ignore_errors=True)
    source.mkdir(parents=True)
    unpack(suite.source, source, git_directory)
    shutil.copytree(source, work, symlinks=True)
    if suite.uses_python:
        succeed([sys.executable, "-I", "-m", "venv", str(place / "venv")])
    for command in suite.install:
        succeed([fill(word, paths(place)) for word in command], cwd=work)
    note.write_bytes(made_for)
    return work


def paths(place: Path) -> dict[str, object]:
    """The values of the placeholders for paths."""
    return {"python": place / "venv" / "bin" / "python", "here": HERE, "results": place / "results.xml", "home": place / "home"}


def unpack(source: Source, to: Path, git_directory: Path | None) -> None:
    """Fetch a source and unpack it into an empty folder. Raises SetupError if it can't be fetched."""
    with tempfile.TemporaryDirectory() as folder:
        if source.git:
            if git_directory is None:
                git_directory = Path(folder) / "repository"
                succeed(["git", "init", "--quiet", "--bare", str(git_directory)])
                try:
                    succeed(["git", "-C", str(git_directory), "fetch", "--quiet", "--depth", "1", source.git, source.commit])
                except SetupError as error:
                    raise SetupError(f"{error}\nWithout access to that address, name a copy of the repository: --source NAME=DIR") from None
            archive = Path(folder) / "source.tar"
            succeed(["git", "-C", str(git_directory), "archive", "--prefix=source/", f"--output={archive}", source.commit])
        else:
            if source.npm:
                succeed(["npm", "pack", "--silent", "--pack-destination", folder, source.npm])
            else:
                pip = [sys.executable, "-I", "-m", "pip", "download", "-qq", "--no-deps", "--no-binary", ":all:", "--dest", folder]
                succeed([*pip, source.pypi])
            [archive] = Path(folder).iterdir()
        unpacked = Path(folder) / "unpacked"
        with tarfile.open(archive) as tar:
            tar.extractall(unpacked, filter="data")
        [top] = unpacked.iterdir()
        shutil.copytree(top, to, symlinks=True, dirs_exist_ok=True)


def adapt(suite: Suite, place: Path, values: Mapping[str, object]) -> None:
    """Write address, keys and chain id of our node into the working copy. Everything else stays as published.

    Raises:
        SetupError: if a replacement matches nowhere.
    """
    source, work = place / "source", place / "work"
    texts: dict[Path, str] = {}
    for replacement in suite.replace:
        files = [file for pattern in replacement.paths for file in sorted(source.glob(pattern))]
        changed = [file for file in files if replacement.old in texts.setdefault(file, file.read_text())]
        if not changed:
            raise SetupError(f"{replacement.old!r} is not in {', '.join(replacement.paths)}")
        for file in changed:
            texts[file] = texts[file].replace(replacement.old, fill(replacement.new, values))
    for file, text in texts.items():
        (work / file.relative_to(source)).write_text(text)
    for config in suite.files:
        path = work / config.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(fill(config.text, values))
