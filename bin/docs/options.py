"""Tables of the options of `coind run` and `coind replay`, from their declarations."""

from collections.abc import Iterator
from dataclasses import MISSING, fields
from inspect import signature
from typing import Any, NamedTuple

from bin.docs.cells import code, default_text, kind_text, table
from node.commands.configfile import FORBIDDEN
from node.commands.options import NamedOption, Option, options_among, options_of
from node.commands.running import GROUPS, Common, Run, replay_command

BOTH, RUN, REPLAY = "run, replay", "run", "replay"


class Declared(NamedTuple):
    """An option with its default and the commands that have it."""

    option: NamedOption
    default: Any
    commands: str


def declared() -> Iterator[Declared]:
    """Yield all options in the order of their declarations. What both commands declare for themselves comes twice."""
    for cls, commands in ((Common, BOTH), (Run, RUN)):
        for option, field in zip(options_of(cls), fields(cls), strict=True):
            yield Declared(option, None if field.default is MISSING else field.default, commands)
    parameters = signature(replay_command).parameters
    for option in options_among(replay_command):
        yield Declared(option, parameters[option.name].default, REPLAY)


def group_table(group: str) -> str:
    """Return the table of the options of a group."""
    rows = [
        [
            code(each.option.word),
            each.option.option.text,
            kind_text(each.option.kind) + bounds(each.option.option),
            default_text(each.default),
            each.commands,
        ]
        for each in declared()
        if each.option.option.group == group
    ]
    return table(["option", "meaning", "value", "default", "of"], rows)


def bounds(option: Option) -> str:
    """Return the bounds of a number in words."""
    if option.least is None and option.most is None:
        return ""
    return f", {option.least or 0:,} to {option.most:,}" if option.most is not None else f", at least {option.least}"


def all_options(pages: dict[str, str]) -> str:
    """Return the table of all options with their variables, keys of a file, and pages."""
    rows = [
        [
            code(each.option.word),
            code(each.option.variable),
            code(each.option.word[2:]) if each.commands != REPLAY and each.option.name not in FORBIDDEN else "",
            each.commands,
            f"[{group}]({pages[group]}.md)",
        ]
        for group in GROUPS
        for each in declared()
        if each.option.option.group == group
    ]
    return table(["option", "variable", "key of `--config`", "of", "page"], rows)
