"""The wording of our own messages. Tests assert the class and the values of an error; its text is in tests/golden/messages.txt, below the
test that sees it. After a change of words, `.venv/bin/python -m pytest --update-golden PATH` writes the texts of whole test files again.
"""

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest

E = TypeVar("E", bound=BaseException)

ROOT = Path(__file__).resolve().parent.parent.parent
FILE = ROOT / "tests" / "golden" / "messages.txt"
INDENT = "    "
# What differs between runs and machines: the folder of a test, ports, process ids; and what other changes move: digests, places in files.
FOLDER = re.compile(rf"{re.escape(tempfile.gettempdir())}/pytest-of-[^/]+/pytest-\d+/(popen-gw\d+/)?[\w-]+")
VARYING = re.compile(r"\b[0-9a-f]{16,}\b|(?<=:)\d{4,5}\b|(?<=process )\d+|(?<=bytes )\d+ to \d+")

SEEN: dict[str, list[str]] = {}
UPDATING = "--update-golden" in sys.argv


@contextmanager
def fails(kind: type[E]) -> Iterator[pytest.ExceptionInfo[E]]:
    """Demand that the block raises an error of ours, with the text that the golden file has."""
    with pytest.raises(kind) as caught:
        yield caught
    same_as_golden(str(caught.value))


def same_as_golden(text: str) -> None:
    """Demand that a text is the next one of the running test in the golden file."""
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    shown = VARYING.sub("#", FOLDER.sub("/...", text.strip().replace(str(ROOT), ".")))
    texts = SEEN.setdefault(test, [])
    texts.append(shown)
    if not UPDATING:
        known = golden().get(test, golden().get(function_of(test), []))[len(texts) - 1 : len(texts)]
        assert [shown] == known, f"{shown!r} in place of {known}; if that is better: pytest --update-golden"


@cache
def golden() -> dict[str, list[str]]:
    """The texts of the golden file by test."""
    found: dict[str, list[str]] = {}
    test = ""
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if not line.startswith(INDENT):
            test = line
        elif line.startswith(f"{INDENT}- "):
            found.setdefault(test, []).append(line[len(INDENT) + 2 :])
        else:
            found[test][-1] += "\n" + line[len(INDENT) + 2 :]
    return found


def finish(session: pytest.Session) -> None:
    """After an updating run, write the texts of its files, and keep those of other files."""
    if UPDATING:
        updated = {item.nodeid.partition("::")[0] for item in session.items}
        updated |= {file for test in golden() if not (ROOT / (file := test.partition("::")[0])).exists()}
        texts = {test: known for test, known in golden().items() if test.partition("::")[0] not in updated} | SEEN
        by_function: dict[str, set[str]] = {}
        for test, known in texts.items():
            by_function.setdefault(function_of(test), set()).add(repr(known))
        # Where all parameters lead to the same, it is written once.
        texts = {function_of(test) if len(by_function[function_of(test)]) == 1 else test: known for test, known in texts.items()}
        lines = [line for test in sorted(texts) for line in (test, *map(entry, texts[test]))]
        FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def function_of(test: str) -> str:
    """The id of a test without its parameters."""
    return test.partition("[")[0]


def entry(text: str) -> str:
    """A text in the form of the file."""
    return f"{INDENT}- " + text.replace("\n", f"\n{INDENT}  ")
