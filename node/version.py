"""The version of this program, which stands in pyproject.toml."""

import tomllib
from functools import cache
from pathlib import Path


@cache
def version() -> str:
    """Return the version of this program."""
    found: str = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    return found
