"""Size limits, and a search for code that the product doesn't use. ruff checks layout, docstrings and complexity."""

import ast
from collections.abc import Iterator

from vulture import Vulture

from tests.conftest import ROOT
from tests.helpers.sources import Source, sources

MODULE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70

# Code that only tests call belongs in the tests.
USERS = ("node", "rpc", "state", "bin", "bench")
# Names that the product doesn't use, with the reason to keep them. A decorator that registers a function counts as a use.
KEPT = (
    *("as_dict", "faucet", "polars", "set_authority", "set_balance", "set_vests"),  # for scripts and tests of users (docs/library.md)
    *("after_io_wait", "before_io_wait", "readable", "readinto", "seekable", "spawn", "spawn_app"),  # called by trio, io and hypercorn
    "CoindContainer",  # for tests of users (docs/test-suites.md)
    *("Builder", "initialize", "finalize", "pytest_*", "__init_subclass__"),  # called by hatchling, pytest and Python
    "*_command",  # named by the table of commands
    "pop_block",  # the counterpart of push_block (block-processing.md §2.6)
    *("ForkCalls", "Mirror", "all_communities", "read_communities", "read_reblogs"),  # for the node of a fork, and for complete copies
)
# Fields and constants aren't checked, since declarations and consumers of records read them.
DATA = ("attribute", "variable")


def long_parts(source: Source) -> Iterator[str]:
    """Yield the files and functions that exceed the size limits. Generated files have no limit."""
    if source.is_generated:
        return
    lines = source.text.count("\n")
    if lines > MODULE_LINES_MAX:
        yield f"{source.path}: {lines} lines"
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES_MAX:
                yield f"{source.path}:{node.lineno}: {node.name} has {length} lines"


def test_modules_and_functions_fit() -> None:
    assert [problem for source in sources() for problem in long_parts(source)] == []


def test_product_uses_its_code() -> None:
    vulture = Vulture(ignore_names=KEPT, ignore_decorators=["@*"])
    vulture.scavenge([str(ROOT / folder) for folder in USERS])
    assert [item.get_report() for item in vulture.get_unused_code() if item.typ not in DATA] == []
