"""The suite of docs/fork_suite: twenty tests of a wallet, votes, posts, orders and recovery on forks of the sample town."""

import re
import shutil
from pathlib import Path

import pytest
import trio

from node.app.local_chain import LocalChain
from node.cli.dev.sample import SAMPLE
from node.fork.fetch import ForkRequest, make_fork
from node.fork.file import write_fork
from node.fork.source import Source
from tests.conftest import ROOT
from tests.end_to_end.suites.project import Project
from tests.fork.sources import SourceNode
from tests.fork.town import sample_town

SUITE = ROOT / "docs" / "fork_suite"
TESTS = 20


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


def passes(suite: Project, settings: str) -> None:
    """Run the suite with these settings. All of its tests must pass."""
    suite.settings(settings)
    done = suite.run("-q")
    assert re.search(rf"^{TESTS} passed", done.stdout, re.MULTILINE), done.stdout + done.stderr


def test_with_a_fork_file(suite: Project, source: LocalChain) -> None:
    make_file(source, suite.folder / "town.fork")
    passes(suite, "coin_fork = town.fork")
