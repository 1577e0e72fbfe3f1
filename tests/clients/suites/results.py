"""Results of a suite's tests, parsed from TAP, from a JUnit file, or from log lines that match a pattern."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tests.clients.suites.declaration import Suite

TAP_LINE = re.compile(r"^\s*(not ok|ok) \d+ (?:- )?(.*?)(?: # (SKIP|TODO)\b.*)?$")
MARKED_LINE = re.compile(r"^\s*([✅❌]) (.*)$")
WHY_LINES_MAX = 6


class Outcome(Struct):
    """The result of a test, with the reason of a failure."""

    result: Literal["pass", "fail", "skip"]
    why: str = ""


def outcomes(suite: Suite, log: Path, junit: Path) -> dict[str, Outcome]:
    """Return the outcome of each test, keyed by name. A number is appended to a name that occurs again."""
    found: dict[str, Outcome] = {}
    for test, outcome in (
        from_junit(junit) if suite.results == "junit" else from_lines(log, TAP_LINE if suite.results == "tap" else MARKED_LINE)
    ):
        name, count = test, 1
        while name in found:
            count += 1
            name = f"{test} ({count})"
        found[name] = outcome
    return found


def from_lines(log: Path, pattern: re.Pattern[str]) -> list[tuple[str, Outcome]]:
    """Return the results in a log. Lines that follow a failure are its reason."""
    found: list[tuple[str, Outcome]] = []
    for line in log.read_text(errors="replace").splitlines():
        if match := pattern.match(line):
            mark, test, *skipped = match.groups()
            result: Literal["pass", "fail", "skip"] = "skip" if skipped and skipped[0] else "pass" if mark in {"ok", "✅"} else "fail"
            found.append((test, Outcome(result)))
        elif found and found[-1][1].result == "fail" and found[-1][1].why.count("\n") < WHY_LINES_MAX and line.strip():
            found[-1][1].why += f"{line.strip()}\n"
    return found


def from_junit(path: Path) -> list[tuple[str, Outcome]]:
    """Return the results in a JUnit file."""
    found: list[tuple[str, Outcome]] = []
    for case in ElementTree.parse(path).iter("testcase") if path.exists() else ():
        test = f"{case.get('classname')}::{case.get('name')}"
        failure = next((part for part in case if part.tag in {"failure", "error"}), None)
        if failure is not None:
            lines = f"{failure.get('message') or ''}\n{failure.text or ''}".strip().splitlines()
            found.append((test, Outcome("fail", "\n".join(lines[:WHY_LINES_MAX]))))
        else:
            found.append((test, Outcome("skip" if case.find("skipped") is not None else "pass")))
    return found
