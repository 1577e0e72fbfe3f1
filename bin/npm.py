"""Builds the npm package: `.venv/bin/python -m bin.npm [--outdir DIR]` writes coind-VERSION.tgz to dist/, from bin/package/npm.

npm isn't needed. Two builds of a checkout give the same bytes.
"""

import argparse
import gzip
import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

from node.version import VERSION

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "bin" / "package" / "npm"
# npm archives have no times either.
EPOCH = 499162500


def files() -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the package's files. The manifest gets the version of the program."""
    manifest = json.loads((SOURCE / "package.json").read_text("utf-8")) | {"version": VERSION}
    yield "package.json", json.dumps(manifest, indent=2).encode() + b"\n"
    for path in (ROOT / "LICENSE", SOURCE / "README.md", *sorted(path for each in manifest["files"] for path in SOURCE.glob(each))):
        yield path.name, path.read_bytes()


def build(folder: Path) -> Path:
    """Write the archive to a folder, and return its path."""
    path = folder / f"coind-{VERSION}.tgz"
    folder.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out, gzip.GzipFile("", "wb", fileobj=out, mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mtime = len(content), EPOCH
            archive.addfile(entry, io.BytesIO(content))
    return path


def main() -> None:
    """Build the package in the folder that the command line names, and print the archive's path."""
    parser = argparse.ArgumentParser(prog="python -m bin.npm", description="Build the npm package.")
    parser.add_argument("--outdir", type=Path, default=ROOT / "dist", metavar="DIR", help="the folder for the archive (default: dist)")
    print(build(parser.parse_args().outdir))


if __name__ == "__main__":
    main()
