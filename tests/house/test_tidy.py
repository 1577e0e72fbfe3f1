"""House style as tests: sizes, docstrings, leftovers, dead code. Line length and the rest of layout are ruff's."""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from tests.conftest import ROOT
from tests.helpers.sources import Source, dotted, sources

MODULE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70

DOCUMENTED = ("node", "rpc", "state")
SILENT = ("rpc", "state")
# Where the names of classes say all.
NAMES_SAY_ALL = frozenset({"state/protocol/errors.py"})
# Said in halves, so that this file passes its own test.
LEFTOVERS = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|NotImplemented" r"Error)\b")
SCRIPTS = ("bin/coind", "bin/test", "bin/ready.sh", ".ci/run")

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef
Check = Callable[[Source], Iterator[str]]


def long_parts(source: Source) -> Iterator[str]:
    """A file or functions that don't fit; what a script wrote may be as long as it likes."""
    if source.is_generated:
        return
    lines = source.text.count("\n")
    if lines > MODULE_LINES_MAX:
        yield f"{source.path}: {lines} lines"
    for node in source.nodes:
        if isinstance(node, Function) and length(node) > FUNCTION_LINES_MAX:
            yield f"{source.path}:{node.lineno}: {node.name} has {length(node)} lines"


def length(node: Function) -> int:
    """Lines from `def` to the end."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def undocumented(source: Source) -> Iterator[str]:
    """Public classes and functions without a docstring, at the top level and in public classes.

    Not needed for `__dunder__` methods, properties of one statement, and methods that a base class of ours describes.
    """
    for node in source.tree.body:
        if not isinstance(node, Definition) or node.name.startswith("_"):
            continue
        if not ast.get_docstring(node) and not (isinstance(node, ast.ClassDef) and source.path in NAMES_SAY_ALL):
            yield f"{source.path}:{node.lineno}: {node.name} has no docstring"
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, Function) and needs_docstring(node, method) and not ast.get_docstring(method):
                    yield f"{source.path}:{method.lineno}: {node.name}.{method.name} has no docstring"


def needs_docstring(owner: ast.ClassDef, method: Function) -> bool:
    """Whether a method has to say what it does."""
    if method.name.startswith("_") or method.name in inherited(owner.name, owner):
        return False
    marks = {dotted(mark).split(".")[-1] for mark in method.decorator_list}
    return not marks & {"override", "overload", "setter"} and not (marks & {"property", "cached_property"} and len(method.body) == 1)


def inherited(name: str, owner: ast.ClassDef, seen: frozenset[str] = frozenset()) -> set[str]:
    """Names of the methods that the base classes of a class have, as far as they are ours."""
    found: set[str] = set()
    for base in owner.bases:
        base_name = dotted(base.value if isinstance(base, ast.Subscript) else base).split(".")[-1]
        if base_name != name and base_name not in seen and base_name in classes():
            for definition in classes()[base_name]:
                found |= {member.name for member in definition.body if isinstance(member, Function)}
                found |= inherited(base_name, definition, seen | {name})
    return found


@cache
def classes() -> dict[str, list[ast.ClassDef]]:
    """All classes of the product, by name."""
    found: dict[str, list[ast.ClassDef]] = {}
    for source in sources(*DOCUMENTED):
        for node in source.nodes:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(node)
    return found


def without_opening(source: Source) -> Iterator[str]:
    """A module that doesn't say what it holds; an empty `__init__` holds nothing."""
    if source.text.strip() and not ast.get_docstring(source.tree):
        yield f"{source.path}: no docstring"


def leftovers(path: str, text: str) -> Iterator[str]:
    """Marks of work that was put off."""
    for number, line in enumerate(text.splitlines(), 1):
        for mark in LEFTOVERS.findall(line):
            yield f"{path}:{number}: {mark}"


def calls_of_print(source: Source) -> Iterator[str]:
    """Calls of print."""
    for node in source.nodes:
        if isinstance(node, ast.Call) and dotted(node.func) == "print":
            yield f"{source.path}:{node.lineno}: print()"


def global_statements(source: Source) -> Iterator[str]:
    """Functions that rebind a module's names."""
    for node in source.nodes:
        if isinstance(node, ast.Global):
            yield f"{source.path}:{node.lineno}: global {', '.join(node.names)}"


def unused_private(source: Source) -> Iterator[str]:
    """Private functions and classes at the top level that their own module never mentions outside of them."""
    private = [node for node in source.tree.body if isinstance(node, Definition) and is_private(node) and not node.decorator_list]
    if not private:
        return
    lines: dict[str, list[int]] = {}
    for node in source.nodes:
        if isinstance(node, ast.Name):
            lines.setdefault(node.id, []).append(node.lineno)
    for node in private:
        last = node.end_lineno or node.lineno
        if all(node.lineno <= line <= last for line in lines.get(node.name, [])):
            yield f"{source.path}:{node.lineno}: {node.name} is never used"


def is_private(node: Definition) -> bool:
    """Whether a name is for its own module."""
    return node.name.startswith("_") and not node.name.endswith("__")


def test_modules_and_functions_fit() -> None:
    assert [problem for source in sources() for problem in long_parts(source)] == []


def test_modules_say_what_they_hold() -> None:
    assert [problem for source in sources() for problem in without_opening(source)] == []


def test_public_things_are_documented() -> None:
    assert [problem for source in sources(*DOCUMENTED) for problem in undocumented(source)] == []


def test_nothing_is_left_for_later() -> None:
    texts = [(source.path, source.text) for source in sources()]
    texts += [(path, (ROOT / path).read_text(encoding="utf-8")) for path in SCRIPTS]
    assert [problem for path, text in texts for problem in leftovers(path, text)] == []


def test_only_the_command_line_prints() -> None:
    assert [problem for source in sources(*SILENT) for problem in calls_of_print(source)] == []


def test_modules_keep_their_names() -> None:
    assert [problem for source in sources() for problem in global_statements(source)] == []


def test_private_code_is_used() -> None:
    assert [problem for source in sources() for problem in unused_private(source)] == []


BODY = "    x = 1\n"
CLASS = 'class A:\n    """What."""\n'


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (long_parts, "x = 1\n" * (MODULE_LINES_MAX + 1)),
        (long_parts, "def f():\n" + BODY * FUNCTION_LINES_MAX),
        (without_opening, "x = 1\n"),
        (undocumented, "def f():\n" + BODY),
        (undocumented, "class A:\n" + BODY),
        (undocumented, CLASS + "    async def f(self): pass\n"),
        (undocumented, CLASS + "    @property\n    def f(self):\n        g()\n        return 1\n"),
        (calls_of_print, "print(1)\n"),
        (global_statements, "def f():\n    global x\n    x = 1\n"),
        (unused_private, "def _f(): pass\n"),
        (unused_private, "def _f():\n    _f()\n"),
        (unused_private, "class _A: pass\n"),
    ],
)
def test_untidiness_is_found(check: Check, text: str) -> None:
    assert len(list(check(Source("state/chain/x.py", text)))) == 1


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (long_parts, "x = 1\n" * MODULE_LINES_MAX),
        (long_parts, "def f():\n" + BODY * (FUNCTION_LINES_MAX - 1)),
        (long_parts, "# Generated by bin/make_it\n" + "x = 1\n" * MODULE_LINES_MAX),
        (without_opening, ""),
        (undocumented, "def _f():\n" + BODY),
        (undocumented, CLASS + "    def __init__(self): pass\n    def _f(self): pass\n"),
        (undocumented, CLASS + "    @property\n    def f(self): return 1\n"),
        (undocumented, 'class A(ChainError):\n    """What."""\n    def message(self): return 1\n'),
        (unused_private, "def _f(): pass\nx = [_f]\n"),
        (unused_private, "@register\ndef _f(): pass\n"),
    ],
)
def test_tidiness_is_left_alone(check: Check, text: str) -> None:
    assert list(check(Source("state/chain/x.py", text))) == []


def test_leftovers_are_found() -> None:
    mark = "TO" + "DO"
    assert list(leftovers("x.py", f"x = 1\n# {mark}: later")) == [f"x.py:2: {mark}"]
