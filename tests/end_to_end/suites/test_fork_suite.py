"""The suite of docs/fork_suite: twenty tests of a wallet, votes, posts, orders and recovery on forks of the sample town."""

import re
import shutil
from itertools import cycle
from pathlib import Path

import pytest
import trio

from node.app.local_chain import LocalChain
from node.cli.dev.sample import SAMPLE
from node.fork.fetch import ForkRequest, make_fork, write_new_fork
from node.fork.file import write_fork
from node.fork.source import Source
from tests.conftest import ROOT
from tests.end_to_end.suites.project import Project
from tests.fork.sources import FAULTS, PASSING, SourceNode
from tests.fork.town import sample_town

SUITE = ROOT / "docs" / "fork_suite"
TESTS = 20
BROKEN = ("silence", "always too many requests", "bad gateway", "half a body", "other JSON", "null", "other account")
BREAK = "test.break"  # the method after whose call the source is broken
# Runs after the suite, and before its second run.
BREAKS = """
import json
from urllib.request import urlopen

def test_the_source_breaks():
    urlopen({url!r}, json.dumps({{"id": 1, "method": {method!r}}}).encode()).read()
"""


@pytest.fixture(scope="module")
def source() -> LocalChain:
    return sample_town("dev")


@pytest.fixture
def suite(project: Project) -> Project:
    """A project with the suite."""
    shutil.copytree(SUITE, project.folder / "tests", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    return project


def make_file(source: LocalChain, path: Path) -> None:
    """Make a fork file with everybody in the town and their posts."""
    request = ForkRequest(accounts=(*SAMPLE["people"],), newest_posts=10)

    async def make() -> None:
        chain, origin = await make_fork(Source("http://source:8090", transport=SourceNode(source).transport()), request, lambda text: None)
        write_fork(chain, path, origin)

    trio.run(make)


def passes(suite: Project, fork: str, count: int = TESTS) -> None:
    """Run the suite with this fork. All tests must pass."""
    suite.settings(f"coin_fork = {fork}")
    done = suite.run("-q")
    assert re.search(rf"^{count} passed", done.stdout, re.MULTILINE), done.stdout + done.stderr


def test_with_a_fork_file(suite: Project, source: LocalChain) -> None:
    make_file(source, suite.folder / "town.fork")
    passes(suite, "town.fork")


def test_from_nothing_beside_a_source_that_recovers(suite: Project, source: LocalChain) -> None:
    node = SourceNode(source, "jussi", *PASSING)
    with node.listening() as url:
        passes(suite, url)
    assert node.calls["condenser_api.get_accounts"]


def test_what_was_fetched_needs_no_source(suite: Project, source: LocalChain) -> None:
    node, broken = SourceNode(source), cycle(BROKEN)

    def on_call(method: str) -> None:
        if method == BREAK or node.faults:
            node.faults = [FAULTS[next(broken)]()]

    node.on_call = on_call
    shutil.copytree(suite.folder / "tests", suite.folder / "tests" / "z_again")
    (suite.folder / "tests" / "y_break").mkdir()
    with node.listening() as url:
        suite.write(BREAKS.format(url=url, method=BREAK), "y_break/test_break.py")
        passes(suite, url, 2 * TESTS + 1)


def test_what_was_stored_needs_no_source(suite: Project, source: LocalChain) -> None:
    node = SourceNode(source)
    with node.listening() as url:
        make_empty_file(url, suite.folder / "empty.fork")
        requests = node.request_count
        passes(suite, "empty.fork\ncoind_options = --fetch")
        assert node.request_count > requests
        for fault in ("silence", "half a body", "other account"):
            node.faults[:] = [FAULTS[fault]()]
            passes(suite, "empty.fork\ncoind_options = --fetch")
    passes(suite, "empty.fork")


def make_empty_file(url: str, path: Path) -> None:
    """Make a fork file with nothing but the state of the chain."""

    async def make() -> None:
        source = Source(url)
        await write_new_fork(source, ForkRequest(), path, lambda text: None)
        await source.close()

    trio.run(make)
