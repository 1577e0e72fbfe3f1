"""Builds the website of the docs: `python -m bin.site --to DIR [--serve PORT]`."""

import argparse
import contextlib
import http.server
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from bin.site.staging import SiteError, stage

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
ICON = ROOT / "rpc" / "explorer" / "web" / "style" / "icon.svg"
# The script that makes search work in pages opened as files. Zensical would load it from another host.
WORKER, WORKER_ADDRESS = HERE / "vendor" / "iframe-worker.js", "https://unpkg.com/iframe-worker/shim"
# A file that only sites built by this program contain. Other sites have a sitemap.xml, too. A folder with other files but without this
# one is never replaced.
MARK = f"site/{WORKER.name}"


def main() -> int:
    """Run the command and return the exit status of the process."""
    parser = argparse.ArgumentParser(prog="python -m bin.site", description="Build the site of the docs.")
    parser.add_argument("--to", type=Path, required=True, help="the folder of the site; replaces an older site")
    parser.add_argument("--serve", type=int, metavar="PORT", help="serve the site at this local port")
    given = parser.parse_args()
    try:
        build(given.to)
    except SiteError as error:
        print(f"bin.site: {error}", file=sys.stderr)
        return 1
    print(f"{sum(1 for _ in given.to.rglob('*.html'))} pages in {given.to}")
    if given.serve is not None:
        serve(given.to, given.serve)
    return 0


def build(target: Path, root: Path = ROOT) -> None:
    """Build the site. Replace the target folder only if that succeeds. Raises SiteError."""
    if importlib.util.find_spec("zensical") is None:
        raise SiteError(f"{sys.executable} has no package zensical. Run bin/test once, then .venv/bin/python -m bin.site.")
    target = target.resolve()  # a symbolic link remains, and the folder that it points to is replaced
    if target.exists() and not (target.is_dir() and (not any(target.iterdir()) or (target / MARK).is_file())):
        raise SiteError(f"{target} exists and is not a site. Give another folder.")
    with tempfile.TemporaryDirectory(prefix="coind-site-") as folder:
        place = Path(folder)
        stage(root, place / "docs")
        (place / "docs" / "site").mkdir()
        for file in (ICON, HERE / "style.css", HERE / "script.js", WORKER):
            shutil.copy(file, place / "docs" / "site")
        shutil.copy(HERE / "zensical.toml", place)
        # Zensical writes warnings to stdout and to stderr.
        command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file", str(place / "zensical.toml")]
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=place, check=False)
        if ran.returncode:
            raise SiteError(f"Zensical refuses the pages:\n{ran.stdout}")
        finish(place / "site")
        if target.exists():
            shutil.rmtree(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(place / "site", target)


def finish(site: Path) -> None:
    """Complete a site that Zensical has built: make the address of its script relative, and remove 404.html."""
    # The addresses in 404.html start at the root of the host. They would be wrong for a site below another path.
    (site / "404.html").unlink(missing_ok=True)
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        page.write_text(text.replace(WORKER_ADDRESS, os.path.relpath(site / "site" / WORKER.name, page.parent)), "utf-8")


def serve(folder: Path, port: int) -> None:
    """Serve a folder on a local port until Ctrl-C."""
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server, contextlib.suppress(KeyboardInterrupt):
        print(f"http://127.0.0.1:{server.server_port}")
        server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
