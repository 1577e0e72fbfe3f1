"""The file of `--config`: options in TOML, each under its name without the dashes. It knows no option: the command declares them."""

import tomllib
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

from cyclopts import Argument, ArgumentCollection, Token

from node.failures import NodeError

SIZE_MAX = 1 << 20
LONGEST = 2000
WORDS = {bool: "true or false", int: "a whole number", str: "text", tuple: "a list of texts"}
FORBIDDEN = ("config",)


def take_options(file: str, arguments: ArgumentCollection) -> None:
    """Set the options of a file that the command line doesn't set. Raises NodeError, which names the file and the key."""
    known = {name.removeprefix("--"): argument for argument in arguments for name in argument.names[:1] if name.startswith("--")}
    for key, value in read_file(file).items():
        argument = known.get(key)
        if argument is None or key in FORBIDDEN:
            names = ", ".join(sorted(set(known) - set(FORBIDDEN)))
            raise NodeError(f"--config {file}: {key}: unknown key; expected one of {names}")
        texts = texts_of(value, argument, f"--config {file}: {key}")
        if not argument.tokens:
            for index, text in enumerate(texts):
                argument.append(Token(keyword=key, value=text, source=file, index=index))


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
