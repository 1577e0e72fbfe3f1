"""The code cells of the notebooks, run in order without Jupyter, print the stored outputs."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.notebook.cells import NOTEBOOKS, SIZE_MAX, code_cells, is_picture, run_cell, shown_text


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")
def test_notebook_outputs_match_the_stored_ones(notebook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(notebook.parent)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    can_draw = importlib.util.find_spec("matplotlib") is not None
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in code_cells(notebook):
        if is_picture(cell) and not can_draw:
            continue
        printed = run_cell(cell, names)
        if not is_picture(cell):
            assert printed == shown_text(cell), cell["id"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_small_and_complete(notebook: Path) -> None:
    assert notebook.stat().st_size <= SIZE_MAX
    assert all(cell["execution_count"] for cell in code_cells(notebook))


def test_notebook_exists() -> None:
    assert [path.relative_to(ROOT).as_posix() for path in NOTEBOOKS] == ["docs/notebooks/ten-questions.ipynb"]
