"""Runs all seeds and previous findings through their targets, without atheris, in every test run."""

from pathlib import Path

import pytest

from tests.fuzz.registry import TARGETS
from tests.fuzz.target import Keeper, Target, kept_inputs, kind_of, name_of


@pytest.mark.parametrize("target", TARGETS.values(), ids=list(TARGETS))
def test_seeds_and_findings_pass(target: Target) -> None:
    run = target.make()
    kept = list(kept_inputs(target))
    assert len(kept) >= 3
    for path in kept:
        assert path.name == name_of(path.read_bytes()), "the file name of an input must be the start of its SHA-256"
        try:
            run(path.read_bytes())
        except Exception as error:
            raise AssertionError(f"{path}: {kind_of(error)}") from error


def test_shortest_input_of_a_finding_is_kept(tmp_path: Path) -> None:
    def run(data: bytes) -> None:
        assert len(data) < 4, "too long"
        if data == b"x":
            raise KeyError("x")

    keep = Keeper(TARGETS["keys"], run, tmp_path)
    for data in (b"good", b"longer", b"abcde", b"x", b"ok"):
        keep(data)
    assert sorted(path.read_bytes() for path in (tmp_path / "keys").iterdir()) == [b"good", b"x"]
    assert keep.count == 5
    assert len(keep.kinds) == 2
