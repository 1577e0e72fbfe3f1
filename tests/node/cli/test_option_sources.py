"""Options from environment variables and from a file. Every option of every command has a variable and a key in the file. The tests also
cover the precedence of the sources, and errors, which name the source.
"""

import logging
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from cyclopts import App, Argument, CycloptsError

from node.cli.app import app, sources
from node.cli.option_sources import UNNAMED, names, options_of, variable_of
from node.devchain.block_modes import BlockMode
from node.runtime.address import Address
from tests.conftest import ROOT
from tests.helpers.commands import coind
from tests.helpers.golden import fails, same_as_golden
from tests.node.cli.conftest import Started, call, refused

Words = tuple[str, ...]


def commands(parent: App = app, words: Words = ()) -> Iterator[tuple[Words, App]]:
    """Yield each command that has no subcommands, with the words that call it."""
    for name in names(parent):
        child = parent[name]
        yield from commands(child, (*words, name)) if names(child) else [((*words, name), child)]


COMMANDS = dict(commands())
# Values for required options.
REQUIRED = {"--from": "http://a:1", "--to": "x", "--data": "x"}


def example(argument: Argument, number: int) -> tuple[str, Any]:
    """Return a value for an option twice: as text for a variable, and as the value in a file. If the option's type allows it, the value
    contains `number`.
    """
    hint = argument.hint
    kinds = (hint, *get_args(hint))
    if bool in kinds:
        return "1", True
    if int in kinds or float in kinds:
        return (str(number), number) if int in kinds else (f"{number}.5", number + 0.5)
    if any(get_origin(kind) is tuple for kind in kinds):
        return f"a, {number},", ["a", str(number)]
    choices = next((get_args(kind) for kind in kinds if get_origin(kind) is Literal), (f"text {number}",))
    return choices[-1] or choices[0], choices[-1] or choices[0]


def written(words: Words, options: list[tuple[Argument, Any]]) -> str:
    """Return the text of a config file with options of a command. Options that all commands share come first, then the command's table."""
    texts: dict[str, str] = {"": ""}
    for argument, value in options:
        table = "" if words[0] in UNNAMED or argument.parameter.env_var else f"[{'.'.join(words)}]\n"
        text = str(value).lower() if isinstance(value, bool) else repr(value)
        texts[table] = f"{texts.get(table, table)}{argument.name.removeprefix('--')} = {text}\n"
    return "".join(texts.values())


def values(words: Words, *more: str) -> dict[str, Any]:
    """Parse a command line, and return the option values that the command would receive, keyed by name."""
    command = COMMANDS[words]
    found = command.assemble_argument_collection()
    line = [
        ("1" if int in (each.hint, *get_args(each.hint)) else "owner" if get_origin(each.hint) is Literal else "x")
        for each in found
        if each.required and each.field_info.is_positional
    ]
    given = [word for each in found if each.required and each.name in REQUIRED for word in (each.name, REQUIRED[each.name])]
    _, bound, _ = app.parse_args([*words, *line, *given, *more], print_error=False, exit_on_error=False)
    flat: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        flat |= vars(value) if hasattr(value, "__dataclass_fields__") else value if isinstance(value, dict) else {name: value}
    return flat


# ------------------------------------------------------------------ every option


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_option_has_a_variable_and_a_key(words: Words, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = options_of(COMMANDS[words].assemble_argument_collection())
    options = [each for key, each in arguments.items() if key != "config" and not each.required]
    if not options:
        return
    examples = [example(each, number) for number, each in enumerate(options, 1)]
    file = tmp_path / "options.toml"
    file.write_text(written(words, [(each, value) for each, (_, value) in zip(options, examples, strict=True)]))
    by_file = values(words, "--config", str(file))
    for each, (text, _) in zip(options, examples, strict=True):
        monkeypatch.setenv(variable_of(words, each), text)
    by_variable = values(words)
    for each, (_, value) in zip(options, examples, strict=True):
        name = each.field_info.name
        assert by_variable[name] == by_file[name] != None, (words, name)  # noqa: E711
        assert str(by_file[name]) == str(tuple(value) if isinstance(value, list) else value)


def test_no_variable_belongs_to_two_options() -> None:
    found: dict[str, Words] = {}
    for words, command in COMMANDS.items():
        for key, argument in options_of(command.assemble_argument_collection()).items():
            if words[0] not in UNNAMED and not argument.parameter.env_var:
                assert found.setdefault(variable_of(words, argument), (*words, key)) == (*words, key)
    assert found["COIND_SNAPSHOT_DIFF_ROWS"] == ("snapshot", "diff", "rows")


# ------------------------------------------------------------------ precedence


def test_the_command_line_then_the_variable_then_the_file(started: Started, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "options.toml"
    file.write_text('witnesses = 2\nchain = "testnet"\nsnapshot-every = 3\nhttp2 = true\nenable = ["tags"]\nproduce = false\n')
    for name, text in (("COIND_CONFIG", str(file)), ("COIND_WITNESSES", "4"), ("COIND_CHAIN", "dev-tests"), ("COIND_HTTP2", "0")):
        monkeypatch.setenv(name, text)
    settings = started("run", "--witnesses", "5")
    assert (settings.witnesses, settings.spec.name, settings.snapshot_every, settings.is_http2) == (5, "dev-tests", 3, False)
    assert "tags" in settings.plugins
    assert not settings.is_producing
    assert started("run", "--produce").is_producing


def test_an_empty_variable_is_none(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    for argument in COMMANDS["run",].assemble_argument_collection():
        if argument.names:
            monkeypatch.setenv(variable_of(("run",), argument), "")
    settings = started("run")
    assert (settings.http, settings.data, settings.spec.name) == (Address("127.0.0.1", 8090), None, "dev")
    monkeypatch.setenv("COIND_URL", "")
    assert "url" not in values(("show", "chain")) or values(("show", "chain"))["url"]


def test_a_port_counts_as_far_as_no_address_that_takes_precedence_has_one(
    started: Started, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COIND_PORT", "9000")
    assert started("run", "--http", "127.0.0.1:9001").http == Address("127.0.0.1", 9001)
    assert started("run", "--http", "0.0.0.0").http == Address("0.0.0.0", 9000)
    assert started("run", "--port", "9002").http == Address("127.0.0.1", 9002)
    monkeypatch.setenv("COIND_HTTP", "0.0.0.0:1")
    assert started("run").http == Address("0.0.0.0", 9000)
    monkeypatch.delenv("COIND_PORT")
    assert started("run", "--port", "0").http == Address("0.0.0.0", 0)
    file = tmp_path / "options.toml"
    file.write_text("port = 9003\n")
    assert started("run", "--config", file).http == Address("0.0.0.0", 1)


def test_what_kubernetes_says_of_a_service_is_no_port(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COIND_PORT", "tcp://10.0.0.11:8090")
    assert started("run").http == Address("127.0.0.1", 8090)


def test_flags_can_be_off_and_negatives_on(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    for text, value in (("TRUE", True), ("1", True), ("false", False), ("0", False)):
        monkeypatch.setenv("COIND_PRODUCE", text)
        monkeypatch.setenv("COIND_NO_EXPLORER", text)
        settings = started("run")
        assert (settings.is_producing, settings.has_explorer) == (value, not value)


# ------------------------------------------------------------------ one file for all commands


def test_the_file_of_the_docs_has_every_option_of_run(started: Started, tmp_path: Path) -> None:
    file = tmp_path / "options.toml"
    text = (ROOT / "docs/options.toml").read_text()
    file.write_text(re.sub("^# ?(?=[a-z0-9-]+ = )", "", text, flags=re.MULTILINE))
    assert set(tomllib.loads(file.read_text())) == set(options_of(COMMANDS["run",].assemble_argument_collection())) - {"config"}
    # A replica makes no blocks, and a fork file determines the chain.
    file.write_text(
        re.sub("^(fork|fetch|history|mirror|requests-per-second|follow|broadcast-to|trust) = .*$", "", file.read_text(), flags=re.MULTILINE)
    )
    settings = started("run", "--config", file, "--log-level", "info")
    assert (settings.blocks, settings.witnesses, settings.is_debug_allowed) == (BlockMode("mixed", 3), 21, False)


def test_each_command_takes_its_part_of_a_file(started: Started, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "options.toml"
    file.write_text(
        'chain = "testnet"\nwitnesses = 3\nverify = "none"\nurl = "http://a:1"\n'
        '[keys]\nrole = "memo"\n[show.blocks]\ncount = 3\n[snapshot.diff]\nrows = 9\n'
    )
    monkeypatch.setenv("COIND_CONFIG", str(file))
    assert started("run").witnesses == 3
    assert started("replay", "file").spec.name == "testnet"
    assert values(("keys",))["role"] == "memo"
    assert (values(("show", "blocks"))["count"], values(("show", "blocks"))["url"]) == (3, "http://a:1")
    assert values(("snapshot", "diff"))["rows"] == 9


def test_variables_of_run_are_not_those_of_other_commands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COIND_CHAIN", "steem-mainnet")
    assert "the chain dev (TST)" in coind(capsys, "keys", "alice").out
    monkeypatch.setenv("COIND_KEYS_CHAIN", "steem-mainnet")
    assert "the chain steem-mainnet (STM)" in coind(capsys, "keys", "alice").out


# ------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("COIND_QUIET", "maybe"),
        ("COIND_PORT", "x"),
        ("COIND_PORT", "70000"),
        ("COIND_WITNESSES", "0"),
        ("COIND_WITNESSES", "2.5"),
        ("COIND_LEAP", "often"),
    ],
)
def test_a_variable_that_cannot_be_read_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    monkeypatch.setenv(name, text)
    done = coind(capsys, "run")
    assert done.status == 2
    same_as_golden(done.err)


@pytest.mark.parametrize("words", [("run", "--query-memory", "0.5"), ("dev", "mine", "1.7"), ("sql", "x", "--rows", "1.0")])
def test_fractions_are_not_rounded_to_whole_numbers(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    done = coind(capsys, *words)
    assert done.status == 2
    same_as_golden(done.err)


@pytest.mark.parametrize(
    ("name", "text"),
    [
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
def test_a_refused_value_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    monkeypatch.setenv(name, text)
    same_as_golden(refused("run"))


def test_contradictions_are_named_by_their_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COIND_QUIET", "1")
    same_as_golden(refused("run", "--verbose"))
    file = tmp_path / "options.toml"
    file.write_text("verbose = true\n")
    same_as_golden(refused("run", "--config", file))
    same_as_golden(refused("run", "--quiet", "--config", file))
    assert sources.name_sources("--verbose, not --verbosely") == f"verbose in {file}, not --verbosely"


def test_a_mistyped_variable_is_named(caplog: pytest.LogCaptureFixture, started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("COIND_HTPP", "COIND_chain", "COIND_URL", "COIND_KEY", "COIND", "COIND_CONFIG", "COIND_UNTIL", "COIND_SERVICE_HOST", "HTPP")
    for name in (*names, "COIND_PORT_8090_TCP_ADDR", "COIND_EXPORT_CHAIN"):
        monkeypatch.setenv(name, "")
    with caplog.at_level(logging.WARNING):
        started("run")
    told = {record.values["variable"]: record.values["nearest"] for record in caplog.records}  # type: ignore[attr-defined]
    assert told == {"COIND_HTPP": "COIND_HTTP", "COIND_chain": "COIND_CHAIN"}
    caplog.clear()
    monkeypatch.setenv("COIND_KEYS_CHIAN", "dev")
    with caplog.at_level(logging.WARNING):
        values(("keys",))
    assert [record.values["nearest"] for record in caplog.records] == ["COIND_KEYS_CHAIN"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text",
    [
        "ports = 1",
        'config = "x"',
        "snapshot_every = 1",
        'port = "9000"',
        "port = true",
        "port = 1.5",
        "port = 70000",
        "port = [1]",
        "witnesses = 0",
        'leap = "often"',
        "chain = 1",
        'chain = ["dev"]',
        "http2 = 1",
        'produce = "no"',
        'cors = "off"',
        "enable = [1]",
        "[run]\nport = 1",
        "[exprt]\nchain = 'dev'",
        "port = ",
        pytest.param("x = " + "[" * 5000, id="deep"),
        pytest.param("port = " + "9" * 5000, id="long"),
    ],
)
def test_what_a_file_may_not_say_is_refused_by_its_key(tmp_path: Path, text: str) -> None:
    file = tmp_path / "options.toml"
    file.write_text(text)
    with fails(CycloptsError):
        call("run", "--config", file)


@pytest.mark.parametrize(
    "text", ["keys = 1", "[keys]\nchan = 'dev'", "[snapshot]\ndiff = 1", "[snapshot]\ndata = 'x'", "[keys]\nchain = 1"]
)
def test_a_table_of_a_command_is_checked_by_that_command(tmp_path: Path, started: Started, text: str) -> None:
    file = tmp_path / "options.toml"
    file.write_text(text)
    with fails(CycloptsError):
        values(("snapshot", "diff") if "snapshot" in text else ("keys",), "--config", str(file))
    if "keys = " not in text:
        started("run", "--config", file)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"#" * (1 << 20) + b"\n")
    (tmp_path / "latin").write_bytes(b'chain = "\xe9"')
    for name in ("nothing", "large", "latin"):
        with fails(CycloptsError):
            call("run", "--config", tmp_path / name)


def test_the_help_is_shown_whatever_the_variables_say(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COIND_PORT", "x")
    done = coind(capsys, "run", "--help")
    assert done.status == 0
    assert "COIND_HTTP" in done.out
