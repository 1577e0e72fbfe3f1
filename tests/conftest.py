"""What tests share: where the recorded data lies, how it is read, and how much hypothesis tries; at the end of a whole run, which
methods nobody called.
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

# Options that the developer's shell gives to nodes are not for those of the tests.
for _name in [name for name in os.environ if name.startswith("COIND_")]:
    del os.environ[_name]

ROOT = Path(__file__).resolve().parent.parent
VECTORS = ROOT / "tests" / "vectors"
CASES = ROOT / "tests" / "conformance" / "cases"
MAINNET = ROOT / "tests" / "conformance" / "mainnet"
METHODS = ROOT / "docs" / "reference" / "methods.json"
# What social.md says of `bridge` wins: order of arguments, members beyond the specification, methods that only it has.
BRIDGE_METHODS = ROOT / "docs" / "reference" / "methods_bridge.json"

# `ci` is what everybody runs: the same examples each time, no clock. HYPOTHESIS_PROFILE=search looks for new ones.
SLOW = [HealthCheck.too_slow]
settings.register_profile("ci", derandomize=True, database=None, max_examples=25, deadline=None, suppress_health_check=SLOW)
settings.register_profile("search", max_examples=3000, deadline=None, suppress_health_check=SLOW)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
settings.load_profile(PROFILE)
if PROFILE == "ci":
    # Else it also tries the numbers and texts of all modules that happen to be loaded, and finds other examples in each worker.
    providers._get_local_constants = providers.Constants  # type: ignore[attr-defined]

# Recorded blocks are applied again and again, and most of the time would go to the keys that signed them.
transaction.recover = lru_cache(100_000)(transaction.recover)  # type: ignore[attr-defined]


def read_json(path: Path) -> Any:
    """The content of a JSON file."""
    return json.loads(path.read_bytes())


def described_methods() -> dict[str, Any]:
    """The descriptions of all methods, by name."""
    return {entry["method"]: entry for path in (METHODS, BRIDGE_METHODS) for entry in read_json(path)}


def read_json_lines(path: Path) -> Iterator[Any]:
    """The values of a file that holds one a line, gzipped (`.gz`) or plain; an absent file holds none."""
    if not path.exists():
        return
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
        for line in lines:
            yield json.loads(line)


def case_names() -> list[str]:
    """The recorded cases, by name; each is a folder of `CASES`."""
    return sorted(path.parent.name for path in CASES.glob("*/case.json"))


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> "Installed":
    """The wheel of this checkout, installed in an environment that all workers of a run share."""
    from tests.helpers.wheels import installed

    own = tmp_path_factory.getbasetemp()
    return installed(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


@pytest.fixture
def journey(package: "Installed", tmp_path: Path) -> "InstallScenario":
    """A user's folder, with the installed wheel."""
    from tests.helpers.install_scenario import InstallScenario
    from tests.helpers.wheels import clean_environment

    return InstallScenario(tmp_path / "user", package.python, package.command, clean_environment(tmp_path), VERSION)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes the golden file."""
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/messages.txt again for the test files that run")


def pytest_collection_finish() -> None:
    """Collect garbage as a started node does, and none of what was loaded: a fifth of the time went to it."""
    collect_in_portions()
    gc.collect()
    freeze_loaded_objects()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Let go of the parsed files at the end of a folder of tests that may have looked at them."""
    if nextitem is None or nextitem.path.parent != item.path.parent:
        from tests.helpers.sources import forget

        forget()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand on, or judge, what was called."""
    method_coverage.finish(session)
    golden.finish(session)
    if "PYTEST_XDIST_WORKER" in os.environ:
        # Nobody needs what is freed at the end of a worker, and it took seconds.
        gc.freeze()
        atexit.register(os._exit, 0)
    else:
        # What is frozen, duckdb would report as leaked at the end of the process.
        gc.unfreeze()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what was called in another process."""
    method_coverage.CALLED.update(getattr(node, "workeroutput", {}).get("called", ()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Tell what was not called."""
    method_coverage.summary(terminalreporter, config)
