"""What the rules in state/ must not touch: I/O, clocks, chance, async, floating point (docs/architecture.md). The libraries that they
import are searched for clocks as well.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.conftest import ROOT
from tests.helpers.sources import Source, dotted, imports, sources

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
    "rpc/jsonrpc/dispatch": "the clock of refusals' time stamps where the node brings none",
    "rpc/jsonrpc/scheduler": "replies let others in after they have run for some time",
    "rpc/http/": "connections are given up after some time",
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


def test_rules_only_compute() -> None:
    checks = (impure_imports, impure_code)
    assert [problem for source in sources("state") for check in checks for problem in check(source)] == []


def test_rules_have_no_floats() -> None:
    exact = [source for source in sources("state") if not source.path.startswith(tuple(FLOATS))]
    assert [problem for source in exact for problem in floats(source)] == []


def test_no_clock_is_read_in_the_libraries_of_rules() -> None:
    assert [clock for name, path in loaded_libraries("state").items() for clock in clocks_in_library(name, path)] == []


def test_clocks_outside_of_rules_are_known() -> None:
    unknown = [source for source in sources("rpc") if not source.path.startswith(tuple(CLOCKS_IN_RPC))]
    assert [clock for source in unknown for clock in clocks(source)] == []
    readers = {name.split(".")[0] for name, path in loaded_libraries("rpc").items() if clocks_in_library(name, path)}
    assert readers <= LIBRARIES_WITH_CLOCKS.keys()
