"""Which methods the tests have called: services of tests are made of watched methods, and a whole run tells which ones nobody called."""

from collections.abc import Callable, Iterable, Iterator
from functools import cache, wraps
from typing import Any

import msgspec
import pytest

import rpc.api
from rpc.declare.method import METHODS, Method

assert rpc.api
CALLED: set[str] = set()
"""The names of the methods that have run in this process, or, where a run has several, in those that have ended."""


def watched(methods: Iterable[Method]) -> Iterator[Method]:
    """The same methods; what is called is noted once its arguments have been read."""
    return map(watched_method, methods)


@cache
def watched_method(method: Method) -> Method:
    """The same method; its calls are noted."""
    return msgspec.structs.replace(method, function=noted(method.name, method.function))


def noted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function; its calls are noted."""

    @wraps(function)
    def call(*args: Any) -> Any:
        CALLED.add(name)
        return function(*args)

    return call


def never_called() -> list[str]:
    """The methods that no test has called so far."""
    return sorted(METHODS.keys() - CALLED)


# ------------------------------------------------------------------ hooks of pytest, which conftest.py hands on


def is_whole_run(config: pytest.Config) -> bool:
    """Whether all tests run."""
    chosen = config.option.keyword or config.option.markexpr or getattr(config.option, "lf", False)
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not chosen


def finish(session: pytest.Session) -> None:
    """At the end of a process with tests hand on what they called; at the end of a whole run fail if something is missing."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["called"] = sorted(CALLED)
    elif is_whole_run(session.config) and never_called() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def summary(reporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Tell what a whole run has left out."""
    if is_whole_run(config):
        reporter.write_line(f"methods that no test called: {', '.join(never_called()) or 'none'} (of {len(METHODS)})")
