"""Bundles the explorer's JavaScript modules into one file. A browser then needs one request for the modules instead of sixty.

Each module becomes a block scope, after the modules that it imports. Only the import and export syntax that these files use is supported.
"""

import re
from collections.abc import Mapping
from posixpath import dirname, join, normpath

IMPORT = re.compile(r'^import (.+?) from "(.+?)";\n', re.MULTILINE | re.DOTALL)
# The groups are `default`, the name of a function or class, the name of a constant, destructured names, and names declared earlier.
EXPORT = re.compile(
    r"^export (default )?(?:(?:async )?(?:function|class) (\w+)|const (?:(\w+)|[\[{]([^\]}]+)[\]}])|\{([^}]+)\};\n)",
    re.MULTILINE,
)
STATIC = re.compile(r"^(import|export) ", re.MULTILINE)


def joined(sources: Mapping[str, str], main: str) -> str:
    """Return the bundle of `main` and all modules that it imports. Raises ValueError for unsupported syntax and for import cycles.

    `sources` contains the source of each module by path. Imports of other modules stay unchanged.
    """
    order: dict[str, list[str]] = {}
    outer: dict[str, str] = {}
    _visit(sources, main, order, outer, ())
    head = [f'import * as {name} from "{path}";\n' for path, name in outer.items()]
    return "".join([*head, *(line for lines in order.values() for line in lines)])


def _visit(sources: Mapping[str, str], path: str, order: dict[str, list[str]], outer: dict[str, str], above: tuple[str, ...]) -> None:
    if path in above:
        raise ValueError(f"modules import each other: {' -> '.join((*above, path))}")
    if path in order:
        return

    def imported(found: re.Match[str]) -> str:
        names, target = found[1], normpath(join(dirname(path), found[2]))
        if target in sources:
            _visit(sources, target, order, outer, (*above, path))
            module = _name(target)
        else:
            module = outer.setdefault(target, _name(target))
        if names.startswith("* as "):
            return f"const {names.removeprefix('* as ')} = {module};\n"
        return f"const {names.replace(' as ', ': ') if names.startswith('{') else f'{{ default: {names} }}'} = {module};\n"

    exports: list[str] = []

    def exported(found: re.Match[str]) -> str:
        is_default, name, constant, several, listed = found.groups()
        if listed is not None:
            exports.extend(_words(listed))
            return ""
        exports.extend([f"default: {name}"] if is_default else [name or constant] if several is None else _words(several))
        return found[0].removeprefix("export ").removeprefix("default ")

    text = EXPORT.sub(exported, IMPORT.sub(imported, sources[path]))
    if STATIC.search(text):
        raise ValueError(f"{path}: an import or export is written in another way")
    # The module becomes a block scope, so that its names stay local.
    order[path] = [f"const {_name(path)} = {{}};\n", "{\n", text, f"Object.assign({_name(path)}, {{ {', '.join(exports)} }});\n", "}\n"]


def _name(path: str) -> str:
    return "module_" + re.sub(r"\W", "_", path)


def _words(listed: str) -> list[str]:
    return [word.strip() for word in listed.split(",") if word.strip()]
