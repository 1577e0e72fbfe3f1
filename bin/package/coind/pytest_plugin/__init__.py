"""pytest plugin for tests that use a coind node. `coin_node` is one node for the session. `coin_chain` is its chain, restored after each
test.

The plugin uses only the node's command line and RPC. pytest loads it in every session, so it imports little. The node's client is imported
when a node starts.
"""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from coind.pytest_plugin.chain import Chain
from coind.pytest_plugin.command import find_command
from coind.pytest_plugin.node import Node, NodeFailed
from coind.pytest_plugin.refusals import Expected, Refused
from node.client.dev_api import Account, Key

__all__ = ["Account", "Chain", "Expected", "Key", "Node", "NodeFailed", "Refused"]

CHAIN, BLOCKS = "dev", "instant"
SECONDS_MAX = 120  # seconds for the start; the first start of a checkout also sets it up


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the plugin's command-line options and ini settings."""
    group = parser.getgroup("coind", "coind, a node of a Steem-family blockchain")
    group.addoption("--coind", metavar="COMMAND", help="the command that starts coind")
    group.addoption("--coind-chain", metavar="CHAIN", help=f"the chain that the node runs: a name, or a TOML file ({CHAIN})")
    group.addoption(
        "--coind-fork", metavar="FILE|URL", help="the fork file (made by coind fork) or the URL with which the node's chain begins"
    )
    group.addoption("--coind-blocks", metavar="MODE", help=f"the block mode: instant, manual, interval:SECONDS ... ({BLOCKS})")
    parser.addini("coind_command", "the command that starts coind; a relative path is relative to the folder of this file", default="")
    parser.addini("coind_chain", "the chain that the node runs", default=CHAIN)
    parser.addini(
        "coin_fork", "the fork file, relative to the folder of this file, or the URL with which the node's chain begins", default=""
    )
    parser.addini("coind_blocks", "the block mode", default=BLOCKS)
    parser.addini("coind_options", "additional options of `coind run`", type="args")


@pytest.fixture(scope="session")
def coin_node(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node with its own chain, on a free port, for the whole session. With xdist, each worker has its own node."""
    command = find_command(pytestconfig)
    blocks = pytestconfig.getoption("--coind-blocks") or pytestconfig.getini("coind_blocks")
    options = [*chain_options(pytestconfig), "--blocks", blocks, *pytestconfig.getini("coind_options")]
    with Node.start(command, options, tmp_path_factory.mktemp("coind"), SECONDS_MAX) as node:
        yield node


def chain_options(config: pytest.Config) -> list[str]:
    """Return the options that select the node's chain. An option of the command line takes precedence over the settings."""
    fork, chain = config.getoption("--coind-fork"), config.getoption("--coind-chain")
    if fork:
        return fork_option(fork, config.invocation_params.dir)
    if config.getini("coin_fork") and not chain:
        return fork_option(config.getini("coin_fork"), (config.inipath or config.rootpath / "x").parent)
    return ["--chain", chain or config.getini("coind_chain")]


def fork_option(text: str, folder: Path) -> list[str]:
    """Return the option for a fork: a URL, or a path relative to this folder."""
    return ["--fork", text if "://" in text else str(folder / text)]


@pytest.fixture
def coin_chain(coin_node: Node) -> Iterator[Chain]:
    """The chain of `coin_node`. After the test, the chain is restored, including its clock, block mode and pending transactions."""
    chain = coin_node.chain
    moment = coin_node.begin_test()
    try:
        yield chain
    finally:
        coin_node.end_test(moment)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the transactions that were refused during a failed test, from any client, to the test's report."""
    report = yield
    chain: Any = getattr(item, "funcargs", {}).get("coin_chain")
    if report.when == "call" and report.failed and isinstance(chain, Chain):
        # Omit refusals that the report already contains.
        shown = report.longreprtext
        refused = [each for each in chain.refused_in_test() if not each.why or each.why not in shown]
        if refused:
            report.sections.append(("coind: refused transactions, the last first", "\n\n".join(map(str, refused))))
    return report
