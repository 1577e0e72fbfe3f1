"""Records the RPC methods that tests call, by wrapping the methods of the tests' services. A run of all tests reports the methods that were
never called.
"""

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
    """Wrap methods so that each call is recorded once its arguments have been parsed."""
    return map(watched_method, methods)


@cache
def watched_method(method: Method) -> Method:
    """Wrap a method so that its calls are recorded."""
    return msgspec.structs.replace(method, function=recorded(method.name, method.function))


def recorded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function`, wrapped so that its calls are recorded."""

    @wraps(function)
    def call(*args: Any) -> Any:
        CALLED.add(name)
        return function(*args)

    return call


def uncalled_methods() -> list[str]:
    """Return the methods that no test has called so far."""
    return sorted(METHODS.keys() - CALLED)


# ------------------------------------------------------------------ pytest hooks, called by conftest.py


def is_whole_run(config: pytest.Config) -> bool:
    """Whether the run includes all tests."""
    chosen = config.option.keyword or config.option.markexpr or getattr(config.option, "lf", False)
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not chosen


def finish(session: pytest.Session) -> None:
    """In a worker process, send the called methods to the main process. At the end of a run of all tests, fail if a method was never
    called.
    """
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["called"] = sorted(CALLED)
    elif is_whole_run(session.config) and uncalled_methods() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def summary(reporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """After a run of all tests, print the methods that were never called."""
    if is_whole_run(config):
        reporter.write_line(f"methods that no test called: {', '.join(uncalled_methods()) or 'none'} (of {len(METHODS)})")
