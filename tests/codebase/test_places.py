"""The layout of the source and of its tests.

The tests of `x/y.py` are `tests/x/test_y.py` and `tests/x/test_y_<subject>.py`. `test_x_<subject>.py` tests the whole folder.
"""

import ast
import re
from pathlib import Path

from tests.conftest import ROOT
from tests.helpers.sources import sources

MIRRORED = ("bench", "bin", "node", "rpc", "state")


def names(folder: Path) -> set[str]:
    """Return the allowed prefixes for test files of a source folder: its modules, packages and scripts, and the folder's name."""
    found = {path.stem for path in folder.iterdir() if path.suffix in (".py", ".sh") or path.is_dir() or not path.suffix}
    return {*found, folder.name}


def test_tests_are_in_the_folder_of_their_subject() -> None:
    misplaced = []
    for test in (test for top in MIRRORED for test in sorted((ROOT / "tests" / top).rglob("test_*.py"))):
        folder = ROOT / test.parent.relative_to(ROOT / "tests")
        subject = test.stem.removeprefix("test_")
        if not folder.is_dir() or not any(f"{subject}_".startswith(f"{name}_") for name in names(folder)):
            misplaced.append(str(test.relative_to(ROOT)))
    assert misplaced == []


def test_modules_that_package_docstrings_list_exist() -> None:
    """If a package's docstring lists modules, in lines of the form `name description`, then these modules exist."""
    wrong = []
    for package in (found for found in sources("bin", "node", "rpc", "state") if found.path.endswith("/__init__.py")):
        listed = set(re.findall(r"^(\w+)  +\S", ast.get_docstring(package.tree) or "", re.MULTILINE))
        if listed:
            folder = ROOT / Path(package.path).parent
            modules = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
            wrong += [f"{package.module}: {name}" for name in sorted(listed - modules)]
    assert wrong == []
