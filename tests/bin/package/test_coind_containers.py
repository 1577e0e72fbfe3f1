"""coind.testing.containers without Docker. `bin/test deploy` runs it with testcontainers and Docker."""

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from node.client.dev_api import CallRefused
from node.runtime.errors import NodeError
from tests.conftest import ROOT
from tests.helpers.golden import fails
from tests.helpers.sessions import running_node

MODULES = ("testcontainers", "testcontainers.core", "testcontainers.core.container", "testcontainers.core.wait_strategies")


class Container:
    """A stub of a testcontainers container. It records its settings."""

    port = 0

    def __init__(self, image: str, **given: Any) -> None:
        self.settings: dict[str, Any] = {"image": image, **given}

    def __getattr__(self, name: str) -> Any:
        def record(*values: Any) -> "Container":
            self.settings[name] = values
            return self

        return record

    def get_container_host_ip(self) -> str:
        return "127.0.0.1"

    def get_exposed_port(self, port: int) -> int:
        assert (port,) == self.settings["with_exposed_ports"]
        return self.port


@pytest.fixture(autouse=True)
def package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package `coind` of this checkout."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(ROOT / "bin" / "package")
    yield
    for name in [name for name in set(sys.modules) - before if name.partition(".")[0] == "coind"]:
        del sys.modules[name]


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stub of the package testcontainers."""
    for name in MODULES:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules[MODULES[2]].DockerContainer = Container  # type: ignore[attr-defined]
    sys.modules[MODULES[3]].HttpWaitStrategy = lambda *of: of  # type: ignore[attr-defined]


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    # None stands for a module that doesn't exist.
    monkeypatch.setitem(sys.modules, MODULES[0], None)
    with fails(NodeError):
        import coind.testing.containers  # noqa: F401


def test_container_runs_a_node(library: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from coind.testing.containers import CoindContainer

    container = CoindContainer("coind:1", chain="dev-tests", options=("--witnesses", "21"), name="a")
    assert (container.settings["image"], container.settings["name"]) == ("coind:1", "a")
    [command] = container.settings["with_command"]
    assert command == ["run", "--allow-debug", "--chain", "dev-tests", "--blocks", "instant", "--quiet", "--witnesses", "21"]
    with running_node("dev", "--blocks", "instant") as url:
        monkeypatch.setattr(Container, "port", int(url.rpartition(":")[2]))
        assert container.chain.url == url
        assert container.chain.mine(2)["head_block_number"] > 2
        with pytest.raises(CallRefused) as refused:
            container.chain.broadcast("transfer", {"from": "alice", "to": "bob", "amount": "999999.000 COIN", "memo": ""})
        assert refused.value.rule == "insufficient_funds"
