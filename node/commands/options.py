"""Options of a command: how a command declares them, and what follows from a declaration. It knows neither commands nor cyclopts."""

import inspect
from collections.abc import Callable
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

# What the variables of the environment begin with.
PREFIX = "COIND_"


class Option(Struct, frozen=True):
    """An option: what the help says, the group that it stands in there, the bounds of a number, and whether `-` is a value."""

    text: str
    group: str = ""
    least: int | None = None
    most: int | None = None
    takes_dash: bool = False


class NamedOption(Struct, frozen=True):
    """An option as a field of a class: its name, its type without `| None`, whether it may be None, and what is declared of it."""

    name: str
    kind: Any
    is_optional: bool
    option: Option

    @property
    def is_flag(self) -> bool:
        """Whether it is given without a value, and has no negative form."""
        return self.kind is bool and not self.is_optional

    @property
    def word(self) -> str:
        """The word by which the command line gives it."""
        return "--" + self.name.rstrip("_").replace("_", "-")

    @property
    def variable(self) -> str:
        """The variable of the environment that gives it where the command line doesn't."""
        return PREFIX + self.name.rstrip("_").upper()


@cache
def options_of(cls: type) -> tuple[NamedOption, ...]:
    """Return the options of a dataclass, whose fields are all annotated with an Option."""
    return tuple(_named(name, hint) for name, hint in get_type_hints(cls, include_extras=True).items())


@cache
def options_among(command: Callable[..., object]) -> tuple[NamedOption, ...]:
    """Return the options among the parameters of a function; they can only be given by name."""
    hints = get_type_hints(command, include_extras=True)
    names = [name for name, each in inspect.signature(command).parameters.items() if each.kind is each.KEYWORD_ONLY]
    return tuple(_named(name, hints[name]) for name in names if isinstance((get_args(hints[name]) or (None,))[-1], Option))


def _named(name: str, hint: Any) -> NamedOption:
    assert get_origin(hint) is Annotated, f"{name} is no option"
    kind, option = get_args(hint)
    is_optional = get_origin(kind) in (Union, UnionType)
    if is_optional:
        kind, _ = get_args(kind)
    return NamedOption(name, kind, is_optional, option)
