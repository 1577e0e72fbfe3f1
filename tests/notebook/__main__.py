"""Runs the worked notebooks in Jupyter and converts them to HTML pages: `bin/test notebook [--save] [--pages DIR]`.

Jupyter and matplotlib are installed automatically, in addition to the node's own libraries. If Chromium is available, a screenshot of each
page is stored as well.
"""

import argparse
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import ROOT
from tests.helpers.sessions import chromium, python_with, steps, totals

SECONDS_MAX = 600


def main(arguments: list[str]) -> int:
    """Run the session. The status is 0 if nothing failed."""
    parser = argparse.ArgumentParser(prog="bin/test notebook", description="Runs the worked notebooks in Jupyter.")
    parser.add_argument("--save", action="store_true", help="store the outputs in the notebooks")
    parser.add_argument("--pages", type=Path, default=ROOT / ".venv-notebook" / "pages", help="the folder for pages and screenshots")
    return totals(run_notebooks(parser.parse_args(arguments)))


def run_notebooks(options: argparse.Namespace) -> Iterator[str]:
    """Run the notebooks and yield the results."""
    python = python_with(ROOT / "tests" / "notebook" / "requirements.txt", ROOT / ".venv-notebook", "Jupyter and matplotlib")
    # The kernel uses this process's installation of pandas, Arrow and the node's other libraries.
    os.environ["PYTHONPATH"] = os.pathsep.join((str(ROOT), sysconfig.get_paths()["platlib"]))
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    more = ["--save"] if options.save else []
    yield from steps([python, "-m", "tests.notebook.session", str(options.pages.resolve()), chromium() or "", *more], SECONDS_MAX)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
