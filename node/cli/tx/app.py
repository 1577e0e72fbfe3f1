"""Commands of `coind tx`: one for each operation that a transaction can contain, derived from the operation's declaration."""

import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Group, Parameter

import state.operations  # noqa: F401 - fills the registry
from node.cli.parameters import Repeated
from node.cli.tx.fields import FieldArgument, arguments, build_operation, signers_words
from node.cli.tx.sender import SendOptions, send
from node.cli.tx.transaction_file import from_json
from node.runtime.errors import NodeError
from state.protocol.operation import OPERATIONS, Operation

FILE_BYTES_MAX = 16 * 1024 * 1024

tx = App(name="tx")
FIELDS, OPTIONS = Group.create_ordered("Fields"), Group.create_ordered("Options")
WHOLE = Group.create_ordered("Several operations")


@tx.command(name="send", group=WHOLE)
def send_command(
    file: Annotated[
        str, Parameter(help="A JSON file, or - for stdin: an operation, a list of them, or a transaction.", allow_leading_hyphen=True)
    ],
    /,
    *,
    options: Annotated[SendOptions, Parameter(group=OPTIONS)] = SendOptions(),
) -> int:
    """Send several operations in one transaction, or a signed transaction.

    Write operations as ["transfer", {...}] or {"type": "transfer_operation", "value": {...}}. A transaction with signatures, for example
    from --sign-only, is broadcast unchanged.
    """
    given = read_file(file)
    return send(lambda remote, context: from_json(given, remote.wire), options)


def read_file(file: str) -> Any:
    """Parse the JSON of a file, or of stdin for -. Raises NodeError."""
    try:
        if file == "-":
            text = sys.stdin.read(FILE_BYTES_MAX + 1)
        else:
            with Path(file).open(encoding="utf-8") as opened:
                text = opened.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise NodeError(f"{file} can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise NodeError(f"{file}: expected text in UTF-8") from None
    if len(text) > FILE_BYTES_MAX:
        raise NodeError(f"{file} is larger than {FILE_BYTES_MAX // 1024 // 1024} MiB")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NodeError(f"{file}: expected JSON: {error}") from None


def verb_name(cls: type[Operation]) -> str:
    """Return the command name of an operation."""
    return cls.NAME.replace("_", "-")


def verb(cls: type[Operation]) -> Callable[..., int]:
    """Return the command of an operation."""
    fields = arguments(cls)
    # Python requires positional parameters first.
    ordered = [field for field in fields if field.is_required] + [field for field in fields if not field.is_required]

    def run(*texts: str, options: SendOptions = SendOptions(), **others: Any) -> int:
        given = dict(zip((field.name for field in ordered), texts, strict=False)) | others
        return send(lambda remote, context: (build_operation(cls, given, context),), options)

    parameters = [parameter(field) for field in ordered]
    annotation = Annotated[SendOptions, Parameter(group=OPTIONS)]
    parameters.append(inspect.Parameter("options", inspect.Parameter.KEYWORD_ONLY, default=SendOptions(), annotation=annotation))
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__name__ = cls.NAME
    run.__doc__ = "\n\n".join(text for text in (inspect.getdoc(cls) or "", signers_words(cls)) if text)
    return run


def parameter(field: FieldArgument) -> inspect.Parameter:
    """Return the command's parameter for a field. It is None if the user omits the option, so that the operation's default applies."""
    text: Any
    if field.is_required:
        text = Annotated[str, Parameter(help=field.description, name=field.label, allow_leading_hyphen=True, group=FIELDS)]
        return inspect.Parameter(field.name, inspect.Parameter.POSITIONAL_ONLY, annotation=text)
    shown = Parameter(help=help_text(field), name=field.option, group=FIELDS, show=not field.is_hidden, show_default=False)
    if field.is_flag:
        text = Annotated[bool | None, shown]
    elif field.is_repeated:
        text = Annotated[Repeated | None, shown]
    else:
        text = Annotated[str | None, shown, Parameter(allow_leading_hyphen=True)]
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=text)


def help_text(field: FieldArgument) -> str:
    """Return the help text of an option: the type of its field and the default."""
    if field.is_flag:
        return f"[default: {field.option if field.default else field.option.replace('--', '--no-', 1)}]"
    if field.default_text is not None:
        return f"{field.description} [default: {field.default_text}]"
    if isinstance(field.default, int) and field.default and not isinstance(field.default, bool):
        return field.description if "time" in field.description else f"{field.description} [default: {field.default}]"
    return field.description


def theme(cls: type[Operation]) -> str:
    """Return the heading under which the help lists an operation's command. It is the theme of the operation's module."""
    name = cls.__module__.rpartition(".operations.")[2]
    return "Smart media tokens" if name.startswith("smt.") else name.replace("_", " ").capitalize()


def register() -> None:
    """Register the command of each operation, grouped by theme."""
    groups: dict[str, Group] = {}
    for _, cls in sorted(OPERATIONS.items()):
        if not cls.VIRTUAL:
            title = theme(cls)
            group = groups.setdefault(title, Group.create_ordered(title))
            tx.command(verb(cls), name=verb_name(cls), group=group)


register()
