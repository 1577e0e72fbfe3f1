"""The files of docs/deploy.md: their options and variables exist, no service runs as root, and debug methods are local only."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from node.cli.app import app
from node.cli.option_sources import UNNAMED, options_of, variable_of
from node.runtime.errors import Status
from tests.conftest import ROOT

DEPLOY = ROOT / "docs" / "deploy"
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
UNIT = (DEPLOY / "coind.service").read_text("utf-8")
COMPOSES = sorted(DEPLOY.glob("compose*.yaml"))
PROXIES = sorted([*DEPLOY.glob("*.cfg"), *DEPLOY.glob("*.conf"), *(ROOT / "docs" / "scale").iterdir()])
VARIABLE = re.compile(r"\b(COIND_[A-Z0-9_]+)\b")
# A port published to this machine only.
OWN = "127.0.0.1:"


def services(path: Path) -> dict[str, dict[str, Any]]:
    """Return the services of a compose file."""
    found: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text("utf-8"))["services"]
    return found


def commands() -> Iterator[tuple[Path, str, dict[str, Any]]]:
    """Yield the services that run coind, with their files and names."""
    for path in COMPOSES:
        for name, service in services(path).items():
            if service["image"].partition(":")[0] == "coind":
                yield path, name, service


def test_every_variable_belongs_to_an_option() -> None:
    texts = {path.name: path.read_text("utf-8") for path in (ROOT / "Dockerfile", *DEPLOY.iterdir(), ROOT / "docs" / "deploy.md")}
    known = {variable_of((name,), each) for name in UNNAMED for each in options_of(app[name].assemble_argument_collection()).values()}
    assert {(name, variable) for name, text in texts.items() for variable in VARIABLE.findall(text)} >= {("Dockerfile", "COIND_HTTP")}
    assert {(name, variable) for name, text in texts.items() for variable in VARIABLE.findall(text) if variable not in known} == set()


@pytest.mark.parametrize(("path", "name", "service"), list(commands()), ids=lambda each: getattr(each, "name", str(each)[:20]))
def test_compose_services_start_existing_commands(path: Path, name: str, service: dict[str, Any]) -> None:
    _, apps, rest = app.parse_commands(shlex.split(service["command"]))
    known = {each for argument in apps[-1].assemble_argument_collection() for each in argument.names}
    assert [word for word in rest if word.startswith("--") and word not in known] == []
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    if "--allow-debug" in service["command"]:
        assert all(port.startswith(OWN) for port in service["ports"]), f"{path.name}: {name} opens the debug methods to others"


@pytest.mark.parametrize("path", COMPOSES, ids=lambda path: path.name)
def test_compose_volumes_files_and_contexts_exist(path: Path) -> None:
    named = set(yaml.safe_load(path.read_text("utf-8")).get("volumes", {}))
    for service in services(path).values():
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            assert (path.parent / source).is_file() if source.startswith(".") else source in named, volume
        if (build := service.get("build")) is not None:
            assert (path.parent / (build if isinstance(build, str) else build["context"])).resolve() == ROOT


@pytest.mark.parametrize("path", PROXIES, ids=lambda path: path.name)
def test_proxy_sends_a_forwarding_header(path: Path) -> None:
    """Without a forwarding header, remote clients would have the rights of local programs."""
    text = path.read_text("utf-8")
    assert "option forwardfor" in text or text.count("proxy_set_header X-Forwarded-For") == text.count("proxy_pass ")


@pytest.mark.parametrize("path", PROXIES, ids=lambda path: path.name)
def test_proxy_blocks_metrics(path: Path) -> None:
    """The proxy also blocks an encoded path such as /%6Detrics, which nginx decodes."""
    text = path.read_text("utf-8")
    is_haproxy = path.suffix == ".cfg"
    rule, way_in = (
        ("status 404 if { path,url_dec /metrics }", "bind ") if is_haproxy else ("location = /metrics { return 404; }", "listen ")
    )
    assert text.count(rule) == text.count(way_in) == 1


def test_image_has_a_user_and_no_debug_methods() -> None:
    steps = re.findall(r"^(?!#)([A-Z]+) ((?:.*\\\n)*.*)$", DOCKERFILE, re.MULTILINE)
    assert [text for name, text in steps if name == "USER"] == ["10001:10001"]
    last = dict(steps)
    assert last["ENTRYPOINT"] == '["coind"]'
    assert last["CMD"] == '["run"]'
    assert last["STOPSIGNAL"] == "SIGTERM"
    assert "--allow-debug" not in "".join(text for _, text in steps)
    assert "COIND_ALLOW_DEBUG" not in DOCKERFILE


def test_image_is_built_from_the_files_of_the_wheel() -> None:
    taken = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}
    assert taken == {"bin/lock", "bin/package", "genesis", "node", "rpc", "state", "pyproject.toml", "README.md", "LICENSE"}
    assert [name for name in taken if not (ROOT / name).exists()] == []


def test_unit_has_limits_and_restarts_only_when_useful() -> None:
    settings: dict[str, list[str]] = {}
    for name, value in re.findall(r"^(\w+)=(.*)$", UNIT, re.MULTILINE):
        settings.setdefault(name, []).append(value)
    hopeless = {Status.REFUSED, Status.USAGE, Status.DAMAGED, Status.BROKEN_INVARIANT}
    assert set(map(int, settings["RestartPreventExitStatus"][0].split())) == hopeless
    assert settings["DynamicUser"] == ["yes"]
    assert settings["NoNewPrivileges"] == ["yes"]
    assert {"MemoryMax", "TasksMax", "LimitNOFILE", "TimeoutStopSec"} <= settings.keys()
    [command] = settings["ExecStart"]
    assert "--allow-debug" not in UNIT
    _, apps, rest = app.parse_commands(shlex.split(command)[1:])
    assert apps[-1].name == ("run",)
    assert rest == ["--log-json"]


def test_alerts_use_existing_metrics() -> None:
    groups = yaml.safe_load((DEPLOY / "alerts.yaml").read_text("utf-8"))["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    source = "".join((ROOT / "node" / place / "metrics.py").read_text("utf-8") for place in ("monitoring", "replicas/relay"))
    declared_names = set(re.findall(r'"(coind_\w+)"', source))
    named = {name for rule in rules for name in re.findall(r"\bcoind_\w+", rule["expr"])}
    assert {name.removesuffix("_total") for name in named} <= declared_names
    assert len(rules) >= 5
    scraped = yaml.safe_load((DEPLOY / "prometheus.yaml").read_text("utf-8"))
    assert [(DEPLOY / name).exists() for name in scraped["rule_files"]] == [True]
    assert [job["job_name"] for job in scraped["scrape_configs"]] == ["coind", "coind-relay"]
