"""Reads plain command lines: options with their values, as nearly every start gives them. It knows neither commands nor cyclopts.

Loading cyclopts takes a fifth of the time from the command to the first answer (`python -X importtime`), so `coind run` does without it
where it can. What is left to cyclopts: help, mistakes, `--config`, options that are repeated or abbreviated.
"""

import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from node.commands.environment import given_by_variables, value_of
from node.commands.options import NamedOption, options_of

NEGATIVE = "--no-"
_NATURAL = re.compile("[0-9]{1,18}", re.ASCII)
_UNREADABLE: Any = object()


def read_plain(words: list[str], *classes: type, environ: Mapping[str, str] | None = None) -> tuple[Any, ...] | None:
    """Return what a plain command line and the environment give, an object of each class; None when cyclopts has to read it.

    Plain is `--name value`, `--name=value` and `--flag`, each once, with values of the right type and within the bounds.
    """
    known = {each.word: each for cls in classes for each in options_of(cls)}
    given: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        name, equals, text = word.partition("=")
        option, value = known.get(name), _UNREADABLE
        if option is not None and option.kind is not bool:
            value = _value(option, text if equals else next(rest, "-"))
        elif not equals:
            option, value = (option, True) if option is not None else (_negated(word, known), False)
        if option is None or value is _UNREADABLE or option.name in given:
            return None
        given[option.name] = value
    if environ is not None:
        given |= {option.name: value_of(option, text) for option, text in given_by_variables(known.values(), given, environ)}
    return tuple(cls(**{each.name: given[each.name] for each in fields(cls) if each.name in given}) for cls in classes)


def _negated(word: str, known: Mapping[str, NamedOption]) -> NamedOption | None:
    """Return the option whose negative form a word is."""
    option = known.get("--" + word.removeprefix(NEGATIVE)) if word.startswith(NEGATIVE) else None
    return option if option is not None and option.kind is bool and not option.is_flag else None


def _value(option: NamedOption, text: str) -> Any:
    """Return the value that a text gives an option, or _UNREADABLE."""
    if not text or text.startswith("-"):
        return _UNREADABLE
    if option.kind is str:
        return text
    if option.kind is Path:
        return Path(text)
    if option.kind is int and _NATURAL.fullmatch(text):
        value, bounds = int(text), option.option
        is_within = (bounds.least is None or value >= bounds.least) and (bounds.most is None or value <= bounds.most)
        return value if is_within else _UNREADABLE
    if get_origin(option.kind) is Literal and text in get_args(option.kind):
        return text
    return _UNREADABLE
