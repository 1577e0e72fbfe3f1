"""Code that the rules in state/ must not use: I/O, clocks, randomness, async, floating point (docs/architecture.md). Clocks are also
forbidden in the libraries that the rules import.
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

# Third-party libraries without side effects, and the modules that may import them.
LIBRARIES = {
    "msgspec": ("state",),
    "coincurve": ("state.protocol",),
    "Crypto": ("state.protocol",),
    "base58": ("state.protocol",),
    "sortedcontainers": ("state.store",),
}
# Modules of the standard library with functions that block or read data other than their arguments.
IMPURE = frozenset({
    "_thread", "asyncio", "builtins", "concurrent", "contextvars", "ctypes", "fcntl", "fileinput", "getpass", "glob",
    "http", "importlib", "io", "locale", "mmap", "multiprocessing", "os", "pathlib", "pickle", "platform",
    "queue", "random", "sched", "secrets", "select", "selectors", "shelve", "shutil", "signal", "socket",
    "socketserver", "sqlite3", "ssl", "subprocess", "tempfile", "threading", "time", "urllib", "uuid", "warnings",
})  # fmt: skip
CLOCKS = frozenset({"now", "utcnow", "today", "fromtimestamp"})
# Operating system functions that read a clock, as they appear in the symbol table of a compiled module.
SYSTEM_CLOCK = re.compile(rb"\0(clock_gettime|gettimeofday|time|clock|times|ftime|timespec_get|mach_absolute_time|_?PyTime_\w+)\0")
# Modules of rpc/ and libraries that read a clock. The result must not affect the chain or a reply, except for the timestamp of a refusal. A
# path includes all paths that start with it.
CLOCKS_IN_RPC = {
    "rpc/push/session": "a reader that was let go has some time to take the reason",
    "rpc/jsonrpc/dispatch": "the clock of refusals' time stamps where the node brings none",
    "rpc/jsonrpc/scheduler": "replies let others in after they have run for some time",
    "rpc/http/": "connections are given up after some time",
}
LIBRARIES_WITH_CLOCKS = {
    "hypercorn": "time stamps in its log and in headers of replies",
    "trio": "waiting, and deadlines",
    **dict.fromkeys(("flask", "itsdangerous", "quart", "quart_trio", "werkzeug"), "pages: time limits, and dates in headers"),
}
# The integer functions of math.
MATH = frozenset({"comb", "factorial", "gcd", "isqrt", "lcm", "perm", "prod"})
ASYNC = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)

# Modules in which the reference and coind both compute with doubles. A path includes all paths that start with it.
FLOATS = {
    "state/plugins/tags": "the scores hot and trending are doubles in the reference",
    "state/plugins/social/scores": "scores and shown reputations are doubles in the indexer",
}


def impure_imports(source: Source) -> Iterator[str]:
    """Yield imports that give the rules I/O, a clock, randomness or an unlisted third-party library."""
    for line, name in imports(source):
        top = name.split(".")[0]
        if top == "state" or (top in sys.stdlib_module_names and top not in IMPURE):
            continue
        if not any((source.module + ".").startswith(f"{place}.") for place in LIBRARIES.get(top, ())):
            yield f"{source.path}:{line}: {name} has no place here"


def impure_code(source: Source) -> Iterator[str]:
    """Yield async code, calls that open files, and uses of clocks that the imports don't reveal."""
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
    """Yield imports of clocks, and calls of clock functions in other modules."""
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
    """Import a whole layer in a new process. Return the third-party modules that this loads, each with its file."""
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
    """Return the places at which a third-party module reads a clock."""
    if path.suffix == ".py":
        # Use the module's name instead of its path, since relative imports are resolved against it.
        stands_at = name.replace(".", "/") + ("/__init__.py" if path.name == "__init__.py" else ".py")
        return list(clocks(Source(stands_at, path.read_text(encoding="utf-8"))))
    return [f"{name}: {found.decode()}()" for found in SYSTEM_CLOCK.findall(path.read_bytes())]


def floats(source: Source) -> Iterator[str]:
    """Yield float literals, conversions to float, true divisions and the floating-point functions of math."""
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


def test_rules_have_no_side_effects() -> None:
    checks = (impure_imports, impure_code)
    assert [problem for source in sources("state") for check in checks for problem in check(source)] == []


def test_rules_have_no_floats() -> None:
    exact = [source for source in sources("state") if not source.path.startswith(tuple(FLOATS))]
    assert [problem for source in exact for problem in floats(source)] == []


def test_libraries_of_rules_read_no_clock() -> None:
    assert [clock for name, path in loaded_libraries("state").items() for clock in clocks_in_library(name, path)] == []


def test_clocks_outside_of_rules_are_listed() -> None:
    unknown = [source for source in sources("rpc") if not source.path.startswith(tuple(CLOCKS_IN_RPC))]
    assert [clock for source in unknown for clock in clocks(source)] == []
    readers = {name.split(".")[0] for name, path in loaded_libraries("rpc").items() if clocks_in_library(name, path)}
    assert readers <= LIBRARIES_WITH_CLOCKS.keys()
