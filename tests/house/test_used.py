"""Dead code as a test: every public name of the product has a user in the product. What only tests call belongs to the tests."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

from tests.helpers.sources import Source, sources

PRODUCT = ("node", "rpc", "state")
USERS = (*PRODUCT, "bin", "bench")

# Public names without a user in the product, and why they stay.
KEPT = {
    "Chain.pop_block": "the counterpart of push_block, for whoever holds a chain in this process (block-processing.md §2.6)",
    "FileStream.readable": "called by io.BufferedReader",
    "FileStream.seekable": "called by io.BufferedReader",
    "Intake.after_io_wait": "called by trio",
    "LoopTurns.after_io_wait": "called by trio",
    "LoopTurns.before_io_wait": "called by trio",
    "RowView.as_dict": "for scripts (docs/library.md)",
    "Tasks.spawn": "called by hypercorn",
    "Tasks.spawn_app": "called by hypercorn",
    "Timely.readable": "called by io.BufferedReader",
    "Timely.readinto": "called by io.BufferedReader",
    "ZstdStream.readable": "called by io.BufferedReader",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


def mentions(nodes: Iterable[ast.AST]) -> Counter[str]:
    """How often names are used: as names, attributes, members that are imported, and names spelled as a text
    (`getattr`, the path at which a record reads a field, or the place of a command, `module:name`).
    """
    found: Counter[str] = Counter()
    for node in nodes:
        if isinstance(node, ast.Name):
            found[node.id] += 1
        elif isinstance(node, ast.Attribute):
            found[node.attr] += 1
        elif isinstance(node, ast.alias) and node.asname:
            found[node.name] += 1
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            parts = node.value.replace(":", ".").split(".")
            if all(part.isidentifier() for part in parts):
                found.update(parts)
    return found


def definitions(source: Source) -> Iterator[tuple[str, Definition]]:
    """Public functions, classes and methods of a module. What a decorator registers has its user there."""
    for node in source.tree.body:
        if not isinstance(node, Definition) or node.name.startswith("_"):
            continue
        if not node.decorator_list:
            yield node.name, node
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, Function) and not member.name.startswith("_"):
                    yield f"{node.name}.{member.name}", member


def unused(defining: Iterable[Source], using: Iterable[Source]) -> Iterator[tuple[str, str]]:
    """Where and how each public name is called that nothing uses outside of its own definition."""
    everywhere = mentions(node for source in using for node in source.nodes)
    for source in defining:
        for name, node in definitions(source):
            if everywhere[node.name] <= mentions(ast.walk(node))[node.name]:
                yield f"{source.path}:{node.lineno}", name


def test_public_names_are_used_in_the_product() -> None:
    found = list(unused(sources(*PRODUCT), sources(*USERS)))
    assert [f"{place}: nothing in the product uses {name}" for place, name in found if name not in KEPT] == []
    assert set(KEPT) == {name for _, name in found}, "an exception that is no longer needed"


def test_what_nothing_uses_is_found() -> None:
    source = Source(
        "state/x.py", "def f(): pass\ndef g(): g()\ndef h(): pass\nh()\nclass A:\n    def m(self): pass\nA()\n@r\ndef k(): pass\n"
    )
    assert [name for _, name in unused([source], [source])] == ["f", "g", "A.m"]
