"""Types and validators of command line parameters that several commands share."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from msgspec import Struct

from node.runtime.errors import NodeError


class Bounds(Struct, frozen=True):
    """Validator of an integer. cyclopts has such a validator too, but in a package that takes 2 ms to load."""

    least: int
    most: int | None = None

    def __call__(self, _hint: Any, value: int | None) -> None:
        """Raise ValueError for a number that is out of bounds. None, the default of an optional parameter, is accepted."""
        if value is None:
            return
        if value < self.least:
            raise ValueError(f"Must be >= {self.least}.")
        if self.most is not None and value > self.most:
            raise ValueError(f"Must be <= {self.most}.")


def split_list(_hint: Any, text: str, **_more: Any) -> list[str]:
    """Split the environment variable of a repeatable option at commas and spaces."""
    return text.replace(",", " ").split()


Repeated = Annotated[tuple[str, ...], Parameter(negative=(), consume_multiple=False, show_default=False, env_var_split=split_list)]
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]
Natural = Annotated[int, Parameter(validator=Bounds(0))]
Positive = Annotated[int, Parameter(validator=Bounds(1))]
Chain = Annotated[str, Parameter(help="A chain spec: a name, or a TOML file.")]
ChainOfBlocks = Annotated[str | None, Parameter(help="A chain spec: a name, or a TOML file; by default that of the blocks.")]
# Read by node/cli/option_sources.py, not by the commands.
Config = Annotated[str | None, Parameter(help="A TOML file with options.", env_var="COIND_CONFIG")]


def data_folder(text: str) -> Path:
    """Return a string as the path of a data folder. Raises NodeError for an empty string.

    An empty path would mean the current folder. It is refused, since it usually comes from an unset shell variable.
    """
    if not text or "\0" in text:
        raise NodeError(f"--data {text!r} is not a folder. Give a folder, or . for the current one.")
    return Path(text)
