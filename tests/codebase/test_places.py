"""Where tests stand: the test of `x/y.py` is found in `tests/x/`, as `test_y.py` or `test_y_<subject>.py`; `test_x_<subject>.py` is
about the whole folder. Folders of tests beside which there is no source are about no single module.
"""

from pathlib import Path

from tests.conftest import ROOT

MIRRORED = ("bench", "bin", "node", "rpc", "state")


def names(folder: Path) -> set[str]:
    """The names that tests of a source folder may begin with: those of its modules, packages and scripts, and its own."""
    found = {path.stem for path in folder.iterdir() if path.suffix in (".py", ".sh") or path.is_dir() or not path.suffix}
    return {*found, folder.name}


def test_tests_stand_where_their_subject_stands() -> None:
    misplaced = []
    for test in (test for top in MIRRORED for test in sorted((ROOT / "tests" / top).rglob("test_*.py"))):
        folder = ROOT / test.parent.relative_to(ROOT / "tests")
        subject = test.stem.removeprefix("test_")
        if not folder.is_dir() or not any(f"{subject}_".startswith(f"{name}_") for name in names(folder)):
            misplaced.append(str(test.relative_to(ROOT)))
    assert misplaced == []
