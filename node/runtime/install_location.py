"""Where this program lies: in a checkout, or inside of the package `coind`, as in a wheel (bin/package/build.py)."""

import os
from pathlib import Path

IS_INSTALLED = __name__.startswith("coind.")
_CHECKOUT = Path(__file__).resolve().parents[2]


def own_environment() -> dict[str, str]:
    """Return the environment of another process of this program.

    Python finds an installed package by itself. Its folder must not stand in PYTHONPATH: other packages there would come before
    modules of the standard library.
    """
    return dict(os.environ) if IS_INSTALLED else {**os.environ, "PYTHONPATH": str(_CHECKOUT)}
