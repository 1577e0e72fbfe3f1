"""Finds every place where the rules refuse an operation, in their source code: each `require` and each raised refusal with its possible
texts.

A text that comes from a caller's argument, a variable or an expression is traced to its literals. Values known only at run time are
replaced by GAP.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from state.protocol import errors
from tests.helpers.sources import Source, imports, sources

RULES = ("state/operations/", "state/effects/", "state/chain/")
CHECKS = ("require", "existing")
GAP = "\0"
PLACEHOLDER = re.compile(r"\$\{[^}]*\}")
REFUSALS = {name for name, cls in vars(errors).items() if isinstance(cls, type) and issubclass(cls, errors.ChainError)}
DEPTH_MAX = 4  # maximum number of callers through which a text is traced

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class RefusalSite:
    """A place in the code that refuses. `text` has a gap for each inserted value; `line` is the line number in the source file."""

    place: str
    said: str
    line: int

    @property
    def name(self) -> str:
        """The function and the text, in the form that a developer would search for."""
        return f"{self.place}: {self.said.replace(GAP, '…')}"


@dataclass(frozen=True)
class Scope:
    """The code in which an expression is evaluated: a module, and a function in it, or None for code outside of functions."""

    source: Source
    function: Function | None


@cache
def sites() -> tuple[RefusalSite, ...]:
    """All refusals of operations, effects and the chain."""
    return tuple(site for source in rules() for site in sites_of(source))


def rules() -> tuple[Source, ...]:
    """Return the modules that contain refusals."""
    return tuple(source for source in sources("state") if source.path.startswith(RULES))


def sites_of(source: Source) -> Iterator[RefusalSite]:
    """Yield the refusals of a module."""
    for function, node in walk(source):
        call = refusal(node)
        if call is None:
            continue
        scope = Scope(source, function)
        place = f"{source.module.removeprefix('state.')}.{function.name if function else '<module>'}"
        for said in sorted(texts_of(call, scope)):
            yield RefusalSite(place, said, call.func.lineno)


def walk(source: Source) -> Iterator[tuple[Function | None, ast.AST]]:
    """Yield every node of the syntax tree, with the innermost function that contains it."""
    waiting: list[tuple[Function | None, ast.AST]] = [(None, source.tree)]
    while waiting:
        function, node = waiting.pop()
        yield function, node
        inner = node if isinstance(node, Function) else function
        waiting.extend((inner, child) for child in ast.iter_child_nodes(node))


def refusal(node: ast.AST) -> ast.Call | None:
    """Return the call with the refusal's text: a `require`, or the construction of a refusal. A class that is raised without a call counts
    as a call without arguments.
    """
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Name) and node.exc.id in REFUSALS:
        return ast.Call(node.exc, [], [])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and (node.func.id in CHECKS or node.func.id in REFUSALS):
        return node
    return None


def texts_of(call: ast.Call, scope: Scope) -> set[str]:
    """Return the possible texts of a refusal. Without a text, return its condition. Without a condition, return the default text of its
    class.
    """
    assert isinstance(call.func, ast.Name)
    name, position = call.func.id, 1 if call.func.id in CHECKS else 0
    said = literals(call.args[position], scope) if len(call.args) > position else {""}
    if said != {""}:
        return said
    conditions = [keyword.value for keyword in call.keywords if keyword.arg == "condition"]
    if conditions:
        return literals(conditions[0], scope)
    error = getattr(errors, name)
    assert issubclass(error, errors.ChainError)
    return {error().message()}


# ------------------------------------------------------------------ texts


def literals(node: ast.expr, scope: Scope, depth: int = 0) -> set[str]:
    """Return the texts to which an expression can evaluate. GAP replaces values that are only known at run time."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return {PLACEHOLDER.sub(GAP, node.value)}
    if isinstance(node, ast.JoinedStr):
        found = {""}
        for part in node.values:
            inner = literals(part.value, scope, depth) if isinstance(part, ast.FormattedValue) else literals(part, scope, depth)
            found = {before + after for before in found for after in inner}
        return {PLACEHOLDER.sub(GAP, text) for text in found}
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return {a + b for a in literals(node.left, scope, depth) for b in literals(node.right, scope, depth)}
    if isinstance(node, ast.IfExp):
        return literals(node.body, scope, depth) | literals(node.orelse, scope, depth)
    if isinstance(node, ast.Name):
        return texts_of_name(node.id, scope, depth) or {GAP}
    return {GAP}


def texts_of_name(name: str, scope: Scope, depth: int) -> set[str]:
    """Return the texts that a variable can hold: those assigned in the function, passed by callers, or assigned in the module."""
    found: set[str] = set()
    if depth >= DEPTH_MAX:
        return found
    function = scope.function
    if function is not None:
        for node in ast.walk(function):
            for value in values_of(node, name):
                found |= literals(value, scope, depth)
        if not found and name in [argument.arg for argument in arguments(function)]:
            for caller, given in passed_arguments(function, name, scope.source):
                found |= literals(given, caller, depth + 1)
    for node in scope.source.tree.body if not found else ():
        for value in values_of(node, name):
            found |= literals(value, Scope(scope.source, None), depth)
    return found


def values_of(node: ast.AST, name: str) -> Iterator[ast.expr]:
    """Yield the expressions that a statement assigns to a name. A loop over a literal tuple yields all its elements."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from paired(target, node.value, name)
    elif isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple | ast.List):
        for value in node.iter.elts:
            yield from paired(node.target, value, name)


def paired(target: ast.expr, value: ast.expr, name: str) -> Iterator[ast.expr]:
    """Yield the part of a value that an assignment target binds to a name."""
    if isinstance(target, ast.Name) and target.id == name:
        yield value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, part in zip(target.elts, value.elts, strict=False):
            yield from paired(one, part, name)


def arguments(function: Function) -> list[ast.arg]:
    """Return the positional and keyword-only parameters of a function."""
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def passed_arguments(function: Function, name: str, home: Source) -> Iterator[tuple[Scope, ast.expr]]:
    """Yield the expressions that callers pass for a parameter, and its default."""
    names = [argument.arg for argument in arguments(function)]
    place = names.index(name) - (names[0] == "self")
    for scope, call in calls().get(function.name, []):
        if not refers_to(scope.source, home, function.name):
            continue
        if len(call.args) > place:
            yield scope, call.args[place]
        yield from ((scope, keyword.value) for keyword in call.keywords if keyword.arg == name)
    positional = [*function.args.posonlyargs, *function.args.args]
    defaults = dict(zip([a.arg for a in positional[::-1]], function.args.defaults[::-1], strict=False))
    if name in defaults:
        yield Scope(home, None), defaults[name]


@cache
def refers_to(source: Source, home: Source, name: str) -> bool:
    """Whether `name` in `source` refers to the definition in `home`: `source` is `home`, or it imports the name or the module."""
    return source == home or any(dotted in (f"{home.module}.{name}", home.module) for _, dotted in imports(source))


@cache
def calls() -> dict[str, list[tuple[Scope, ast.Call]]]:
    """Return every call in the modules that contain refusals, keyed by the name of the called function."""
    found: dict[str, list[tuple[Scope, ast.Call]]] = {}
    for source in rules():
        for function, node in walk(source):
            if isinstance(node, ast.Call):
                name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                found.setdefault(name, []).append((Scope(source, function), node))
    return found
