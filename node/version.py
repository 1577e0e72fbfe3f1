"""The version of this program, as pyproject.toml has it. It knows nothing else."""

import tomllib
from functools import cache
from pathlib import Path


@cache
def version() -> str:
    """Return the version of this program."""
    pins = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
    return str(pins["project"]["version"])
