"""Forks from sources that lie: for every second method that a fork is made from, one of the lies of sweep.py."""

from pathlib import Path

import pytest

from node.app.local_chain import LocalChain
from tests.fork.sweep import LIES, lie, methods_of
from tests.fork.town import town


@pytest.fixture(scope="module")
def source() -> LocalChain:
    return town()


@pytest.mark.parametrize("flavour", ["coind", "jussi"])
def test_a_lie_is_refused_or_harmless(source: LocalChain, flavour: str, tmp_path: Path) -> None:
    outcomes = [
        lie(source, flavour, method, LIES[(number * 5 + len(flavour)) % len(LIES)], tmp_path)
        for number, method in enumerate(methods_of(source, flavour)[::2])
    ]
    assert {*outcomes} == {"refused", "made"}
