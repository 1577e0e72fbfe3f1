"""Build hook for hatchling: packs the folders of this checkout into one package, `coind`. The wheel has no other top-level name.

Modules import each other by their names in the checkout (`from node.runtime.clock import ...`). In the wheel, the folders are inside the
package. These names are therefore rewritten in imports, and in string literals that name a module, for example a module that is started as
a child process.
"""

import ast
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "coind"
# The folders that become private subpackages, since a user's own modules can have the same names.
FOLDERS = ("node", "state", "rpc")
# The command as it is called in a checkout, and as it is called after installation.
COMMAND, INSTALLED_COMMAND = "bin/coind", "coind"
# Strings that look like module names, for example arguments for Python, or declarations of commands.
LIKE_MODULE = re.compile(rf"(?:{'|'.join(FOLDERS)})(?:\.\w+)+(?::\w+)?")
# RPC methods that look like module names.
NOT_MODULES = ("rpc.discover",)
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc")


class Builder(BuildHookInterface[Any]):
    """Writes the files of the wheel to a temporary folder, and passes the folder to hatchling."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the files of the wheel. For an editable install (`pip install --editable`), do nothing."""
        if version == "editable":
            return
        self.folder = Path(tempfile.mkdtemp(prefix="coind-wheel-"))
        lay_out(Path(self.root), self.folder / PACKAGE)
        build_data["force_include"][str(self.folder / PACKAGE)] = PACKAGE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary folder."""
        if version != "editable":
            shutil.rmtree(self.folder)


def lay_out(root: Path, target: Path) -> None:
    """Write the package to a new folder, in the layout of the wheel."""
    shutil.copytree(root / "bin" / "package" / PACKAGE, target, ignore=LEFT_OUT)
    for name in (*FOLDERS, "genesis"):
        shutil.copytree(root / name, target / name, ignore=LEFT_OUT)
    modules = frozenset(module_names(root))
    for path in target.rglob("*.py"):
        try:
            path.write_text(rewritten(path.read_text("utf-8"), modules), "utf-8")
        except ValueError as error:
            raise ValueError(f"{path.relative_to(target)}: {error}") from None
    for path in target.rglob("*.js"):
        path.write_text(path.read_text("utf-8").replace(COMMAND, INSTALLED_COMMAND), "utf-8")


def module_names(root: Path) -> Iterator[str]:
    """Yield the dotted names of all modules and packages in the folders that the wheel contains."""
    for name in FOLDERS:
        for path in (root / name).rglob("*.py"):
            inside = path.relative_to(root).with_suffix("")
            yield ".".join(inside.parent.parts if inside.name == "__init__" else inside.parts)


def rewritten(source: str, modules: frozenset[str]) -> str:
    """Rewrite the source of a module for the wheel: names of `modules` get the package as a prefix, and commands become the installed
    command.

    Raises ValueError for a name that can't be rewritten.
    """
    lines = source.encode().splitlines(keepends=True)
    # Rewrites from the end, so that earlier positions stay valid.
    for line, column, name in sorted(places(ast.parse(source), modules), reverse=True):
        text = lines[line - 1]
        if not text[column:].startswith(name.encode()):
            raise ValueError(f"line {line}: {name} can't be rewritten. Write it as one plain string literal.")
        lines[line - 1] = text[:column] + f"{PACKAGE}.".encode() + text[column:]
    return b"".join(lines).decode().replace(COMMAND, INSTALLED_COMMAND)


def places(tree: ast.Module, modules: frozenset[str]) -> Iterator[tuple[int, int, str]]:
    """Yield (line, offset, name) for each module name in a source file. Lines count from 1, and offsets are in bytes within the line."""
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and is_ours(node.module or "", modules):
            yield node.lineno, node.col_offset + len("from "), node.module or ""
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if is_ours(alias.name, modules):
                    yield alias.lineno, alias.col_offset, alias.name
                    imported |= {alias.name} if alias.asname is None else set()
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and names_module(node.value, modules):
            yield node.lineno, node.col_offset + 1, node.value
    check_uses(tree, imported)


def check_uses(tree: ast.Module, imported: set[str]) -> None:
    """Raise ValueError if `a.b` is used after `import a.b`. In the wheel, that import would bind the name of the package instead of `a`."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Name)) and (name := ast.unparse(node)) in imported:
            raise ValueError(f"line {node.lineno}: {name} is used by its full name. Import it with `from`, or `as` another name.")


def is_ours(name: str, modules: frozenset[str]) -> bool:
    """Whether an import is from one of the wheel's folders. Raises ValueError for a module in them that doesn't exist."""
    if name.partition(".")[0] not in FOLDERS:
        return False
    if name not in modules:
        raise ValueError(f"there is no module {name}")
    return True


def names_module(text: str, modules: frozenset[str]) -> bool:
    """Whether a string names a module of these folders, or an object in one (`node.cli.run_options:run_command`).

    Raises ValueError for a string that looks like such a name, but is neither a module nor in NOT_MODULES.
    """
    if not LIKE_MODULE.fullmatch(text) or text in NOT_MODULES:
        return False
    if text.partition(":")[0] not in modules:
        raise ValueError(f"the string {text!r} looks like a module name. Add it to NOT_MODULES of {Path(__file__).name}.")
    return True
