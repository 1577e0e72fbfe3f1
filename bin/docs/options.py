"""Generates the tables of the options of `coind run` and `coind replay` from the options' declarations."""

from collections.abc import Iterator
from typing import NamedTuple, cast

from cyclopts import Argument, Group

from bin.docs.cells import code, table
from bin.docs.commands import default, help_text, value
from node.cli.app import app
from node.cli.option_sources import FORBIDDEN, UNNAMED, options_of, variable_of
from node.cli.parameters import Bounds
from node.cli.run_options import GROUP_NAMES


class Declared(NamedTuple):
    """An option, and the commands that have it."""

    option: Argument
    commands: str

    @property
    def word(self) -> str:
        """The option's name on the command line."""
        return self.option.name


def declared(group: str) -> Iterator[Declared]:
    """Yield the options of a group. If `coind run` and `coind replay` have different help texts for an option, it is yielded twice."""
    run, replay = (options_of(app[command].assemble_argument_collection()) for command in UNNAMED)
    shared = {name for name, each in run.items() if name in replay and help_text(each) == help_text(replay[name])}
    found = [Declared(each, ", ".join(UNNAMED) if name in shared else "run") for name, each in run.items()]
    found += [Declared(each, "replay") for name, each in replay.items() if name not in shared]
    return (each for each in found if group in [of.name for of in cast("tuple[Group, ...]", each.option.parameter.group)])


def group_table(group: str) -> str:
    """Return the table of the options of a group."""
    rows = [
        [code(each.word), help_text(each.option), value(each.option) + bounds(each.option), default(each.option), each.commands]
        for each in declared(group)
    ]
    return table(["option", "meaning", "value", "default", "of"], rows)


def bounds(option: Argument) -> str:
    """Describe the bounds of a numeric option."""
    for each in cast("tuple[object, ...]", option.parameter.validator):
        if isinstance(each, Bounds):
            return f", at least {each.least}" if each.most is None else f", {each.least:,} to {each.most:,}"
    return ""


def all_options(pages: dict[str, str]) -> str:
    """Return the table of all options, with their environment variables, config file keys and pages."""
    rows = [
        [
            code(each.word),
            code(variable_of(UNNAMED[:1], each.option)),
            code("" if each.word == f"--{FORBIDDEN}" else each.word[2:]),
            each.commands,
            f"[{group}]({pages[group]}.md)",
        ]
        for group in GROUP_NAMES
        for each in declared(group)
    ]
    return table(["option", "variable", "key of `--config`", "of", "page"], rows)
