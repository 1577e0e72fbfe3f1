"""The command `coind export`, from the command line to its output."""

import json
from pathlib import Path

import pytest

from node.runtime.errors import Status
from tests.conftest import CASES
from tests.helpers.commands import coind
from tests.helpers.golden import same_as_golden

LOG = str(CASES / "rewards" / "block_log")


def test_an_export_by_its_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("export", LOG, "--chain", "steem-testnet", "--to", ".", "--verify", "none", "--tables", "accounts@50,comments")
    planned = coind(capsys, *words, "--dry")
    assert (planned.status, planned.out) == (0, "blocks 1 to 105: to do\n")
    assert not any(tmp_path.iterdir())
    done = coind(capsys, *words)
    assert done.status == 0
    assert done.out.startswith("blocks 1 to 105: ")
    assert sorted(path.name for path in tmp_path.glob("tables/*/*")) == ["at=0000000050", "at=0000000100", "at=0000000105", "at=0000000105"]


def test_tables_of_chosen_accounts_at_each_day(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--to", str(tmp_path), "--verify", "none", "--tables", "account_summaries@1d,accounts@50,accounts@6h", "--accounts", "ada")
    assert coind(capsys, "export", LOG, "--chain", "steem-testnet", *words).status == 0
    manifest = json.loads((tmp_path / "manifest.json").read_bytes())
    assert manifest["options"]["tables"] == {"account_summaries": 0, "accounts": 50}
    assert manifest["options"]["seconds"] == {"account_summaries": 86_400, "accounts": 21_600}
    assert manifest["options"]["accounts"] == ["ada"]


@pytest.mark.parametrize(
    "words",
    [
        ("--only", "vote,,transfer"),
        ("--tables", "accounts@x"),
        ("--tables", "account_sumaries@1d"),
        ("--accounts", "ada"),
        ("--chunk", "0"),
        ("--blocks", "7"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    done = coind(capsys, "export", LOG, "--chain", "steem-testnet", "--to", str(tmp_path), *words)
    assert done.status == Status.REFUSED
    same_as_golden(done.err)


@pytest.mark.parametrize(
    "words", [(), (LOG, "--follow", "http://127.0.0.1:1"), ("--follow", "ftp://x"), ("--follow", "nats://127.0.0.1:1")]
)
def test_the_blocks_come_from_a_source_or_a_node(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    done = coind(capsys, "export", "--to", str(tmp_path), *words)
    assert done.status == Status.REFUSED
    same_as_golden(done.err)
