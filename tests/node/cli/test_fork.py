"""`coind fork`: the file that it makes of a source, its changes, and the arguments that it refuses."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from node.app.local_chain import LocalChain
from node.client.dev_api import CallRefused
from node.fork.complete import lockstep
from node.fork.file import ForkFile, read_fork
from node.snapshots.base import new_chain
from state.chain.invariants import validate_invariants
from state.plugins.registry import PLUGINS
from state.protocol.constants import COIN_BLOCK_INTERVAL, DAY_SECONDS
from tests.fork.sources import SourceNode
from tests.fork.town import town
from tests.helpers.commands import coind
from tests.helpers.golden import same_as_golden
from tests.node.cli.conftest import Started, refused

NAMES = ("alice", "bob", "kim", "olivia", "quentin", "victor")


@pytest.fixture(scope="module")
def source() -> SourceNode:
    return SourceNode(town(), "coind")


@pytest.fixture(scope="module")
def url(source: SourceNode) -> Iterator[str]:
    with source.listening() as listening:
        yield listening


@pytest.fixture(autouse=True)
def source_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a complete copy not wait for further blocks, which the source doesn't make."""
    monkeypatch.setattr(lockstep, "QUIET_SECONDS", 0)


def forked(capsys: pytest.CaptureFixture[str], *words: str | Path) -> ForkFile:
    """Run `coind fork`, and read the file that it has written."""
    done = coind(capsys, "fork", *map(str, words))
    assert done.status == 0, done.err
    path = words[words.index("--to") + 1] if "--to" in words else words[0]
    return read_fork(Path(path))


def test_a_fork_file_has_the_accounts_that_were_asked_for(capsys: pytest.CaptureFixture[str], url: str, tmp_path: Path) -> None:
    path = tmp_path / "f"
    fork = forked(capsys, url, "--accounts", ",".join(NAMES), "--accounts", "nobody.there", "--to", path)
    assert fork.origin.accounts == (*NAMES, "nobody.there")
    assert fork.origin.source == url
    assert "the source has no account nobody.there" in fork.origin.notes
    assert fork.origin.counts["accounts"] >= len(NAMES)
    chain = LocalChain(fork=path)
    validate_invariants(chain.chain.state)
    chain.broadcast("transfer", {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": ""})
    for operation in (
        ("transfer", {"from": "alice", "to": "zoe", "amount": "1.000 COIN", "memo": ""}),
        ("vote", {"voter": "alice", "author": "bob", "permlink": "none", "weight": 1}),
    ):
        with pytest.raises(CallRefused) as error:
            chain.broadcast(*operation)
        same_as_golden(error.value.what_to_do)


def test_a_fork_file_describes_itself(capsys: pytest.CaptureFixture[str], url: str, tmp_path: Path) -> None:
    path = tmp_path / "f"
    forked(capsys, url, "--accounts", "alice", "--to", path)
    done = coind(capsys, "fork", str(path))
    assert done.status == 0
    assert [line.split("  ")[0] for line in done.lines][:6] == ["fork file", "source", "block", "chain id", "keys", "accounts"]


def test_further_accounts_are_added_at_the_same_block(
    capsys: pytest.CaptureFixture[str], source: SourceNode, url: str, tmp_path: Path
) -> None:
    path = tmp_path / "f"
    before = forked(capsys, url, "--accounts", "alice", "--to", path)
    added = forked(capsys, path, "--add", "--accounts", "bob")
    assert added.origin.accounts == ("alice", "bob")
    assert added.spec.base.block_id == before.spec.base.block_id
    assert added.spec.chain_id == before.spec.chain_id
    assert added.origin.counts["accounts"] > before.origin.counts["accounts"]
    assert forked(capsys, path, "--add", "--accounts", "bob").origin.counts == added.origin.counts
    LocalChain(fork=path).broadcast("transfer", {"from": "bob", "to": "alice", "amount": "1.000 COIN", "memo": ""})


def test_a_refreshed_file_has_the_same_names_at_another_block(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    chain, path = LocalChain(blocks="manual"), tmp_path / "f"
    with SourceNode(chain, "coind").listening() as url:
        before = forked(capsys, url, "--accounts", "alice,bob", "--keys", "keep", "--witnesses", "1", "--to", path)
        chain.mine(5)
        after = forked(capsys, url, "--refresh", "--to", path)
        assert after.origin.number == before.origin.number + 5
        assert after.origin.accounts == before.origin.accounts
        assert (after.origin.keys, after.origin.witnesses) == ("kept", 1)
        # The file names its source.
        assert forked(capsys, path, "--refresh", "--keys", "derive").origin.keys == "derived"


def test_a_chain_id_is_kept_only_on_request(capsys: pytest.CaptureFixture[str], source: SourceNode, url: str, tmp_path: Path) -> None:
    fork = forked(capsys, url, "--chain-id", "keep", "--to", tmp_path / "f")
    assert fork.spec.chain_id == source.spec.chain_id
    assert forked(capsys, url, "--to", tmp_path / "g").spec.chain_id != source.spec.chain_id


def test_a_complete_copy_can_have_keys_and_witnesses_of_its_own(
    capsys: pytest.CaptureFixture[str], source: SourceNode, url: str, tmp_path: Path
) -> None:
    path = tmp_path / "f"
    fork = forked(capsys, url, "--all", "--witnesses", "1", "--to", path)
    assert (fork.origin.is_complete, fork.origin.keys, fork.origin.witnesses) == (True, "derived", 1)
    assert fork.spec.chain_id != source.spec.chain_id
    chain = LocalChain(fork=path)
    here, there = chain.chain.state, source.chain.state
    assert [account.name for account in here.accounts] == [account.name for account in there.accounts]
    assert len(here.comments) == len(there.comments)
    chain.broadcast("transfer", {"from": "ivan", "to": "judy", "amount": "1.000 COIN", "memo": ""})
    chain.advance(10 * DAY_SECONDS)
    validate_invariants(here)
    assert forked(capsys, path, "--refresh").origin == fork.origin
    exact = forked(capsys, url, "--all", "--to", tmp_path / "g")
    assert (exact.spec.chain_id, exact.origin.keys) == (source.spec.chain_id, "kept")


def test_keys_of_a_fork_are_printed(capsys: pytest.CaptureFixture[str], url: str, tmp_path: Path) -> None:
    path = tmp_path / "f"
    forked(capsys, url, "--accounts", "alice", "--to", path)
    done = coind(capsys, "keys", "alice", "--fork", str(path))
    assert done.lines[4].split()[-1] == LocalChain(fork=path).accounts["alice"].active.private
    same_as_golden(refused("keys", "alice", "--fork", "http://127.0.0.1:1"))


def test_run_starts_with_the_file(capsys: pytest.CaptureFixture[str], started: Started, url: str, tmp_path: Path) -> None:
    path = tmp_path / "f"
    fork = forked(capsys, url, "--accounts", "alice", "--to", path)
    settings = started("run", "--fork", path)
    assert (settings.spec, settings.origin, settings.is_producing) == (fork.spec, fork.origin, True)
    # Not at the machine's time, at which the posts of an old file are paid and its prices are old.
    assert settings.time == fork.origin.time + COIN_BLOCK_INTERVAL
    assert started("run", "--fork", path, "--time", "1900000000").time == 1_900_000_000
    assert started("run", "--fork", path, "--fetch").time is None
    for words in (("--chain", "dev"), ("--witnesses", "1"), ("--accounts", "1"), ("--main-chain-id",)):
        same_as_golden(refused("run", "--fork", path, *words))


@pytest.mark.parametrize(
    "words",
    [
        ("none",),
        ("URL",),
        ("URL", "--to", "taken"),
        ("URL", "--to", "f", "--add"),
        ("URL", "--to", "taken", "--add"),
        ("taken", "--accounts", "alice"),
        ("URL", "--to", "f", "--accounts", "Alice"),
        ("URL", "--to", "f", "--posts", "alice"),
        ("URL", "--to", "f", "--posts", "10001"),
        ("URL", "--to", "f", "--requests-per-second", "0"),
        ("URL", "--to", "taken", "--add", "--refresh"),
        ("URL", "--to", "taken", "--add", "--keys", "keep"),
        ("http://x y", "--to", "f"),
        ("URL", "--to", "f", "--all", "--accounts", "alice"),
    ],
)
def test_arguments_that_contradict_each_other_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("not a fork file")
    same_as_golden(refused("fork", *("http://127.0.0.1:1" if word == "URL" else word for word in words)))


def test_a_complete_copy_keeps_the_chain(capsys: pytest.CaptureFixture[str], source: SourceNode, url: str, tmp_path: Path) -> None:
    path = tmp_path / "f"
    fork = forked(capsys, url, "--all", "--to", path)
    assert (fork.spec.chain_id, fork.origin.is_complete, fork.origin.keys) == (source.spec.chain_id, True, "kept")
    assert fork.origin.counts["accounts"] == len(source.chain.state.accounts)
    assert not (tmp_path / "f.pages").exists()
    chain = new_chain(fork.spec, path, PLUGINS)
    assert {row.name for row in chain.state.accounts} == {row.name for row in source.chain.state.accounts}
    validate_invariants(chain.state)
    assert forked(capsys, path, "--refresh").origin.is_complete
    same_as_golden(refused("fork", path, "--add", "--accounts", "alice"))
