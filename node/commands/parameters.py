"""Kinds of parameters that several commands have, as cyclopts takes them."""

from typing import Annotated

from cyclopts import Parameter

Repeated = Parameter(negative=(), consume_multiple=False, show_default=False)
Flag = Parameter(negative=(), show_default=False)
Chain = Annotated[str, Parameter(help="A chain spec: a name, or a TOML file.")]
ChainOfBlocks = Annotated[str | None, Parameter(help="A chain spec: a name, or a TOML file; by default that of the blocks.")]
