"""Shared fixtures and settings of the tests: recorded data, the number of examples of hypothesis, and the report of methods that no test
calls.
"""

import atexit
import gc
import gzip
import json
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from node.runtime.memory import collect_in_portions, freeze_loaded_objects
from node.version import VERSION
from state.protocol import transaction
from tests.helpers import golden, method_coverage

if TYPE_CHECKING:
    from tests.helpers.install_scenario import InstallScenario
    from tests.helpers.wheels import Installed

# Options in the developer's environment must not affect the nodes of tests.
for _name in [name for name in os.environ if name.startswith("COIND_")]:
    del os.environ[_name]

ROOT = Path(__file__).resolve().parent.parent
VECTORS = ROOT / "tests" / "vectors"
CASES = ROOT / "tests" / "conformance" / "cases"
MAINNET = ROOT / "tests" / "conformance" / "mainnet"
METHODS = ROOT / "docs" / "reference" / "methods.json"
# For `bridge` methods, social.md takes precedence: it differs in the order of arguments, and adds members and methods.
BRIDGE_METHODS = ROOT / "docs" / "reference" / "methods_bridge.json"

# The default profile `ci` uses the same examples each time, without a time limit. HYPOTHESIS_PROFILE=search searches for new ones.
SLOW = [HealthCheck.too_slow]
settings.register_profile("ci", derandomize=True, database=None, max_examples=25, deadline=None, suppress_health_check=SLOW)
settings.register_profile("search", max_examples=3000, deadline=None, suppress_health_check=SLOW)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
settings.load_profile(PROFILE)
if PROFILE == "ci":
    # Otherwise hypothesis also uses constants of all loaded modules, and so different examples in each worker.
    providers._get_local_constants = providers.Constants  # type: ignore[attr-defined]

# Recorded blocks are applied many times, and recovering their signers' keys would take most of the time.
transaction.recover = lru_cache(100_000)(transaction.recover)  # type: ignore[attr-defined]


def read_json(path: Path) -> Any:
    """Return the content of a JSON file."""
    return json.loads(path.read_bytes())


def described_methods() -> dict[str, Any]:
    """Return the descriptions of all methods by name."""
    return {entry["method"]: entry for path in (METHODS, BRIDGE_METHODS) for entry in read_json(path)}


def read_json_lines(path: Path) -> Iterator[Any]:
    """Yield the values of a JSON lines file, compressed (`.gz`) or plain. A missing file has no values."""
    if not path.exists():
        return
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
        for line in lines:
            yield json.loads(line)


def case_names() -> list[str]:
    """Return the names of the recorded cases, each a folder of `CASES`."""
    return sorted(path.parent.name for path in CASES.glob("*/case.json"))


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> "Installed":
    """The wheel of this checkout, installed in an environment that all workers of a run share."""
    from tests.helpers.wheels import installed

    own = tmp_path_factory.getbasetemp()
    return installed(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


@pytest.fixture
def journey(package: "Installed", tmp_path: Path) -> "InstallScenario":
    """A user's folder with the installed wheel."""
    from tests.helpers.install_scenario import InstallScenario
    from tests.helpers.wheels import clean_environment

    return InstallScenario(tmp_path / "user", package.python, package.command, clean_environment(tmp_path), VERSION)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes the golden file."""
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/messages.txt again for the test files that run")


def pytest_collection_finish() -> None:
    """Configure garbage collection as a node does. Loaded modules are excluded, since collecting them would take a fifth of the time."""
    collect_in_portions()
    gc.collect()
    freeze_loaded_objects()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Clear the cache of parsed source files after a folder of tests."""
    if nextitem is None or nextitem.path.parent != item.path.parent:
        from tests.helpers.sources import forget

        forget()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Report the called methods to the main process or check them, and write the golden file."""
    method_coverage.finish(session)
    golden.finish(session)
    if "PYTEST_XDIST_WORKER" in os.environ:
        # Exit without freeing memory, which would take seconds.
        gc.freeze()
        atexit.register(os._exit, 0)
    else:
        # Frozen objects would make duckdb report leaks when the process ends.
        gc.unfreeze()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Merge the called methods of a worker process."""
    method_coverage.CALLED.update(getattr(node, "workeroutput", {}).get("called", ()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the methods that no test called."""
    method_coverage.summary(terminalreporter, config)
