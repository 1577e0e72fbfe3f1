"""Runs real clients against real nodes: `bin/test clients [NAME]... [--source NAME=DIR]...`.

A name is that of a client, whose sessions run and whose steps are counted; `suite:NAME`, a library's own test suite; or `suites`, all of
those. Each client and each suite has a separate environment, which is rebuilt when its pinned versions change, and a new node.
"""

import argparse
import itertools
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from tests.clients.suites import run
from tests.clients.suites.declaration import suites
from tests.conftest import ROOT
from tests.helpers.sessions import SetupError, make_once, python_with, report, running_node, say, steps, totals

HERE = ROOT / "tests" / "clients"
ENVIRONMENTS = ROOT / ".venv-clients"
NODE_TOOLS = ("node", "npm")


class Client(Struct, frozen=True):
    """A client: the folder of its pinned versions and its session, and the chains of its sessions."""

    name: str
    chains: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """The folder with the client's files."""
        return HERE / self.name

    @property
    def is_javascript(self) -> bool:
        """Whether the client needs Node.js."""
        return (self.folder / "package.json").exists()


CLIENTS = (
    Client("beem", ("dev", "steem-testnet")),
    Client("lighthive", ("dev",)),
    Client("dsteem", ("dev-tests", "steem-testnet", "dev")),
    Client("steem-js", ("steem-testnet", "dev")),
    Client("wax", ("mainnet-like",)),
)


def main(arguments: list[str]) -> int:
    """Run the named clients and suites, or all. The status is 0 if nothing failed."""
    parser = argparse.ArgumentParser("bin/test clients")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a client, suite:NAME, or suites")
    parser.add_argument("--source", action="append", default=[], metavar="NAME=DIR", help="a git directory with the source of a suite")
    options = parser.parse_args(arguments)
    declared = suites()
    known = [*(client.name for client in CLIENTS), *(f"suite:{suite.name}" for suite in declared), "suites"]
    names = options.names or known
    if unknown := set(names) - set(known):
        say(f"there is no client {', '.join(sorted(unknown))}; there are {', '.join(known)}")
        return 2
    sources = {name: Path(directory).resolve() for name, _, directory in (source.partition("=") for source in options.source)}
    own_suites = [suite for suite in declared if "suites" in names or f"suite:{suite.name}" in names]
    sessions = (result for client in CLIENTS if client.name in names for result in results(client))
    return totals(itertools.chain(sessions, run.results(own_suites, ENVIRONMENTS / "suites", sources)), needs_pass=False)


def results(client: Client) -> Iterator[str]:
    """Yield the result of each step of a client's sessions, and print it."""
    missing = [tool for tool in NODE_TOOLS if client.is_javascript and shutil.which(tool) is None]
    for chain in client.chains:
        say(f"\n== {client.name} on {chain}")
        if missing:
            yield report(f"skip {client.name} on {chain}: {' and '.join(missing)} can't be found; it needs Node.js")
            continue
        try:
            command = environment(client)
            with running_node(chain) as url:
                yield from steps([*command, url, chain])
        except SetupError as error:
            yield report(f"fail {client.name} on {chain}: {error}")


# ------------------------------------------------------------------ environments


def environment(client: Client) -> list[str]:
    """Install a client's pinned versions. Return the command that runs its session."""
    if not client.is_javascript:
        python = python_with(client.folder / "requirements.txt", ENVIRONMENTS / client.name, client.name)
        return [python, "-m", f"tests.clients.{client.name}.session"]
    install = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(client.folder)]
    make_once(client.name, client.folder / "package-lock.json", client.folder / "node_modules", [install])
    return ["node", str(client.folder / "session.js")]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
