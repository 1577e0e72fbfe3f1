"""Declaration of a library's own test suite: its source, its settings for our node, its command, and the failures that are expected."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

HERE = Path(__file__).parent
# The reasons for an expected failure, and the column of the table in which each is counted.
KINDS = {
    "network": "needs the public network",
    "age": "the suite's age",
    "hive": "Hive's rules",
    "library": "the library's fault",
    "difference": "coind's known difference",
}

PASSWORD = "dev"

Kind = Literal["network", "age", "hive", "library", "difference"]


class Source(Struct, frozen=True, forbid_unknown_fields=True):
    """The origin of a suite: a commit of a git repository, a package of npm, or a source package of PyPI (`name==version`)."""

    git: str = ""
    commit: str = ""
    npm: str = ""
    pypi: str = ""


class Content(Struct, frozen=True, forbid_unknown_fields=True):
    """A transaction that the node gets before the suite starts, signed with the keys of the chain's accounts and of `Suite.accounts`."""

    operations: list[Any]
    node: str = ""  # the name of the node that gets it; by default, each node


class ConfigFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A file that the suite reads its settings from."""

    path: str
    text: str


class Replacement(Struct, frozen=True, forbid_unknown_fields=True):
    """An address, key or chain id that the suite contains in its files, and the value for our node."""

    paths: list[str]
    old: str
    new: str


class Listed(Struct, frozen=True, forbid_unknown_fields=True):
    """Tests that can't pass, and the reason."""

    kind: Kind
    why: str
    tests: list[str]


class Suite(Struct, frozen=True, forbid_unknown_fields=True):
    """A library's own test suite. Texts can contain the placeholders that `fill` replaces."""

    library: str
    version: str
    source: Source
    command: list[str]
    results: Literal["tap", "junit", "marks"]
    chain: str = "mainnet-like"
    nodes: dict[str, str] = {}  # the chains of further nodes by name, for suites that use a test network in addition to a public one
    needs: list[str] = []
    install: list[list[str]] = []
    options: list[str] = []
    blocks: int = 0  # made by each node before the suite starts, in the time before the present
    environment: dict[str, str] = {}
    seconds_max: int = 600
    accounts: list[str] = []  # created by initminer with funds unless the chain has them; their password is PASSWORD
    content: list[Content] = []
    traffic: bool = False  # whether the node gets a transaction every second, as streams of transactions expect it
    town: bool = False  # whether each node has the content of town.py, for suites that read a public network
    files: list[ConfigFile] = []
    replace: list[Replacement] = []
    listed: list[Listed] = []
    name: str = field(default="", name="_name")  # the name of the file

    @property
    def uses_python(self) -> bool:
        """Whether the suite needs a virtual environment."""
        return any("{python}" in word for command in [*self.install, self.command] for word in command)

    @property
    def reasons(self) -> dict[str, Kind]:
        """The kind of reason for each test that can't pass."""
        return {test: listed.kind for listed in self.listed for test in listed.tests}


def suites() -> list[Suite]:
    """Return all declared suites, sorted by name."""
    return [declared(path) for path in sorted(HERE.glob("*.toml"))]


def declared(path: Path) -> Suite:
    """Read a declaration."""
    return msgspec.convert(tomllib.loads(path.read_text()) | {"_name": path.stem}, Suite)


def fill(text: str, values: Mapping[str, object]) -> str:
    """Replace the placeholders `{name}` for which there are values. Other braces stay."""
    return re.sub(r"\{(\w+)\}", lambda found: str(values.get(found[1], found[0])), text)
