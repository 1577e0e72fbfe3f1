"""Checks the documentation site, as files (checks.py) and in a real browser: `bin/test site [NAME]... [--pictures DIR]`.

It needs Chromium and installs everything else. `--pictures DIR` also takes a screenshot of each page at two widths, and of some pages in
the dark theme.
"""

import argparse
import http.server
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bin.site.__main__ import build
from tests.conftest import ROOT
from tests.explorer.__main__ import ADVICE, ENVIRONMENT
from tests.helpers.sessions import chromium, python_with, say, steps, totals

SECONDS_MAX = 1800
# The site is served below a path, as on typical hosts.
BELOW = "coind"


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder without logging."""

    def log_message(self, format: str, *args: object) -> None:
        """Discard the message."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder for the duration of the context; yields its address."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def main(arguments: list[str]) -> int:
    """Build the site and run the session. The status is 0 if nothing failed."""
    parser = argparse.ArgumentParser(prog="bin/test site", description="Looks at the site of the docs in a real browser.")
    parser.add_argument("names", nargs="*", help="check only pages whose names start with this (default: all)")
    parser.add_argument("--pictures", type=Path, help="write screenshots of the pages into this folder")
    options = parser.parse_intermixed_args(arguments)
    checks = [] if options.names else [sys.executable, "-m", "pytest", "tests/site/checks.py"]
    if checks and subprocess.run(checks, cwd=ROOT, check=False).returncode:
        return 1
    browser = chromium()
    if browser is None:
        say(ADVICE)
        return 1
    return totals(looked_at(browser, options))


def looked_at(browser: str, options: argparse.Namespace) -> Iterator[str]:
    """Build the site, check its pages and yield the results."""
    with tempfile.TemporaryDirectory(prefix="coind-site-") as folder:
        build(Path(folder) / BELOW)
        python = python_with(*ENVIRONMENT)
        with served(Path(folder)) as url:
            more = ["--pictures", str(options.pictures)] if options.pictures else []
            command = [python, "-m", "tests.site.session", browser, f"{url}/{BELOW}/", str(Path(folder) / BELOW), *more, *options.names]
            yield from steps(command, SECONDS_MAX)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
