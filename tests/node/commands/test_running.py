"""The options of `run` and `replay`: what they become in the settings of the node, alone, together and from a file, and what is refused."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from cyclopts import ValidationError
from hypothesis import given, settings
from hypothesis import strategies as st

from node.address import Address
from node.commands import running
from node.commands.app import app
from node.commands.entry import main, run_plain
from node.commands.options import options_of
from node.commands.plain import read_plain
from node.commands.running import Common, Run, start_time
from node.driving.modes import BlockMode, block_mode
from node.failures import NodeError
from node.node import Settings
from tests.conftest import ROOT
from tests.helpers.golden import fails, same_as_golden

Started = Callable[..., Settings]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """The settings that a command line starts a node with, the same whether it is read as a plain one or by cyclopts."""
    found: list[Settings] = []

    def run(settings: Settings, *_others: Any, **_more: Any) -> int:
        found.append(settings)
        return 0

    monkeypatch.setattr(running, "run", run)
    monkeypatch.setattr("node.replay.run.replay_file", run)

    def start(*words: str | Path) -> Settings:
        texts = [str(word) for word in words]
        assert app(texts, result_action="return_value", print_error=False, exit_on_error=False) == 0
        settings = found.pop()
        if texts[0] == "run" and run_plain(texts[1:]) is not None:
            assert found.pop() == settings
        return settings

    return start


def refused(*words: str | Path) -> str:
    """The text with which a command line is refused."""
    with pytest.raises(NodeError) as refused:
        app([str(word) for word in words], result_action="return_value", print_error=False, exit_on_error=False)
    return str(refused.value)


# ------------------------------------------------------------------ plain command lines

# A value of each type, good ones and bad ones; "" and those that begin with a dash are never plain.
TEXTS = st.sampled_from(["0", "1", "21", "65536", "-1", "1.5", "missed", "x", "", "-", "--quiet", "a b", "dev", "true", "٣", "1_0", " 1"])


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """Words of a command line, of which most are options with a value."""
    words = []
    for _ in range(draw(st.integers(0, 4))):
        option = draw(st.sampled_from([*options_of(Common), *options_of(Run)]))
        name = draw(st.sampled_from([option.word] * 8 + [option.word[:-1], "--no-" + option.name, option.word.upper()]))
        words += draw(st.sampled_from([[name, draw(TEXTS)], [f"{name}={draw(TEXTS)}"], [name]]))
    return words


@given(words=lines())
@settings(max_examples=300)
def test_what_a_plain_line_gives_is_what_cyclopts_reads(words: list[str]) -> None:
    plain = read_plain(words, Common, Run)
    if plain is None or plain[1].config is not None:
        return
    _, bound, _ = app.parse_args(["run", *words], print_error=False, exit_on_error=False)
    for cls, read in zip((Common, Run), plain, strict=True):
        found = bound.kwargs.get(cls.__name__.lower().replace("run", "own"), cls())
        assert {each.name: getattr(found, each.name) for each in fields(cls)} == {
            each.name: getattr(read, each.name) for each in fields(cls)
        }


@pytest.mark.parametrize(
    "words", [["--blocks"], ["--quiet", "--quiet"], ["--port", "70000"], ["--accounts", "-1"], ["x"], ["--help"], ["--por", "1"]]
)
def test_a_line_that_may_be_a_mistake_is_left_to_cyclopts(words: list[str]) -> None:
    assert read_plain(words, Common, Run) is None


def test_a_plain_start_loads_nothing_that_the_first_answer_does_not_need() -> None:
    later = {"cyclopts", "hypercorn", "h11", "h2", "wsproto", "quart", "rich", "prometheus_client", "multiprocessing"}
    code = f"import sys, node.commands.entry, node.commands.running; print(sorted({later} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout == "[]\n"


# ------------------------------------------------------------------ options


def test_without_options_the_settings_are_the_defaults(started: Started) -> None:
    settings = started("run")
    assert (settings.http, settings.blocks, settings.time, settings.leap) == (Address("127.0.0.1", 8090), BlockMode(), None, "missed")
    assert (settings.witnesses, settings.accounts, settings.is_producing, settings.spec.name) == (1, None, True, "dev")


def test_blocks_and_time(started: Started) -> None:
    settings = started("run", "--blocks", "mixed:2.5", "--time", "2026-03-01T12:00:00", "--leap", "produced", "--witnesses", "21")
    assert (settings.blocks, settings.leap, settings.witnesses) == (BlockMode("mixed", 2.5), "produced", 21)
    assert settings.time == 1_772_366_400
    assert started("run", "--accounts", "3").accounts == 3


def test_a_port_replaces_that_of_the_address(started: Started) -> None:
    assert started("run", "--port", "9000").http == Address("127.0.0.1", 9000)
    assert started("run", "--http", "[::1]:8090", "--port", "0").http == Address("::1", 0)


def test_both_commands_have_the_shared_options(started: Started) -> None:
    words = ("--chain", "testnet", "--cors", "http://x", "--http2", "--allow-debug", "--check-invariants", "7", "--show-keys")
    proxy = ("--proxy", "10.0.0.0/8")
    for command in (("run",), ("replay", "file", "--serve", "127.0.0.1:0")):
        settings = started(*command, *words, *proxy)
        assert (settings.spec.name, settings.origins, settings.check_invariants) == ("testnet", ("http://x",), 7)
        assert settings.is_http2
        assert [str(network) for network in settings.proxies] == ["10.0.0.0/8"]
        assert settings.is_debug_allowed
        assert settings.announcer.shows_keys


def test_workers(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "default_workers", lambda: 2)
    for command in (("run",), ("replay", "file", "--chain", "dev")):
        found = [started(*command, *words).workers for words in ((), ("--workers", "0"), ("--workers", "64"))]
        assert found == [2, 0, 64]
        for text in ("65", "-1"):
            with pytest.raises(ValidationError):
                started(*command, "--workers", text)


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("interval", BlockMode("interval")),
        ("interval:1", BlockMode("interval", 1)),
        ("interval:0.25", BlockMode("interval", 0.25)),
        ("instant", BlockMode("instant")),
        ("manual", BlockMode("manual")),
        ("mixed:5", BlockMode("mixed", 5)),
    ],
)
def test_a_mode_is_read_and_written_as_the_same_text(text: str, mode: BlockMode) -> None:
    assert block_mode(text) == mode
    assert str(mode) == text


@pytest.mark.parametrize(
    "text", ["", "x", "mixed", "mixed:0", "interval:", "interval:-1", "interval:٣", "instant:1", "interval:99999", "instant\n"]
)
def test_other_modes_are_refused(text: str) -> None:
    with fails(NodeError):
        block_mode(text)


def test_times() -> None:
    for text in ("2026-03-01T12:00:00", "2026-03-01 12:00:00", "2026-03-01T12:00:00Z", "2026-03-01T13:00:00+01:00", "1772366400"):
        assert start_time(text) == 1_772_366_400
    for text in ("", "soon", "2026-13-01", "-5", "٣"):
        with fails(NodeError):
            start_time(text)
    assert start_time("9" * 5000) == int("9" * 20)


def test_options_that_contradict_each_other_are_refused() -> None:
    assert "contradict" in refused("run", "--quiet", "--verbose")
    same_as_golden(refused("run", "--quiet", "--log-level", "info"))


# ------------------------------------------------------------------ a file of options


def test_a_file_takes_every_option_of_run(started: Started, tmp_path: Path) -> None:
    file = tmp_path / "options.toml"
    text = (ROOT / "docs/options.toml").read_text()
    file.write_text(re.sub("^# ?(?=[a-z0-9-]+ = )", "", text, flags=re.MULTILINE))
    named = {each.name.replace("_", "-") for declared in (Common, Run) for each in fields(declared)} - {"config"}
    assert set(tomllib.loads(file.read_text())) == named, "docs/options.toml has another list of options"
    # A node that follows another one makes no blocks.
    file.write_text(re.sub("^(follow|broadcast-to|trust) = .*$", "", file.read_text(), flags=re.MULTILINE))
    settings = started("run", "--config", file, "--log-level", "info")
    assert (settings.blocks, settings.witnesses, settings.is_debug_allowed) == (BlockMode("mixed", 3), 21, False)


def test_a_node_that_follows_another_one(started: Started) -> None:
    settings = started("run", "--follow", "127.0.0.1:9000")
    assert (settings.follow, settings.broadcast_to, settings.is_trusting) == ("http://127.0.0.1:9000", "", False)
    assert not settings.is_producing
    settings = started("run", "--follow", "nats://there", "--broadcast-to", "http://owner:8090", "--trust")
    assert (settings.follow, settings.broadcast_to, settings.is_trusting) == ("nats://there", "http://owner:8090", True)


@pytest.mark.parametrize(
    "words",
    [
        ("--follow", "http://a:1", "--produce"),
        ("--follow", "http://a:1", "--time", "2026-03-01"),
        ("--follow", "ftp://a"),
        ("--follow", "nats://"),
        ("--broadcast-to", "http://a:1"),
        ("--trust",),
    ],
)
def test_what_a_node_that_follows_does_not_take(words: tuple[str, ...]) -> None:
    same_as_golden(refused("run", *words))


def test_the_command_line_counts_more_than_the_file(started: Started, tmp_path: Path) -> None:
    file = tmp_path / "options.toml"
    file.write_text('port = 9000\nproduce = false\nenable = ["tags"]\nhttp2 = true\nchain = "testnet"\nsnapshot-every = 5\n')
    settings = started("run", "--config", file)
    assert (settings.http, settings.is_producing, settings.is_http2) == (Address("127.0.0.1", 9000), False, True)
    assert (settings.spec.name, settings.snapshot_every) == ("testnet", 5)
    assert "tags" in settings.plugins
    settings = started("run", "--port", "9001", "--config", file, "--produce", "--chain", "dev")
    assert (settings.http, settings.is_producing, settings.spec.name) == (Address("127.0.0.1", 9001), True, "dev")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ports = 1", "ports: unknown key; did you mean port"),
        ('config = "x"', "config: unknown key"),
        ("snapshot_every = 1", "snapshot_every: unknown key; did you mean snapshot-every"),
        ('port = "9000"', "port: expected a whole number, got '9000'"),
        ("port = true", "port: expected a whole number"),
        ("port = 1.5", "port: expected a whole number"),
        ("chain = 1", "chain: expected text"),
        ("http2 = 1", "http2: expected true or false"),
        ('produce = "no"', "produce: expected true or false"),
        ('cors = "off"', "cors: expected a list of texts"),
        ("enable = [1]", "enable: expected a list of texts"),
        ("[run]\nport = 1", "run: unknown key; docs/options.toml has all "),
        ("port = ", "expected TOML"),
        ("x = " + "[" * 5000, "expected TOML"),
        ("port = " + "9" * 5000, "expected TOML"),
    ],
)
def test_what_a_file_may_not_say_is_refused_by_its_key(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "options.toml"
    file.write_text(text)
    assert refused("run", "--config", file).startswith(f"--config {file}: {said}")


def test_a_value_of_a_file_is_checked_as_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "options.toml"
    for text, said in (('leap = "often"', "leap"), ("port = 70000", "port"), ("witnesses = 0", "witnesses")):
        file.write_text(text)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("sys.argv", ["coind", "run", "--config", str(file)])
            assert main() == 2
        assert said in capsys.readouterr().err


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    same_as_golden(refused("run", "--config", tmp_path / "nothing"))
    (tmp_path / "large").write_bytes(b"#" * (1 << 20) + b"\n")
    same_as_golden(refused("run", "--config", tmp_path / "large"))
    (tmp_path / "latin").write_bytes(b'chain = "\xe9"')
    assert "UTF-8" in refused("run", "--config", tmp_path / "latin")


# ------------------------------------------------------------------ the program itself


def test_the_shells_are_given_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert app(["completion", shell], result_action="return_value") == 0
        script = capsys.readouterr().out
        assert "coind" in script
