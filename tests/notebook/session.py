"""Runs in the Python that has Jupyter: runs each notebook, compares the outputs with the stored ones, and converts it to a page. Prints a
line for each step.
"""

import json
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert import HTMLExporter

from tests.conftest import ROOT
from tests.notebook.cells import NOTEBOOKS, SIZE_MAX, is_picture, shown_text

CELL_SECONDS_MAX = 120


def main(pages: Path, browser: str, is_saved: bool) -> None:
    """Run all notebooks."""
    pages.mkdir(parents=True, exist_ok=True)
    for path in NOTEBOOKS:
        notebook = nbformat.read(path, as_version=4)
        kept = [shown_text(cell) for cell in notebook.cells if cell.cell_type == "code"]
        try:
            NotebookClient(notebook, timeout=CELL_SECONDS_MAX, resources={"metadata": {"path": str(path.parent)}}).execute()
        except CellExecutionError as error:
            print("fail", path.name, str(error).strip().splitlines()[-1], flush=True)
            continue
        clean(notebook)
        if is_saved:
            path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print("pass", path.name, "runs", flush=True)
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        differing = [cell.id for cell, text in zip(cells, kept, strict=True) if shown_text(cell) != text and not is_saved]
        print("fail" if differing else "pass", path.name, "shows what it keeps", *differing, flush=True)
        blank = [cell.id for cell in cells if is_picture(cell) and "plt.show" in cell.source and not pictures(cell)]
        print("fail" if blank else "pass", path.name, "has its pictures", *blank, flush=True)
        print("pass" if path.stat().st_size <= SIZE_MAX else "fail", path.name, "is", path.stat().st_size, "bytes", flush=True)
        page = pages / f"{path.stem}.html"
        page.write_text(HTMLExporter().from_notebook_node(notebook)[0], encoding="utf-8")
        print(taken(page, browser), flush=True)


def clean(notebook: Any) -> None:
    """Remove data that differs between runs."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    notebook.metadata.language_info = {"name": "python"}


def pictures(cell: Any) -> list[str]:
    """Return the pictures in a cell's outputs."""
    return [output.data["image/png"] for output in cell.outputs if "image/png" in output.get("data", {})]


def taken(page: Path, browser: str) -> str:
    """Take a screenshot of a page and return the result line."""
    if not browser:
        return f"skip {page.name} as a picture: Chromium can't be found"
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        view = chromium.new_page(viewport={"width": 1100, "height": 900})
        # External resources in a notebook's page only affect formulas.
        view.route(lambda url: url.startswith("http"), lambda route: route.abort())
        view.goto(page.as_uri())
        view.screenshot(path=str(page.with_suffix(".png")), full_page=True)
        chromium.close()
    return f"pass {page} and {page.with_suffix('.png').name} are written"


if __name__ == "__main__":
    assert Path.cwd() == ROOT
    main(Path(sys.argv[1]), sys.argv[2], "--save" in sys.argv)
