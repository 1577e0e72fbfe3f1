"""Rewriting of module names for the wheel, and names that can't be rewritten."""

from importlib import import_module
from typing import Any

import pytest

from tests.conftest import ROOT

build: Any = import_module("bin.package.build")
MODULES = frozenset({"node", "node.runtime.clock", "node.cli.run_options", "state", "state.operations", "rpc"})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from node.runtime.clock import now\n", "from coind.node.runtime.clock import now\n"),
        ("from node import clock\n", "from coind.node import clock\n"),
        ("from node.runtime.clock import (\n    now,\n)\n", "from coind.node.runtime.clock import (\n    now,\n)\n"),
        ("import node.runtime.clock as clock\n", "import coind.node.runtime.clock as clock\n"),
        (
            "import state.operations, trio, node.runtime.clock as c\n",
            "import coind.state.operations, trio, coind.node.runtime.clock as c\n",
        ),
        (
            "def f():\n    from state import x; import node.runtime.clock as y\n",
            "def f():\n    from coind.state import x; import coind.node.runtime.clock as y\n",
        ),
        ("é = 'ü'; from node.runtime.clock import now\n", "é = 'ü'; from coind.node.runtime.clock import now\n"),
        ("from . import node\nfrom .node import x\n", "from . import node\nfrom .node import x\n"),
        ("import trio.node\nfrom nodes import x\nimport noded\n", "import trio.node\nfrom nodes import x\nimport noded\n"),
        ("['-m', 'node.runtime.clock']\n", "['-m', 'coind.node.runtime.clock']\n"),
        ('load("node.cli.run_options:run_command")\n', 'load("coind.node.cli.run_options:run_command")\n'),
        ('x = ("ä", "node.runtime.clock", "node.runtime.clock")\n', 'x = ("ä", "coind.node.runtime.clock", "coind.node.runtime.clock")\n'),
        ('"""It needs node.runtime.clock."""\nnode = state = rpc = 1\nstate.operations\n', None),
        ("x = 'node'\ny = 'rpc.discover'\nz = 'a node.runtime.clock'\nfrom trio import state\n", None),
        ("help = 'run bin/coind show'\n", "help = 'run coind show'\n"),
    ],
)
def test_module_names_are_rewritten(source: str, expected: str | None) -> None:
    assert build.rewritten(source, MODULES) == (source if expected is None else expected)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("from node.clok import now\n", "there is no module node.clok"),
        ("import rpc.nothing\n", "there is no module rpc.nothing"),
        ("x = ['-m', 'node.clok']\n", "the string 'node.clok' looks like a module name. Add it to NOT_MODULES of build.py"),
        ("x = 'node.clok:main'\n", "the string 'node.clok:main' looks like a module name"),
        ("x = r'node.runtime.clock'\n", "line 1: node.runtime.clock can't be rewritten"),
        ("x = 'node.runtime.' 'clock'\n", "line 1: node.runtime.clock can't be rewritten"),
        ('x = """node.runtime.clock"""\n', "line 1: node.runtime.clock can't be rewritten"),
        ("import state.operations\nstate.operations.transfer()\n", "line 2: state.operations is used by its full name"),
        ("import state\nprint(state)\n", "line 2: state is used by its full name"),
        ("from  node.runtime.clock import now\n", "line 1: node.runtime.clock can't be rewritten"),
    ],
)
def test_names_that_cant_be_rewritten_are_refused(source: str, problem: str) -> None:
    with pytest.raises(ValueError) as raised:
        build.rewritten(source, MODULES)
    assert str(raised.value).startswith(problem)


def test_every_module_is_known() -> None:
    names = set(build.module_names(ROOT))
    assert {"node", "node.runtime.clock", "state.store.table", "rpc.api", "node.cli.tx.app"} <= names
    assert {name.partition(".")[0] for name in names} == set(build.FOLDERS)
    assert not names & set(build.NOT_MODULES)
