"""Variables of the environment that give options: COIND_CHAIN for `--chain`. The command line counts more, a file of `--config` less.

An empty variable counts as none. It knows no command but their options, and not cyclopts.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from node.address import has_port
from node.commands.options import PREFIX, NamedOption
from node.failures import NodeError
from node.nearest import either, nearest
from rpc.log import Log

YES, NO = ("true", "1"), ("false", "0")
# Variables of other commands (`coind show`, `coind tx`).
OTHERS = ("COIND_URL", "COIND_KEY")
# How alike a variable and an option's must be for a warning: other programs have variables of such names as well.
ALIKE_MIN = 0.7
SHOWN_MAX = 200

# Kubernetes and Docker give the address of a service that is named coind in these words to everything that runs beside it.
_LINK = re.compile("(?:tcp|udp)://", re.ASCII)
_NATURAL = re.compile("[0-9]{1,18}", re.ASCII)
_log = Log("node")


def given_by_variables(
    options: Iterable[NamedOption], given: Mapping[str, Any], environ: Mapping[str, str] = os.environ
) -> Iterator[tuple[NamedOption, str]]:
    """Yield the options that variables give, with their texts, but for those that the command line has `given`, by name."""
    for option in options:
        text = environ.get(option.variable, "")
        if text and option.name not in given and not is_outranked(option.name, given) and not _LINK.match(text):
            yield option, text


def is_outranked(name: str, given: Mapping[str, Any]) -> bool:
    """Return whether an option says nothing beside those that count more: a port, where the address that is given has one."""
    return name == "port" and has_port(given.get("http", ""))


def value_of(option: NamedOption, text: str) -> Any:
    """Return the value that a variable gives an option. Raises NodeError, which names the variable."""
    if option.kind is bool:
        if text.lower() not in YES + NO:
            raise wrong(option, "true or false, or 1 or 0", text)
        return text.lower() in YES
    if option.kind is int:
        least, most = option.option.least or 0, option.option.most
        value = int(text) if _NATURAL.fullmatch(text) else -1
        if value < least or (most is not None and value > most):
            raise wrong(option, f"a whole number from {least} {'on' if most is None else f'to {most}'}", text)
        return value
    if get_origin(option.kind) is tuple:
        return tuple(filter(None, map(str.strip, text.split(","))))
    if get_origin(option.kind) is Literal and text not in get_args(option.kind):
        raise wrong(option, either(list(get_args(option.kind))), text)
    return Path(text) if option.kind is Path else text


def texts_of(option: NamedOption, text: str) -> list[str]:
    """Return the value that a variable gives an option as words of the command line. Raises NodeError."""
    value = value_of(option, text)
    if isinstance(value, tuple):
        return list(value)
    return [str(value).lower() if option.kind is bool else str(value)]


def wrong(option: NamedOption, expected: str, text: str) -> NodeError:
    """Return the error for a variable with another value than the option takes."""
    return NodeError(f"{option.variable}: expected {expected}, got {text[:SHOWN_MAX]!r}")


def warn_of_mistyped(options: Iterable[NamedOption], environ: Mapping[str, str] = os.environ) -> None:
    """Warn of variables that are no option's, and look as if they should be."""
    unknown = [name for name in environ if name.startswith(PREFIX) and name not in OTHERS]
    known = {option.variable for option in options} if unknown else set()
    for name in unknown:
        near = [] if name in known else nearest(name.removeprefix(PREFIX).upper(), [each.removeprefix(PREFIX) for each in known], ALIKE_MIN)
        if near:
            _log.warning("a variable is no option and has no effect", variable=name, nearest=either([PREFIX + each for each in near]))


def in_words_of_their_places(
    text: str, options: Sequence[NamedOption], words: Sequence[str], environ: Mapping[str, str] = os.environ
) -> str:
    """Return the text of an error with each option named as it was given: `COIND_DATA` in place of `--data` where the variable gave it."""
    named = {word.partition("=")[0] for word in words}
    given = {option.name: "" for option in options if {option.word, option.word.replace("--", "--no-", 1)} & named}
    for option, _ in given_by_variables(options, given, environ):
        text = re.sub(rf"(?<![\w-]){re.escape(option.word)}(?![\w-])", option.variable, text)
    return text
