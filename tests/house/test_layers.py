"""Which module may import which, and what the rules in state/ must not touch: I/O, clocks, chance, async, floating point
(docs/architecture.md). The libraries that they bring along are looked at for clocks as well.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.helpers.sources import Source, dotted, imports, sources

# From the outside in: a layer imports itself and the layers after it.
LAYERS = (
    "node",
    "rpc",
    "state.snapshot",
    "state.plugins",
    "state.chain",
    "state.operations",
    "state.effects",
    "state.tables",
    "state.store",
    "state.protocol",
)
# Folders of ours that no layer may import.
AROUND = ("bin", "genesis", "tests", "bench")

# Foreign libraries that only compute, and the places that may import them.
LIBRARIES = {
    "msgspec": ("state",),
    "coincurve": ("state.protocol",),
    "Crypto": ("state.protocol",),
    "base58": ("state.protocol",),
    "sortedcontainers": ("state.store",),
}
# Modules of the standard library whose functions read something besides their arguments, or wait.
IMPURE = frozenset({
    "_thread", "asyncio", "builtins", "concurrent", "contextvars", "ctypes", "fcntl", "fileinput", "getpass", "glob",
    "http", "importlib", "io", "locale", "mmap", "multiprocessing", "os", "pathlib", "pickle", "platform",
    "queue", "random", "sched", "secrets", "select", "selectors", "shelve", "shutil", "signal", "socket",
    "socketserver", "sqlite3", "ssl", "subprocess", "tempfile", "threading", "time", "urllib", "uuid", "warnings",
})  # fmt: skip
CLOCKS = frozenset({"now", "utcnow", "today", "fromtimestamp"})
# Functions of the system that read a clock, as a compiled module names them among the symbols that it needs.
SYSTEM_CLOCK = re.compile(rb"\0(clock_gettime|gettimeofday|time|clock|times|ftime|timespec_get|mach_absolute_time|_?PyTime_\w+)\0")
# Where rpc/ reads a clock, and which of its libraries do. None of it may decide what the chain does or a reply says, but the time stamp
# of a refusal. A path stands for all paths that begin with it.
CLOCKS_IN_RPC = {
    "rpc/push/session": "a reader that was let go has some time to take the reason",
    "rpc/service/envelope": "the clock of refusals' time stamps where the node brings none",
    "rpc/service/turns": "replies let others in after they have run for some time",
    "rpc/service/transport/": "connections are given up after some time",
}
LIBRARIES_WITH_CLOCKS = {
    "hypercorn": "time stamps in its log and in headers of replies",
    "trio": "waiting, and deadlines",
}
# The integer part of math.
MATH = frozenset({"comb", "factorial", "gcd", "isqrt", "lcm", "perm", "prod"})
ASYNC = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)

# Where the reference computes with doubles, and coind does the same. A path stands for all paths that begin with it.
FLOATS = {
    "state/plugins/tags": "the scores hot and trending are doubles in the reference",
    "state/plugins/social/scores": "scores and shown reputations are doubles in the indexer",
}


def layer_of(module: str) -> str | None:
    """The layer that a module belongs to; None for `state` itself and for foreign modules."""
    return next((layer for layer in LAYERS if module == layer or module.startswith(layer + ".")), None)


def wrong_directions(source: Source) -> Iterator[str]:
    """Imports of a layer further out, or of a folder that no layer may import."""
    layer = layer_of(source.module)
    for line, name in imports(source):
        target = layer_of(name)
        if target and (layer is None or LAYERS.index(target) < LAYERS.index(layer)):
            yield f"{source.path}:{line}: {layer or source.module} must not import {name}"
        elif name.split(".")[0] in AROUND:
            yield f"{source.path}:{line}: nothing in the node imports {name}"


def circle(files: Iterable[Source]) -> list[str]:
    """The modules of one circle of imports, the first of them once more at the end; empty when there is none.

    Imports for types only and imports inside functions count as well: they say that a module can't be understood without the
    other, whatever happens at run time. `from package import name` is an import of the package's `__init__`, unless the name is a
    module. That Python runs the `__init__` of a package before any module in it is not counted: it ties nothing but the import.
    """
    files = list(files)
    known = {source.module for source in files}
    graph = {source.module: {module_of(name, known) for _, name in imports(source)} - {source.module} for source in files}
    while ends := [module for module, targets in graph.items() if not targets & graph.keys()]:
        for module in ends:
            del graph[module]
    # Each module that is left imports another one that is left, so that a walk must come back to where it was.
    walked: list[str] = []
    module = min(graph, default="")
    while module and module not in walked:
        walked.append(module)
        module = min(graph[module] & graph.keys())
    return [*walked[walked.index(module) :], module] if module else []


def module_of(name: str, known: set[str]) -> str:
    """The module that an imported name is, or stands in; empty for foreign ones."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name


def impure_imports(source: Source) -> Iterator[str]:
    """Imports that bring I/O, a clock, chance or a foreign library into the rules."""
    for line, name in imports(source):
        top = name.split(".")[0]
        if top == "state" or (top in sys.stdlib_module_names and top not in IMPURE):
            continue
        if not any((source.module + ".").startswith(f"{place}.") for place in LIBRARIES.get(top, ())):
            yield f"{source.path}:{line}: {name} has no place here"


def impure_code(source: Source) -> Iterator[str]:
    """Async code, open files and clocks that no import gives away."""
    for node in source.nodes:
        if isinstance(node, ASYNC):
            yield f"{source.path}:{node.lineno}: async code"
        elif isinstance(node, ast.comprehension) and node.is_async:
            yield f"{source.path}:{node.target.lineno}: async code"
        elif isinstance(node, ast.Call):
            name = dotted(node.func)
            before, _, last = name.rpartition(".")
            if name in {"open", "input"} or (before.split(".")[-1] in {"datetime", "date"} and last in CLOCKS):
                yield f"{source.path}:{node.lineno}: {name}()"


def clocks(source: Source) -> Iterator[str]:
    """Imports of clocks, and calls of those that come with something else."""
    for line, name in imports(source):
        if name.split(".")[0] in {"time", "sched", "timeit"}:
            yield f"{source.path}:{line}: {name}"
    for node in source.nodes:
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            before, _, last = name.rpartition(".")
            if name == "trio.current_time" or (before.split(".")[-1] in {"datetime", "date", "dt"} and last in CLOCKS):
                yield f"{source.path}:{node.lineno}: {name}()"


@cache
def loaded_libraries(layer: str) -> dict[str, Path]:
    """The foreign modules, and their files, that are loaded when every module of a layer is."""
    program = (
        "import importlib, pkgutil, sys\n"
        f"for found in pkgutil.walk_packages(importlib.import_module({layer!r}).__path__, {layer + '.'!r}):\n"
        "    importlib.import_module(found.name)\n"
        "for name, module in list(sys.modules.items()):\n"
        "    print(name, getattr(module, '__file__', None) or '', sep='\\t')\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    pairs = (line.split("\t") for line in ran.stdout.splitlines())
    return {name: Path(path) for name, path in pairs if "site-packages" in path}


def clocks_in_library(name: str, path: Path) -> list[str]:
    """What a foreign module reads a clock with."""
    if path.suffix == ".py":
        # The name, not the path, since that is where relative imports count from.
        stands_at = name.replace(".", "/") + ("/__init__.py" if path.name == "__init__.py" else ".py")
        return list(clocks(Source(stands_at, path.read_text(encoding="utf-8"))))
    return [f"{name}: {found.decode()}()" for found in SYSTEM_CLOCK.findall(path.read_bytes())]


def floats(source: Source) -> Iterator[str]:
    """Float literals, conversions to float, true divisions and the float part of math."""
    for node in source.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, float | complex):
            yield f"{source.path}:{node.lineno}: the literal {node.value}"
        elif isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div):
            yield f"{source.path}:{node.lineno}: a true division"
        elif isinstance(node, ast.Call) and dotted(node.func) == "float":
            yield f"{source.path}:{node.lineno}: float()"
        elif isinstance(node, ast.Attribute) and dotted(node.value) == "math" and node.attr not in MATH:
            yield f"{source.path}:{node.lineno}: math.{node.attr}"
    for line, name in imports(source):
        if name.startswith("math.") and name.removeprefix("math.") not in MATH:
            yield f"{source.path}:{line}: {name}"


def test_layers_import_inwards() -> None:
    assert [problem for source in sources("node", "rpc", "state") for problem in wrong_directions(source)] == []


def test_modules_form_no_circles() -> None:
    assert circle(sources("node", "rpc", "state", "bin")) == []


def test_rules_only_compute() -> None:
    checks = (impure_imports, impure_code)
    assert [problem for source in sources("state") for check in checks for problem in check(source)] == []


def test_rules_have_no_floats() -> None:
    exact = [source for source in sources("state") if not source.path.startswith(tuple(FLOATS))]
    assert [problem for source in exact for problem in floats(source)] == []


def test_no_clock_is_read_in_the_libraries_of_rules() -> None:
    libraries = loaded_libraries("state")
    assert [clock for name, path in libraries.items() for clock in clocks_in_library(name, path)] == []
    assert {"msgspec._core", "coincurve._libsecp256k1", "sortedcontainers.sortedlist"} <= libraries.keys()


def test_clocks_outside_of_rules_are_known() -> None:
    unknown = [source for source in sources("rpc") if not source.path.startswith(tuple(CLOCKS_IN_RPC))]
    assert [clock for source in unknown for clock in clocks(source)] == []
    readers = {name.split(".")[0] for name, path in loaded_libraries("rpc").items() if clocks_in_library(name, path)}
    assert readers <= LIBRARIES_WITH_CLOCKS.keys()


def test_exceptions_are_needed() -> None:
    for place in CLOCKS_IN_RPC:
        assert any(clock for source in sources("rpc") if source.path.startswith(place) for clock in clocks(source)), place
    for library in LIBRARIES_WITH_CLOCKS:
        assert any(name.split(".")[0] == library for name in loaded_libraries("rpc")), library
    for allowed in FLOATS:
        excepted = [source for source in sources("state") if source.path.startswith(allowed)]
        assert not excepted or any(floats(source) for source in excepted), f"{allowed} needs no exception"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("state/tables/x.py", "from state.effects import supply"),
        ("state/tables/x.py", "from state import chain"),
        ("state/tables/x.py", "from ..effects.supply import add"),
        ("state/tables/__init__.py", "from ..effects import supply"),
        ("state/tables/x.py", "from .. import plugins"),
        ("state/protocol/x.py", "def f():\n    import state.store"),
        ("state/__init__.py", "from state.chain import push"),
        ("state/chain/x.py", "import rpc"),
        ("rpc/x.py", "import node.clock"),
        ("node/x.py", "from tests.conftest import ROOT"),
    ],
)
def test_a_wrong_direction_is_found(path: str, text: str) -> None:
    assert len(list(wrong_directions(Source(path, text)))) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("node/x.py", "import trio, rpc.service\nfrom state.chain import push"),
        ("state/chain/x.py", "from state.chain.y import f\nfrom . import z\nfrom state.protocol import asset"),
        ("state/tables/x.py", "from ..store import Table\nfrom state import protocol"),
    ],
)
def test_the_right_direction_is_free(path: str, text: str) -> None:
    assert list(wrong_directions(Source(path, text))) == []


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"a/x.py": "import a.y", "a/y.py": "from a.x import f"}, ["a.x", "a.y", "a.x"]),
        ({"a/x.py": "from a import y", "a/y.py": "if TYPE_CHECKING:\n    from a.x import F"}, ["a.x", "a.y", "a.x"]),
        ({"a/x.py": "from . import y", "a/y.py": "def f():\n    from .x import g"}, ["a.x", "a.y", "a.x"]),
        ({"a/__init__.py": "from a.x import f", "a/x.py": "from a import g"}, ["a", "a.x", "a"]),
        ({"a/__init__.py": "from a.x import f", "a/x.py": "import b", "b.py": "import a"}, ["a", "a.x", "b", "a"]),
        ({"a.py": "import b", "b.py": "import c", "c.py": "import d\nimport b", "d.py": ""}, ["b", "c", "b"]),
    ],
)
def test_a_circle_is_found(files: dict[str, str], found: list[str]) -> None:
    assert circle(Source(path, text) for path, text in files.items()) == found


@pytest.mark.parametrize(
    "files",
    [
        {"a/x.py": "import a.y\nimport sys\nfrom b import c", "a/y.py": "import json"},
        {"a/__init__.py": "from a.x import f\nfrom a.y import g", "a/x.py": "from a.y import h\nfrom a import y", "a/y.py": ""},
        {"a.py": "import b\nimport c", "b.py": "import d", "c.py": "import d", "d.py": "import d.e"},
    ],
)
def test_what_is_no_circle_is_free(files: dict[str, str]) -> None:
    assert circle(Source(path, text) for path, text in files.items()) == []


@pytest.mark.parametrize(
    "text",
    [
        "import trio",
        "from os import path",
        "import os.path",
        "from time import time",
        "from pathlib import Path",
        "import random",
        "import hypercorn.config",
        "from sortedcontainers import SortedList",
        "import rpc",
        "async def f(): pass",
        "x = [y async for y in z]",
        "open('x')",
        "import datetime\ndatetime.datetime.now()",
        "from datetime import date\ndate.today()",
    ],
)
def test_what_does_more_than_compute_is_found(text: str) -> None:
    source = Source("state/tables/x.py", text)
    assert len([*impure_imports(source), *impure_code(source)]) == 1


@pytest.mark.parametrize(
    "text",
    [
        "import time",
        "from time import perf_counter",
        "def f():\n    import time as t",
        "import trio\ntrio.current_time()",
        "from datetime import datetime\ndatetime.now()",
        "import datetime\ndatetime.datetime.utcnow()",
    ],
)
def test_a_clock_is_found(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text(text)
    assert len(clocks_in_library("x", path)) == 1


def test_a_clock_is_found_in_a_compiled_module(tmp_path: Path) -> None:
    path = tmp_path / "x.so"
    path.write_bytes(b"\x7fELF\0PyLong_FromLong\0clock_gettime\0free\0")
    assert clocks_in_library("x", path) == ["x: clock_gettime()"]
    path.write_bytes(b"\x7fELF\0PyLong_FromLong\0datetime\0free\0")
    assert clocks_in_library("x", path) == []


def test_what_only_computes_is_free() -> None:
    text = (
        "import bisect, hashlib, msgspec\nfrom datetime import datetime\nfrom state.store import Table\ndatetime(2020, 1, 1)\nstate.now()"
    )
    source = Source("state/tables/x.py", text)
    assert [*impure_imports(source), *impure_code(source)] == []


@pytest.mark.parametrize(
    "text", ["x = 0.5", "x = a / b", "x /= 2", "float(x)", "import math\nmath.sqrt(2)", "from math import log", "x = 1e6"]
)
def test_a_float_is_found(text: str) -> None:
    assert len(list(floats(Source("state/effects/x.py", text)))) == 1


def test_integers_are_free() -> None:
    text = "from math import isqrt\nimport math\nx = (a * b // c, isqrt(d), math.gcd(a, b), 10**6, 'a / b', isinstance(e, float))"
    assert list(floats(Source("state/effects/x.py", text))) == []
