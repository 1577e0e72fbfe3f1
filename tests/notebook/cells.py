"""Notebooks as files: their code cells, their stored text outputs, and running a cell without Jupyter."""

import ast
import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
PICTURE = "picture"  # the tag of cells that need matplotlib
SIZE_MAX = 300_000  # bytes of a notebook with its outputs
MAGIC = "%"


def code_cells(notebook: Path) -> Iterator[dict[str, Any]]:
    """Yield the code cells of a notebook in order."""
    return (cell for cell in json.loads(notebook.read_bytes())["cells"] if cell["cell_type"] == "code")


def is_picture(cell: dict[str, Any]) -> bool:
    """Whether a cell draws a picture."""
    return PICTURE in cell["metadata"].get("tags", ())


def shown_text(cell: dict[str, Any]) -> str:
    """Return the stored outputs of a cell as text."""
    found = []
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            found.append("".join(output["text"]))
        elif output["output_type"] == "execute_result":
            found.append("".join(output["data"]["text/plain"]) + "\n")
    return "".join(found)


def run_cell(cell: dict[str, Any], names: dict[str, Any]) -> str:
    """Run a cell. Return its output and the value of its last expression as text."""
    lines = [line for line in "".join(cell["source"]).splitlines() if not line.startswith(MAGIC)]
    tree = ast.parse("\n".join(lines))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    place = f"cell {cell['id']}"
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, place, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), place, "eval"), names)
            if value is not None:
                print(value)
    return printed.getvalue()
