"""The options of `run` and `replay`: the node settings that result from them, alone and combined, and the combinations that are refused."""

import subprocess
import sys
from pathlib import Path

import pytest
from cyclopts import ValidationError

from node.cli import run_options
from node.cli.app import app
from node.cli.run_options import start_time
from node.devchain.block_modes import BlockMode, block_mode
from node.runtime.address import Address
from node.runtime.errors import NodeError
from state.protocol.constants import MAIN_CHAIN_ID
from tests.conftest import ROOT
from tests.helpers.golden import fails, same_as_golden
from tests.helpers.nodes import DEV
from tests.node.cli.conftest import Started, refused

# ------------------------------------------------------------------ options


def test_without_options_the_settings_are_the_defaults(started: Started) -> None:
    settings = started("run")
    assert (settings.http, settings.blocks, settings.time, settings.leap) == (Address("127.0.0.1", 8090), BlockMode(), None, "missed")
    assert (settings.witnesses, settings.accounts, settings.is_producing, settings.spec.name) == (None, None, True, "dev")


def test_accounts_are_created_in_blocks_where_a_node_makes_them(started: Started) -> None:
    follow = ("--follow", "http://127.0.0.1:1")
    for words, expected in (((), True), (("--no-produce",), False), (follow, True), ((*follow, "--no-produce"), False)):
        assert started("run", *words).spec.genesis.accounts_in_blocks == expected


def test_the_chain_id_of_the_public_network_needs_its_option(started: Started, tmp_path: Path) -> None:
    path = tmp_path / "zeros.toml"
    path.write_text(f'base = "mainnet-like"\nchain_id = "{"0" * 64}"\n')
    for chain in ("mainnet-like", path):
        assert started("run", "--chain", chain, "--main-chain-id").spec.chain_id == MAIN_CHAIN_ID
    assert started("run", "--chain", "mainnet-like").spec.chain_id != MAIN_CHAIN_ID
    same_as_golden(refused("run", "--chain", path))
    # A chain that this node can't make blocks of has the id from its spec.
    assert started("run", "--chain", "steem-mainnet").spec.chain_id == MAIN_CHAIN_ID
    same_as_golden(refused("run", "--chain", "steem-mainnet", "--main-chain-id"))
    path.write_text(f'base = "steem-mainnet"\nwitness_keys = ["{DEV.witness_keys[0]}"]\n')
    same_as_golden(refused("run", "--chain", path))


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
    proxy = ("--proxy", "10.0.0.0/8", "--disable", "all", "--enable", "rc")
    for command in (("run",), ("replay", "file", "--serve", "127.0.0.1:0")):
        settings = started(*command, *words, *proxy)
        assert (settings.spec.name, settings.origins, settings.check_invariants) == ("testnet", ("http://x",), 7)
        assert settings.is_http2
        assert [str(network) for network in settings.proxies] == ["10.0.0.0/8"]
        assert settings.is_debug_allowed
        assert settings.announcer.shows_keys
        assert settings.plugins == ("rc",)


def test_workers(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_options, "default_workers", lambda: 2)
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
    same_as_golden(refused("run", "--quiet", "--verbose"))
    same_as_golden(refused("run", "--quiet", "--log-level", "info"))


# ------------------------------------------------------------------ following


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


# ------------------------------------------------------------------ the program itself


def test_a_shell_is_given_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert app(["completion", "bash"], result_action="return_value") == 0
    assert "coind" in capsys.readouterr().out


def test_the_version_is_written_without_loading_the_commands() -> None:
    code = (
        "import sys, node.__main__ as program; sys.argv[1:] = ['--version']; program.main(); print({'cyclopts', 'trio'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0].startswith("coind ")
    assert done.stdout.splitlines()[1:] == ["set()"]
