"""Tests the explorer in a real browser, on a chain with data of every kind: `bin/test explorer [NAME]...`.

It needs Chromium and installs everything else. `--pictures DIR` also takes a screenshot of each page at two widths and in both themes.
`--docs` only recreates the pictures in docs/pictures, on a chain with ordinary data.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.conftest import ROOT
from tests.helpers.sessions import SetupError, chromium, python_with, report, running_node, say, steps, totals

HERE = ROOT / "tests" / "explorer"
BEFORE = timedelta(days=7, hours=4, minutes=20)
ADVICE = "Chromium can't be found: install it (on Debian: apt install chromium), or name it in the environment variable CHROMIUM"
SECONDS_MAX = 1200
MODULES = "modules of the pages"
PICTURES = ROOT / "docs" / "pictures"
ENVIRONMENT = (HERE / "requirements.txt", ROOT / ".venv-explorer", "playwright, axe-core and pillow")


def main(arguments: list[str]) -> int:
    """Run the session. The status is 0 if nothing failed."""
    parser = argparse.ArgumentParser(prog="bin/test explorer", description="Looks at the explorer in a real browser.")
    parser.add_argument("names", nargs="*", help="run only checks whose names start with this (default: all)")
    parser.add_argument("--pictures", type=Path, help="write screenshots of all pages into this folder")
    parser.add_argument("--docs", nargs="?", type=Path, const=PICTURES, metavar="DIR", help="only recreate the pictures in docs/pictures")
    options = parser.parse_intermixed_args(arguments)
    browser = chromium()
    if browser is None:
        say(ADVICE)
        return 1
    return illustrate(browser, options.docs, options.names) if options.docs else totals(checked(browser, options))


def checked(browser: str, options: argparse.Namespace) -> Iterator[str]:
    """Run the checks and yield their results."""
    if not options.names or MODULES.startswith(tuple(options.names)):
        yield report(tried_modules())
    python = python_with(*ENVIRONMENT)
    start = ("--blocks", "manual", "--time", "2026-11-22T12:00:00")
    with running_node("dev", *start) as url, running_node("dev", *start) as other:
        more = ["--pictures", str(options.pictures)] if options.pictures else []
        yield from steps([python, "-m", "tests.explorer.session", browser, url, other, *more, *options.names], SECONDS_MAX)


def illustrate(browser: str, place: Path, names: list[str]) -> int:
    """Make the pictures of the documentation. The status is 0 if all succeeded."""
    try:
        python = python_with(*ENVIRONMENT)
        # The chain begins in the past and catches up with the machine's clock when all data is there.
        start = datetime.now(UTC) - BEFORE
        with running_node("dev", "--blocks", "manual", "--time", start.strftime("%Y-%m-%dT%H:%M:%S")) as url:
            command = [python, "-m", "tests.explorer.illustrations", browser, url, str(place), *names]
            return subprocess.run(command, cwd=ROOT, timeout=SECONDS_MAX, check=False).returncode
    except SetupError as error:
        say(f"fail {error}")
        return 1


def tried_modules() -> str:
    """Run the JavaScript module tests if Node.js is available, and return the result line."""
    node = shutil.which("node")
    if node is None:
        return f"skip {MODULES}: Node.js can't be found"
    files = sorted(str(place.relative_to(ROOT)) for place in HERE.glob("*.test.mjs"))
    done = subprocess.run([node, "--test", *files], cwd=ROOT, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    failed = [line.strip() for line in done.stdout.splitlines() if line.strip().startswith(("not ok", "✖"))]
    return f"fail {MODULES}: {' | '.join(failed)}" if done.returncode else f"pass {MODULES} ({len(files)} files)"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
