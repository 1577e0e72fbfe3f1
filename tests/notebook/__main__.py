"""Runs the worked notebooks in Jupyter and makes pages of them: `bin/test notebook [--save] [--pages DIR]`.

Jupyter and matplotlib are installed by itself, beside the node's own libraries. With Chromium each page is also kept as a picture.
"""

import argparse
import os
import shutil
import sys
import sysconfig
from collections import Counter
from pathlib import Path

from tests.conftest import ROOT
from tests.helpers.sessions import RESULTS, SetupError, python_with, report, say, steps

SECONDS_MAX = 600
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def main(arguments: list[str]) -> int:
    """Run the session; the status is 0 when nothing failed."""
    parser = argparse.ArgumentParser(prog="bin/test notebook", description="Runs the worked notebooks in Jupyter.")
    parser.add_argument("--save", action="store_true", help="keep the outputs in the notebooks")
    parser.add_argument("--pages", type=Path, default=ROOT / ".venv-notebook" / "pages", help="the folder for pages and pictures")
    options = parser.parse_args(arguments)
    browser = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), "")
    counts: Counter[str] = Counter()
    try:
        python = python_with(ROOT / "tests" / "notebook" / "requirements.txt", ROOT / ".venv-notebook", "Jupyter and matplotlib")
        # The kernel finds pandas, Arrow and what the node needs where this process does.
        os.environ["PYTHONPATH"] = os.pathsep.join((str(ROOT), sysconfig.get_paths()["platlib"]))
        os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
        command = [python, "-m", "tests.notebook.session", str(options.pages.resolve()), browser, *(["--save"] if options.save else [])]
        for result in steps(command, SECONDS_MAX):
            counts[result] += 1
    except SetupError as error:
        counts[report(f"fail {error}")] += 1
    say("\n" + ", ".join(f"{counts[result]} {text}" for result, text in RESULTS.items()))
    return 0 if counts["pass"] and not counts["fail"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
