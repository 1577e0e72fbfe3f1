"""`coind run` and `coind replay` for cyclopts: its parameters are made from the options that the commands declare."""

import inspect
from collections.abc import Callable
from dataclasses import field, fields, make_dataclass
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from cyclopts import Group, Parameter, validators

from node.commands import running
from node.commands.options import NamedOption, Option, options_of
from node.commands.parameters import Flag, Repeated

Command = TypeVar("Command", bound=Callable[..., Any])

_GROUPS = {name: Group.create_ordered(name) for name in running.GROUPS}


def parsed(command: Command) -> Command:
    """Return a command with parameters of cyclopts in place of declared options, and of classes of such options.

    It is another function: the command itself is also called where cyclopts isn't loaded.
    """
    hints = {name: _parsed_hint(hint) for name, hint in get_type_hints(command, include_extras=True).items()}

    def called(*arguments: Any, **named: Any) -> Any:
        return command(*arguments, **named)

    given = inspect.signature(command)
    shown = given.replace(parameters=[each.replace(annotation=hints[each.name]) for each in given.parameters.values()])
    called.__name__, called.__doc__, called.__annotations__ = command.__name__, command.__doc__, hints
    called.__signature__ = shown  # type: ignore[attr-defined]
    return called  # type: ignore[return-value]


def _parsed_hint(hint: Any) -> Any:
    """Return the annotation for cyclopts: of an option, of an optional class of options, or any other one as it is."""
    if get_origin(hint) is Annotated and isinstance(get_args(hint)[1], Option):
        kind, option = get_args(hint)
        return Annotated[kind, Repeated, _parameter(option)] if get_origin(kind) is tuple else Annotated[kind, _parameter(option)]
    options = next((each for each in get_args(hint) if each in (running.Common, running.Run)), None)
    return hint if options is None else _OPTIONS[options] | None


def _options_class(cls: type) -> Any:
    """Return the class that cyclopts fills in place of a class of options: a subclass of it."""
    hints = get_type_hints(cls, include_extras=True)
    members = []
    for option, default in zip(options_of(cls), (each.default for each in fields(cls)), strict=True):
        hint = get_args(hints[option.name])[0]
        members.append((option.name, Annotated[hint, _kind(option), _parameter(option.option)], field(default=default)))
    made = make_dataclass(cls.__name__, members, bases=(cls,), frozen=True, kw_only=True)
    # Without it cyclopts takes the class for one of Python's own types, whose members it doesn't look at.
    made.__module__ = cls.__module__
    return Parameter(name="*")(made)


def _kind(option: NamedOption) -> Parameter:
    """Return what all options of a type have in common."""
    if option.is_flag:
        return Flag
    return Repeated if get_origin(option.kind) is tuple else Parameter()


def _parameter(option: Option) -> Parameter:
    """Return the parameter with an option's help, group and bounds."""
    bounds = {"gte": option.least, "lte": option.most}
    is_bounded = any(bound is not None for bound in bounds.values())
    validator = validators.Number(**{name: bound for name, bound in bounds.items() if bound is not None}) if is_bounded else None
    shown: dict[str, Any] = {"group": _GROUPS[option.group]} if option.group else {}
    return Parameter(help=option.text, validator=validator, allow_leading_hyphen=option.takes_dash, **shown)


_OPTIONS = {cls: _options_class(cls) for cls in (running.Common, running.Run)}
run_command = parsed(running.run_command)
replay_command = parsed(running.replay_command)
