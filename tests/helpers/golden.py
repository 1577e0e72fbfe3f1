"""The wording of our own messages. Tests assert the class and the values of an error; its text is in tests/golden/messages.txt, under the
name of the test. After a change of wording, `.venv/bin/python -m pytest --update-golden PATH` rewrites the texts of whole test files.
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
# Values that differ between runs and machines (temporary folders, ports, process ids), and values that unrelated changes move (digests,
# positions in files).
FOLDER = re.compile(rf"{re.escape(tempfile.gettempdir())}/pytest-of-[^/]+/pytest-\d+/(popen-gw\d+/)?[\w-]+")
VARYING = re.compile(r"\b[0-9a-f]{16,}\b|(?<=:)\d{4,5}\b|(?<=process )\d+|(?<=bytes )\d+ to \d+")

SEEN: dict[str, list[str]] = {}
UPDATING = "--update-golden" in sys.argv


@contextmanager
def fails(kind: type[E]) -> Iterator[pytest.ExceptionInfo[E]]:
    """Assert that the block raises one of our errors, with the text in the golden file."""
    with pytest.raises(kind) as caught:
        yield caught
    same_as_golden(str(caught.value))


def same_as_golden(text: str) -> None:
    """Assert that `text` equals the next text that the golden file contains for the running test."""
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    shown = VARYING.sub("#", FOLDER.sub("/...", text.strip().replace(str(ROOT), ".")))
    texts = SEEN.setdefault(test, [])
    texts.append(shown)
    if not UPDATING:
        known = golden().get(test, golden().get(without_parameters(test), []))[len(texts) - 1 : len(texts)]
        assert [shown] == known, f"{shown!r} instead of {known}; to accept it: pytest --update-golden"


@cache
def golden() -> dict[str, list[str]]:
    """Read the golden file. Return its texts, keyed by test."""
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
    """At the end of a run with --update-golden, replace the golden texts of the test files that ran, and keep those of other files."""
    if UPDATING:
        updated = {item.nodeid.partition("::")[0] for item in session.items}
        updated |= {file for test in golden() if not (ROOT / (file := test.partition("::")[0])).exists()}
        texts = {test: known for test, known in golden().items() if test.partition("::")[0] not in updated} | SEEN
        by_function: dict[str, set[str]] = {}
        for test, known in texts.items():
            by_function.setdefault(without_parameters(test), set()).add(repr(known))
        # If all parameters of a test lead to the same texts, they are written once.
        texts = {
            without_parameters(test) if len(by_function[without_parameters(test)]) == 1 else test: known for test, known in texts.items()
        }
        lines = [line for test in sorted(texts) for line in (test, *map(entry, texts[test]))]
        FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def without_parameters(test: str) -> str:
    """Return the id of a test without its parameters."""
    return test.partition("[")[0]


def entry(text: str) -> str:
    """Return a text in the format of the golden file."""
    return f"{INDENT}- " + text.replace("\n", f"\n{INDENT}  ")
