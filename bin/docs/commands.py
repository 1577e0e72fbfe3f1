"""Generates the docs page of the commands of `coind`, from the same declarations as the help texts."""

from collections.abc import Iterator

from cyclopts import App, Argument

from bin.docs.cells import code, default_text, kind_text, table
from node.cli.app import app
from node.cli.option_sources import FORBIDDEN, names, names_of

# Not on this page: `run` and `replay` have their own pages, and the commands of `tx` are derived from the operations.
OWN_PAGES = ("run", "replay")
OPERATIONS = "tx"


def command_table() -> str:
    """Return a section for each command, with its description, arguments and options, or with its subcommands if it has any."""
    return "\n\n".join(section(name, app[name]) for name in names(app) if name not in OWN_PAGES)


def section(name: str, command: App) -> str:
    """Return the section of a command."""
    within = names(command)
    parts = [f"## coind {name}", paragraph(command)]
    if not within:
        rows = [[names_text(each), help_text(each), value(each), default(each)] for each in arguments(command)]
        parts += [table(["argument or option", "meaning", "value", "default"], rows)] if rows else []
    elif name == OPERATIONS:
        parts.append(table(["command", "what it does"], [[code(f"coind {name} {each}"), paragraph(command[each])] for each in within]))
    else:
        rows = [[code(f"coind {name} {each}"), paragraph(command[each]), synopsis(command[each])] for each in within]
        parts.append(table(["command", "what it does", "arguments and options"], rows))
    return "\n\n".join(parts)


def paragraph(command: App) -> str:
    """Return the first paragraph of a command's help as one line."""
    return " ".join(command.help.split("\n\n")[0].split()).replace("bin/coind", "coind")


def arguments(command: App) -> Iterator[Argument]:
    """Yield the visible arguments and options of a command. --config is omitted, because every command has it."""
    return (each for each in command.assemble_argument_collection() if each.show and each.name != f"--{FORBIDDEN}")


def names_text(argument: Argument) -> str:
    """Return the names of an argument."""
    return ", ".join(map(code, names_of(argument)))


def value(argument: Argument) -> str:
    """Return the type of an argument's value."""
    return kind_text(argument.hint)


def default(argument: Argument) -> str:
    """Return the default of an argument."""
    if argument.required:
        return "required"
    found = argument.field_info.default
    return default_text(None if found is argument.field_info.empty else found)


def help_text(argument: Argument) -> str:
    """Return the help of an argument."""
    return " ".join((argument.parameter.help or "").split()).replace("bin/coind", "coind")


def synopsis(command: App) -> str:
    """Return the names of a command's arguments and options as one line. Optional ones are in brackets."""
    return " ".join(names_text(each) if each.required else f"[{names_text(each)}]" for each in arguments(command))
