"""Shared tools of the Python sessions: reporting of steps, and waiting for blocks."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE_SECONDS = 30
MESSAGE_SIZE_MAX = 600


@contextmanager
def step(name: str) -> Iterator[None]:
    """Run a step and print `pass NAME` or `fail NAME: WHY`. A failure doesn't end the session."""
    try:
        yield
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        report(f"fail {name}: {why[:MESSAGE_SIZE_MAX]}")
    else:
        report(f"pass {name}")


def report(line: str) -> None:
    """Print a result line for the program that runs the session."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def equal(found: object, expected: object) -> None:
    """Fail unless both values are equal."""
    if found != expected:
        raise AssertionError(f"{found!r} is not {expected!r}")


def refused(what: Callable[[], object], error: type[Exception], text: str) -> None:
    """Fail unless the call raises an error of this class whose message contains `text`."""
    try:
        what()
    except error as refusal:
        if text not in str(refusal):
            raise AssertionError(f"{text!r} is not in {refusal!r}") from None
    else:
        raise AssertionError(f"the call was not refused with {text!r}")


def wait_until(is_there: Callable[[], bool]) -> None:
    """Poll until the condition is true, for at most the time of a few blocks."""
    for _ in range(2 * PATIENCE_SECONDS):
        if is_there():
            return
        time.sleep(0.5)
    raise TimeoutError(f"nothing after {PATIENCE_SECONDS} s")


def wait_for_blocks(head: Callable[[], int], count: int = 1) -> None:
    """Wait until the head has advanced by `count` blocks."""
    first = head()
    wait_until(lambda: head() >= first + count)
