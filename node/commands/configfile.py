"""The file of `--config`: options in TOML, each under its name without the dashes; and variables, where cyclopts reads the command line.

It knows no option: the command declares them.
"""

import tomllib
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

from cyclopts import Argument, ArgumentCollection, Token

from node.commands.environment import given_by_variables, is_outranked
from node.commands.environment import texts_of as texts_of_variable
from node.failures import NodeError
from node.nearest import alternatives

SIZE_MAX = 1 << 20
PAGE = "docs/options.toml"
LONGEST = 2000
WORDS = {bool: "true or false", int: "a whole number", str: "text", tuple: "a list of texts"}
FORBIDDEN = ("config",)
# Options whose field has another name, as the word is one of Python's.
FIELDS = {"--from": "from_"}


def take_options(file: str, arguments: ArgumentCollection) -> None:
    """Set the options of a file that the command line doesn't set. Raises NodeError, which names the file and the key."""
    known = {name.removeprefix("--"): argument for argument in arguments for name in argument.names[:1] if name.startswith("--")}
    given = given_so_far(arguments)
    for key, value in read_file(file).items():
        argument = known.get(key)
        if argument is None or key in FORBIDDEN:
            names = sorted(set(known) - set(FORBIDDEN))
            raise NodeError(f"--config {file}: {key[:LONGEST]}: unknown key; {alternatives(key, names, PAGE)}")
        texts = texts_of(value, argument, f"--config {file}: {key}")
        if not argument.tokens and not is_outranked(key, given):
            for index, text in enumerate(texts):
                argument.append(Token(keyword=key, value=text, source=file, index=index))


def take_variables(command: str, arguments: ArgumentCollection) -> None:
    """Set the options of `run` or `replay` that variables of the environment give, and the command line doesn't. Raises NodeError."""
    # Imported here, since other commands have no such options.
    from node.commands.running import options_of_command

    by_word = {name: argument for argument in arguments for name in argument.names[:1]}
    for option, text in list(given_by_variables(options_of_command(command), given_so_far(arguments))):
        for index, each in enumerate(texts_of_variable(option, text)):
            by_word[option.word].append(Token(keyword=option.word, value=each, source=option.variable, index=index))


def given_so_far(arguments: ArgumentCollection) -> dict[str, str]:
    """Return the options that have a value, by the names of their fields, with the last one as text."""
    given = [(argument.names[0], argument.tokens[-1].value) for argument in arguments if argument.tokens]
    return {FIELDS.get(word, word.removeprefix("--").replace("-", "_")): text for word, text in given}


def read_file(file: str) -> dict[str, Any]:
    """Return the table of a file. Raises NodeError."""
    try:
        with Path(file).open("rb") as opened:
            data = opened.read(SIZE_MAX + 1)
        if len(data) > SIZE_MAX:
            raise NodeError(f"--config {file}: larger than {SIZE_MAX} bytes")
        return tomllib.loads(data.decode("utf-8"))
    except OSError as error:
        raise NodeError(f"--config {file}: can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise NodeError(f"--config {file}: expected text in UTF-8") from None
    except (ValueError, RecursionError) as error:  # of TOML, or of a number with thousands of digits
        raise NodeError(f"--config {file}: expected TOML: {error or 'nested too deeply'}") from None


def texts_of(value: Any, argument: Argument, place: str) -> list[str]:
    """Return a value as it would stand on the command line. Raises NodeError when it has another type than the option."""
    kind = kind_of(argument.hint)
    if kind is tuple:
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return list(value)
    elif type(value) is kind:
        return [str(value).lower() if kind is bool else str(value)]
    raise NodeError(f"{place}: expected {WORDS[kind]}, got {str(value)[:LONGEST]!r}")


def kind_of(hint: Any) -> type:
    """Return which of the kinds in WORDS an option takes; paths and words of a choice are texts."""
    if get_origin(hint) in (Union, UnionType):
        hint = next(each for each in get_args(hint) if each is not type(None))
    if get_origin(hint) is tuple:
        return tuple
    return hint if hint in (bool, int) else str
