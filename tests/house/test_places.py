"""Where tests stand: the test of `x/y.py` is found in `tests/x/`, as `test_y.py` or `test_y_<subject>.py`; `test_x_<subject>.py` is
about the whole folder.
"""

from pathlib import Path, PurePath

import pytest

from tests.conftest import ROOT

MIRRORED = ("bench", "bin", "node", "rpc", "state")
# Tests of no single module: of recordings, of the whole node, of the pages for users, and of how the code is written.
APART = (
    "attack",
    "clients",
    "conformance",
    "dearest",
    "deploy",
    "docs",
    "explorer",
    "export",
    "fuzz",
    "house",
    "nats",
    "notebook",
    "ray",
    "simulation",
    "site",
    "spark",
    "walks",
    "wheel",
    "whole",
)
HELPERS = ("helpers",)


def modules(folder: Path) -> set[str]:
    """The names of the modules and packages of a source folder, and of the scripts in it."""
    return {path.stem for path in folder.iterdir() if path.suffix in (".py", ".sh") or path.is_dir() or not path.suffix}


def misplaced(test: PurePath, root: Path = ROOT) -> str:
    """What is wrong with the place of a test file, given from the root on; "" when nothing is."""
    folder = PurePath(*test.parts[1:-1])
    if folder.parts and folder.parts[0] in APART:
        return ""
    if not folder.parts or folder.parts[0] not in MIRRORED or not (root / folder).is_dir():
        return f"{test}: there is no folder {folder} whose tests these could be"
    subject = test.stem.removeprefix("test_")
    known = modules(root / folder) | {folder.name}
    if not any(subject == name or subject.startswith(f"{name}_") for name in known):
        return f"{test}: {folder} has no module {subject}"
    return ""


def test_tests_stand_where_their_subject_stands() -> None:
    found = sorted(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py"))
    assert [problem for path in found if (problem := misplaced(path))] == []
    assert len(found) > 50


def test_every_folder_of_tests_is_known() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert folders <= {*MIRRORED, *APART, *HELPERS}


@pytest.mark.parametrize(
    ("path", "right"),
    [
        ("tests/state/store/test_table.py", True),
        ("tests/state/store/test_table_undo.py", True),
        ("tests/state/test_store.py", True),
        ("tests/house/test_anything.py", True),
        ("tests/state/store/test_tables.py", False),
        ("tests/state/shop/test_table.py", False),
        ("tests/test_table.py", False),
    ],
)
def test_a_wrong_place_is_found(path: str, right: bool) -> None:
    assert (misplaced(PurePath(path)) == "") is right
