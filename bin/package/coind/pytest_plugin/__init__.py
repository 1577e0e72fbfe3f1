"""A pytest plugin for tests against a node of coind: `coin_node`, one node for the session; `coin_chain`, its chain, fresh for each test.

It knows the node by its command line and its RPC only. pytest loads it in every session, so it imports little: of the node only the
client, and that once a node starts.
"""

from collections.abc import Generator, Iterator
from typing import Any

import pytest

from coind.pytest_plugin.chain import Chain
from coind.pytest_plugin.command import find_command
from coind.pytest_plugin.node import Node, NodeFailed
from coind.pytest_plugin.refusals import Expected, Refused
from node.client.dev_api import Account, Key

__all__ = ["Account", "Chain", "Expected", "Key", "Node", "NodeFailed", "Refused"]

CHAIN, BLOCKS = "dev", "instant"
SECONDS_MAX = 120  # for the start; the very first one of a checkout sets it up


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options and settings."""
    group = parser.getgroup("coind", "coind, a node of a Steem-family blockchain")
    group.addoption("--coind", metavar="COMMAND", help="the command that starts coind")
    group.addoption("--coind-chain", metavar="CHAIN", help=f"the chain that the node runs: a name, or a TOML file ({CHAIN})")
    group.addoption("--coind-blocks", metavar="MODE", help=f"when blocks are made: instant, manual, interval:SECONDS ... ({BLOCKS})")
    parser.addini("coind_command", "the command that starts coind; a relative path begins at the folder of this file", default="")
    parser.addini("coind_chain", "the chain that the node runs", default=CHAIN)
    parser.addini("coind_blocks", "when blocks are made", default=BLOCKS)
    parser.addini("coind_options", "further options of `coind run`", type="args")


@pytest.fixture(scope="session")
def coin_node(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node of a chain of its own, on a free port, for the whole session; with xdist each worker has one."""
    command = find_command(pytestconfig)
    chain = pytestconfig.getoption("--coind-chain") or pytestconfig.getini("coind_chain")
    blocks = pytestconfig.getoption("--coind-blocks") or pytestconfig.getini("coind_blocks")
    options = ["--chain", chain, "--blocks", blocks, *pytestconfig.getini("coind_options")]
    with Node.start(command, options, tmp_path_factory.mktemp("coind"), SECONDS_MAX) as node:
        yield node


@pytest.fixture
def coin_chain(coin_node: Node) -> Iterator[Chain]:
    """The chain of `coin_node`, which returns after the test to where it was before; so do its clock, its block mode, and what waits."""
    chain = coin_node.chain
    moment = coin_node.begin_test()
    try:
        yield chain
    finally:
        coin_node.end_test(moment)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the transactions that were refused during a failed test to its report, whichever client sent them."""
    report = yield
    chain: Any = getattr(item, "funcargs", {}).get("coin_chain")
    if report.when == "call" and report.failed and isinstance(chain, Chain):
        # What the report says already isn't said again.
        shown = report.longreprtext
        refused = [each for each in chain.refused_in_test() if not each.why or each.why not in shown]
        if refused:
            report.sections.append(("coind: refused transactions, the last first", "\n\n".join(map(str, refused))))
    return report
