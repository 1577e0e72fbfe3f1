"""Variables of the environment: every option by its own, alike for plain command lines and those that cyclopts reads; what counts more."""

import logging
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, get_origin

import pytest

from node.address import Address
from node.commands import running
from node.commands.app import app
from node.commands.entry import in_words, run_plain
from node.commands.environment import warn_of_mistyped
from node.commands.options import NamedOption
from node.commands.plain import read_plain
from node.commands.running import Common, Run, options_of_command
from node.failures import NodeError
from node.node import Settings
from tests.conftest import ROOT
from tests.helpers.commands import coind
from tests.helpers.golden import same_as_golden

Started = Callable[..., Settings]
RUN = options_of_command("run")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """The settings that a command line of `run` leads to, which must be the same without cyclopts and with it."""
    found: list[Settings] = []

    def run(settings: Settings) -> int:
        found.append(settings)
        return 0

    monkeypatch.setattr(running, "run", run)

    def start(*words: str) -> Settings:
        assert app(["run", *words], result_action="return_value", print_error=False, exit_on_error=False) == 0
        settings = found.pop()
        if run_plain(list(words)) is not None:
            assert found.pop() == settings
        return settings

    return start


def refused(*words: str) -> str:
    """The text of a refusal, the same with cyclopts and without it."""
    texts = []
    for read in (run_plain, lambda words: app(["run", *words], result_action="return_value", print_error=False, exit_on_error=False)):
        with pytest.raises(NodeError) as error:
            read(list(words))
        texts.append(in_words(error.value, ["run", *words]))
    assert texts[0] == texts[1]
    return texts[0]


def example(option: NamedOption) -> tuple[str, Any]:
    """A text for a variable, and the value that it gives."""
    if option.kind is bool:
        return "1", True
    if option.kind is int:
        return "7", 7
    if get_origin(option.kind) is tuple:
        return "a, b,", ("a", "b")
    if option.kind is Path:
        return "x/y", Path("x/y")
    return {"log_level": "error", "leap": "produced"}.get(option.name, "text"), {"log_level": "error", "leap": "produced"}.get(
        option.name, "text"
    )


# ------------------------------------------------------------------ every option


@pytest.mark.parametrize("option", RUN, ids=lambda option: option.variable)
def test_every_option_of_run_has_a_variable(option: NamedOption, monkeypatch: pytest.MonkeyPatch) -> None:
    text, value = example(option)
    monkeypatch.setenv(option.variable, text)
    plain = read_plain([], Common, Run, environ={option.variable: text})
    assert plain is not None
    assert [getattr(each, option.name) for each in plain if hasattr(each, option.name)] == [value]
    if option.name == "config":
        return
    _, bound, _ = app.parse_args(["run"], print_error=False, exit_on_error=False)
    for cls, read in zip((Common, Run), plain, strict=True):
        found = bound.kwargs.get(cls.__name__.lower().replace("run", "own"), cls())
        assert {each.name: getattr(found, each.name) for each in fields(cls)} == {
            each.name: getattr(read, each.name) for each in fields(cls)
        }


@pytest.mark.parametrize("option", options_of_command("replay"), ids=lambda option: option.variable)
def test_every_option_of_replay_has_a_variable(option: NamedOption, monkeypatch: pytest.MonkeyPatch) -> None:
    text, value = ("none", "none") if option.name == "verify" else example(option)
    monkeypatch.setenv(option.variable, text)
    _, bound, _ = app.parse_args(["replay", "file"], print_error=False, exit_on_error=False)
    assert bound.kwargs.get(option.name, getattr(bound.kwargs.get("common"), option.name, None)) == value


def test_the_names_are_those_of_the_words() -> None:
    words = {option.word: option.variable for option in (*RUN, *options_of_command("replay"))}
    assert words["--snapshot-every"] == "COIND_SNAPSHOT_EVERY"
    assert words["--from"] == "COIND_FROM"


# ------------------------------------------------------------------ what counts more


def test_the_command_line_then_the_variable_then_the_file(started: Started, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "options.toml"
    file.write_text('witnesses = 2\nchain = "testnet"\nsnapshot-every = 3\nhttp2 = true\nenable = ["tags"]\n')
    for name, text in (("COIND_CONFIG", str(file)), ("COIND_WITNESSES", "4"), ("COIND_CHAIN", "dev-tests"), ("COIND_HTTP2", "0")):
        monkeypatch.setenv(name, text)
    settings = started("--witnesses", "5")
    assert (settings.witnesses, settings.spec.name, settings.snapshot_every, settings.is_http2) == (5, "dev-tests", 3, False)


def test_an_empty_variable_is_none(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    for option in RUN:
        monkeypatch.setenv(option.variable, "")
    settings = started()
    assert (settings.http, settings.data, settings.spec.name) == (Address("127.0.0.1", 8090), None, "dev")


def test_a_port_counts_as_far_as_no_address_that_counts_more_has_one(
    started: Started, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COIND_PORT", "9000")
    assert started("--http", "127.0.0.1:9001").http == Address("127.0.0.1", 9001)
    assert started("--http", "0.0.0.0").http == Address("0.0.0.0", 9000)
    assert started("--port", "9002").http == Address("127.0.0.1", 9002)
    monkeypatch.setenv("COIND_HTTP", "0.0.0.0:1")
    assert started().http == Address("0.0.0.0", 9000)
    monkeypatch.delenv("COIND_PORT")
    assert started("--port", "0").http == Address("0.0.0.0", 0)
    file = tmp_path / "options.toml"
    file.write_text("port = 9003\n")
    assert started("--config", str(file)).http == Address("0.0.0.0", 1)


def test_what_kubernetes_says_of_a_service_is_no_port(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COIND_PORT", "tcp://10.0.0.11:8090")
    assert started().http == Address("127.0.0.1", 8090)


def test_flags_can_be_off_and_negatives_on(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    for text, value in (("TRUE", True), ("1", True), ("false", False), ("0", False)):
        monkeypatch.setenv("COIND_PRODUCE", text)
        monkeypatch.setenv("COIND_NO_EXPLORER", text)
        settings = started()
        assert (settings.is_producing, settings.has_explorer) == (value, not value)
    assert started("--produce").is_producing


# ------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("COIND_QUIET", "yes"),
        ("COIND_PORT", "x"),
        ("COIND_WITNESSES", "0"),
        ("COIND_LEAP", "often"),
        ("COIND_HTTP", "host:x"),
        ("COIND_CHAIN", "de"),
        ("COIND_ENABLE", "tags,tgas"),
        ("COIND_BLOCKS", "often"),
        ("COIND_SYNC", "often"),
        ("COIND_TIME", "soon"),
        ("COIND_CORS", "x"),
        ("COIND_TRUST", "1"),
    ],
)
def test_a_wrong_value_is_told_by_the_name_of_the_variable(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    monkeypatch.setenv(name, text)
    same_as_golden(refused())


def test_contradictions_are_told_by_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COIND_QUIET", "1")
    same_as_golden(refused("--verbose"))
    monkeypatch.setenv("COIND_VERBOSE", "1")
    same_as_golden(refused())
    same_as_golden(refused("--quiet"))


def test_errors_of_other_commands_keep_their_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COIND_DATA", "x")
    assert in_words(NodeError("name it with --data"), ["blocks", "info"]) == "name it with --data"
    assert in_words(NodeError("name it with --data, not --database"), ["run"]) == "name it with COIND_DATA, not --database"


def test_a_mistyped_variable_is_told(caplog: pytest.LogCaptureFixture) -> None:
    environ = dict.fromkeys(
        ("COIND_HTPP", "COIND_chain", "COIND_URL", "COIND_KEY", "COIND", "COIND_HTTP", "COIND_SERVICE_HOST", "HTPP"), "x"
    )
    with caplog.at_level(logging.WARNING):
        warn_of_mistyped(RUN, environ | {"COIND_PORT_8090_TCP_ADDR": "10.0.0.11"})
    told = {record.values["variable"]: record.values["nearest"] for record in caplog.records}  # type: ignore[attr-defined]
    assert told == {"COIND_HTPP": "COIND_HTTP", "COIND_chain": "COIND_CHAIN"}


def test_commands_that_have_the_option_in_another_sense_do_not_take_the_variable(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COIND_CHAIN", "steem-mainnet")
    assert "the chain dev (TST)" in coind(capsys, "keys", "alice").out


def test_the_help_is_shown_whatever_the_variables_say(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COIND_PORT", "x")
    done = coind(capsys, "run", "--help")
    assert done.status == 0
    assert "COIND_HTTP" in done.out


def test_the_version_is_told_without_loading_the_commands() -> None:
    loaded = "{'cyclopts', 'trio', 'node.node'} & set(sys.modules)"
    code = f"import sys, node.commands.entry as entry; sys.argv[1:] = ['--version']; entry.main(); print({loaded})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0].startswith("coind ")
    assert done.stdout.splitlines()[1:] == ["set()"]
