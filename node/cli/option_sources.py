"""Sources of options besides the command line: environment variables, then the TOML file given by `--config`.

Every option of every command has a variable and a key in the file. For `run` and `replay` they are, for example, COIND_CHAIN and `chain`.
For other commands they include the command's name: COIND_EXPORT_CHAIN, and `chain` in the table `[export]`. An empty variable counts as
unset.
"""

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast, get_args, get_origin

from cyclopts import App, Argument, ArgumentCollection, CycloptsError, Token
from msgspec import ValidationError, convert

from node.runtime.address import has_port
from node.runtime.suggestions import alternatives, closest, either
from rpc.log import Log

PREFIX = "COIND_"
# Commands whose variables and keys don't include the name of the command.
UNNAMED = ("run", "replay")
# Options of several commands, with one variable and key for all of them.
SHARED = ("url", "key")
# A config file can't name another one.
FORBIDDEN = "config"
SIZE_MAX = 1 << 20
WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a string"}
LIST = "a list of strings"
SHOWN_MAX = 200
PAGE = "docs/options.toml"
# The minimum similarity to a known variable for a warning, since other programs use variables with this prefix, too.
SIMILARITY_MIN = 0.75

# Kubernetes and Docker set variables such as COIND_PORT to the address of a service that is named coind.
_LINK = re.compile("(?:tcp|udp)://", re.ASCII)
_log = Log("node")

Options = dict[str, Argument]


class OptionSources:
    """Reads options of an app's commands from variables and files. cyclopts calls this object after it has parsed the command line."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._sources: dict[str, str] = {}

    def __call__(self, _command: App, words: tuple[str, ...], arguments: ArgumentCollection) -> None:
        """Set those options of the command `words` that are missing on the command line. Raises CycloptsError."""
        options = options_of(arguments)
        self._sources = {}
        for argument in options.values():
            if any(token.source == "env" and not token.value for token in argument.tokens):
                argument.tokens.clear()
        for argument in unset(options).values():
            for variable in variables_of(words, argument):
                text = os.environ.get(variable, "")
                if text and not _LINK.match(text):
                    self._add(argument, argument.env_var_split(text), keyword=variable, source="the environment", name=variable)
                    break
        self._warn_of_typos(words, options)
        given = options.get(FORBIDDEN)
        if given is not None and given.tokens and given.tokens[-1].value:
            self._read_file(given.tokens[-1].value, words, options)

    def name_sources(self, text: str) -> str:
        """Return an error message in which each option is named by its source, for example `COIND_DATA` instead of `--data`."""
        for option, name in self._sources.items():
            text = re.sub(rf"(?<![\w-]){re.escape(option)}(?![\w-])", name.replace("\\", r"\\"), text)
        return text

    def _add(self, argument: Argument, texts: Iterable[str], *, keyword: str, source: str, name: str) -> None:
        """Set an option's value from strings, as on the command line. Error messages call the option `name`."""
        self._sources[names_of(argument)[0]] = name
        for index, text in enumerate(texts):
            argument.append(Token(keyword=keyword, value=text, source=source, index=index))

    def _read_file(self, file: str, words: tuple[str, ...], options: Options) -> None:
        free = unset(options)
        current = {name: key for key, each in options.items() for name in deprecated_names(each)}
        for written, value in self._table_of(file, words, options).items():
            key = current.get(written, written)
            place = f"--config {file}: {written[:SHOWN_MAX]}"
            if key not in options or key == FORBIDDEN:
                known = {*options, *(others := self._other_options(words))} - {FORBIDDEN}
                if key in known & others:
                    continue
                raise CycloptsError(msg=f"{place}: unknown key; {alternatives(key, sorted(known), PAGE)}")
            kind = type_in_file(options[key].hint)
            try:
                convert(value, kind)
            except ValidationError:
                raise CycloptsError(msg=f"{place}: expected {WORDS.get(kind, LIST)}, got {str(value)[:SHOWN_MAX]!r}.") from None
            if key in free:
                texts = value if isinstance(value, list) else [str(value).lower() if isinstance(value, bool) else str(value)]
                self._add(options[key], texts, keyword=key, source=file, name=f"{key} in {file}")

    def _table_of(self, file: str, words: tuple[str, ...], options: Options) -> dict[str, Any]:
        """Return the keys of a config file that belong to a command."""
        root = read_file(file)
        if words[0] in UNNAMED:
            others = set(names(self._app)) - set(UNNAMED)
            return {key: value for key, value in root.items() if not (isinstance(value, dict) and key in others)}
        table: Any = root
        parent = self._app
        for index, word in enumerate(words, 1):
            place = f"--config {file}: {'.'.join(words[:index])}"
            table, parent = table.get(word, {}), parent[word]
            if not isinstance(table, dict):
                raise CycloptsError(msg=f"{place}: expected a table of options")
            if index < len(words) and (strays := sorted(table.keys() - set(parent))):
                raise CycloptsError(msg=f"{place}.{strays[0]}: unknown key; {alternatives(strays[0], names(parent))}")
        unnamed = {declared_variable(argument).removeprefix(PREFIX).lower() for argument in options.values()}
        return {key: value for key, value in root.items() if key in unnamed} | dict(table)

    def _other_options(self, words: tuple[str, ...]) -> set[str]:
        """Return the options of those other commands that use the same variables and the same table as this command."""
        if words[0] not in UNNAMED:
            return set()
        (other,) = (name for name in UNNAMED if name != words[0])
        return {*options_of(self._app[other].assemble_argument_collection()), *SHARED}

    def _warn_of_typos(self, words: tuple[str, ...], options: Options) -> None:
        """Log a warning for each unknown variable whose name is similar to that of an option's variable."""
        start = variable_start(words)
        unknown = {name for name in os.environ if name.startswith(start)}
        unknown = unknown.difference(*(variables_of(words, each) for each in options.values()))
        if not unknown:
            return
        others = {start + name.replace("-", "_").upper() for name in self._other_options(words)}
        known = {variable_of(words, each) for each in options.values()} | others
        for name in sorted(unknown - others):
            near = closest(name.removeprefix(PREFIX).upper(), [each.removeprefix(PREFIX) for each in known], SIMILARITY_MIN)
            if near:
                _log.warning("unknown environment variable ignored", variable=name, nearest=either([PREFIX + each for each in near]))


def require_whole_numbers(_command: App, _words: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Raise CycloptsError for a fraction as the value of an integer, which cyclopts would round."""
    for argument in arguments:
        for token in argument.tokens:
            if type_in_file(argument.hint) is int and "." in token.value:
                raise CycloptsError(
                    msg=f'Invalid value "{token.value}" for {token.keyword or names_of(argument)[0]}: expected a whole number.'
                )


def names(app: App) -> list[str]:
    """Return the names of an app's commands."""
    return [name for name in app if not name.startswith("-")]


def options_of(arguments: Iterable[Argument]) -> Options:
    """Return those of the arguments that are options, keyed by their names in a file, which have no dashes at the start."""
    return {key_of(each): each for each in arguments if names_of(each)[0].startswith("--")}


def names_of(argument: Argument) -> tuple[str, ...]:
    """Return the name of an argument, then its deprecated names. `Argument.names` also contains the negative forms, and takes 10 us."""
    return cast("tuple[str, ...]", argument.parameter.name)


def key_of(argument: Argument) -> str:
    """Return the key of an option in a file, which is its name without the dashes at the start."""
    return names_of(argument)[0].removeprefix("--")


def deprecated_names(argument: Argument) -> list[str]:
    """Return the deprecated names of an option, without the dashes at the start."""
    return [name.removeprefix("--") for name in names_of(argument)[1:]]


def variable_start(words: tuple[str, ...]) -> str:
    """Return the prefix of the variables of the command `words`."""
    return PREFIX if words[0] in UNNAMED else PREFIX + "_".join(words).replace("-", "_").upper() + "_"


def variable_of(words: tuple[str, ...], argument: Argument) -> str:
    """Return the variable of an option of the command `words`."""
    return variables_of(words, argument)[0]


def variables_of(words: tuple[str, ...], argument: Argument) -> list[str]:
    """Return the variable of an option of the command `words`, then the variables of the option's deprecated names."""
    derived = [variable_start(words) + name.replace("-", "_").upper() for name in (key_of(argument), *deprecated_names(argument))]
    return [declared_variable(argument) or derived[0], *derived[1:]]


def declared_variable(argument: Argument) -> str:
    """Return the variable of an option that has the same variable in all commands, or "" for another option."""
    return next(iter(argument.parameter.env_var or ()), "")


def unset(options: Mapping[str, Argument]) -> Options:
    """Return the options that have no value yet. `--port` counts as set if `--http` includes a port."""
    http = options.get("http")
    is_port_set = http is not None and bool(http.tokens) and has_port(http.tokens[-1].value)
    return {name: each for name, each in options.items() if not each.tokens and not (name == "port" and is_port_set)}


def type_in_file(hint: Any) -> Any:
    """Return the type that an option has in a file. Paths and choices are strings there."""
    return next((kind for kind in (hint, *get_args(hint)) if kind in WORDS or get_origin(kind) is tuple), str)


def read_file(file: str) -> dict[str, Any]:
    """Return the top-level table of a TOML file. Raises CycloptsError."""
    try:
        with Path(file).open("rb") as opened:
            data = opened.read(SIZE_MAX + 1)
        if len(data) > SIZE_MAX:
            raise CycloptsError(msg=f"--config {file}: larger than {SIZE_MAX} bytes")
        return tomllib.loads(data.decode("utf-8"))
    except OSError as error:
        raise CycloptsError(msg=f"--config {file}: can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CycloptsError(msg=f"--config {file}: expected text in UTF-8") from None
    except (ValueError, RecursionError) as error:  # invalid TOML, or a number with thousands of digits
        raise CycloptsError(msg=f"--config {file}: expected TOML: {error or 'nested too deeply'}") from None
