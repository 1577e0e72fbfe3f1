"""Generates the pages of docs/api, which describe all RPC methods, records and operations, from their declarations."""

from pathlib import Path

import rpc.api  # noqa: F401 - fills METHODS
import state.operations  # noqa: F401 - fills OPERATIONS
from node.specs.builder import load_spec
from rpc.declare.method import METHODS
from rpc.describe.markdown import Pages, pages
from rpc.describe.openrpc import document
from state.protocol.transaction import Wire

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "api"
CHAIN = "dev"


def page_texts() -> Pages:
    """Return the text of every page, keyed by file name."""
    return pages(document(METHODS.values(), Wire(load_spec(CHAIN))))


def write() -> None:
    """Write all pages. Remove files that are no longer generated."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    texts = page_texts()
    for path in FOLDER.glob("*.md"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
