"""Options of a command as declared, and the reading of plain command lines. It knows neither commands nor cyclopts.

Loading cyclopts takes a fifth of the time from the command to the first answer. So `coind run` reads by itself what nearly every start
gives, options with their values, and leaves the rest to cyclopts: help, mistakes, `--config`, options that are repeated or abbreviated.
"""

import re
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

NEGATIVE = "--no-"
_NATURAL = re.compile("[0-9]{1,18}", re.ASCII)
_UNREADABLE: Any = object()


class Option(Struct, frozen=True):
    """An option: what the help says, the group that it stands in there, and the bounds of a number."""

    text: str
    group: str = ""
    least: int | None = None
    most: int | None = None


class Declared(Struct, frozen=True):
    """A field that is an option: its type without `| None`, whether it may be None, and what is declared of it."""

    name: str
    kind: Any
    is_optional: bool
    option: Option

    @property
    def is_flag(self) -> bool:
        """Whether it stands alone, and has no negative form."""
        return self.kind is bool and not self.is_optional

    @property
    def word(self) -> str:
        """The word by which the command line gives it."""
        return "--" + self.name.replace("_", "-")


@cache
def declared(cls: type) -> tuple[Declared, ...]:
    """Return the options of a dataclass, whose fields are all annotated with an Option."""
    return tuple(_declared(name, hint) for name, hint in get_type_hints(cls, include_extras=True).items())


def _declared(name: str, hint: Any) -> Declared:
    assert get_origin(hint) is Annotated, f"{name} is no option"
    kind, option = get_args(hint)
    is_optional = get_origin(kind) in (Union, UnionType)
    if is_optional:
        kind, _ = get_args(kind)
    return Declared(name, kind, is_optional, option)


def read_plain(words: list[str], *classes: type) -> tuple[Any, ...] | None:
    """Return what a plain command line gives, an object of each class; None when cyclopts has to read it.

    Plain is `--name value`, `--name=value` and `--flag`, each once, with values of the right type and within the bounds.
    """
    known = {each.word: each for cls in classes for each in declared(cls)}
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
    return tuple(cls(**{each.name: given[each.name] for each in fields(cls) if each.name in given}) for cls in classes)


def _negated(word: str, known: Mapping[str, Declared]) -> Declared | None:
    """Return the option whose negative form a word is."""
    option = known.get("--" + word.removeprefix(NEGATIVE)) if word.startswith(NEGATIVE) else None
    return option if option is not None and option.kind is bool and not option.is_flag else None


def _value(option: Declared, text: str) -> Any:
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
