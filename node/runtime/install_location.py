"""The location of this program: a checkout, or the package `coind` installed from a wheel (bin/package/build.py)."""

import os
from pathlib import Path

IS_INSTALLED = __name__.startswith("coind.")
_CHECKOUT = Path(__file__).resolve().parents[2]


def own_environment() -> dict[str, str]:
    """Return the environment variables for another process of this program.

    Python finds an installed package by itself. The folder with that package must not be in PYTHONPATH, because other packages in it would
    shadow modules of the standard library.
    """
    return dict(os.environ) if IS_INSTALLED else {**os.environ, "PYTHONPATH": str(_CHECKOUT)}
