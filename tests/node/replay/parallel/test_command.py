"""Verification by ranges: it reaches the same state as a single replay, and finds each error in the range that contains it."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
import trio

from node.app.context import NodeContext
from node.app.settings import Settings
from node.history.apply import BlockPoint
from node.replay.parallel.command import verify_in_parallel
from node.replay.parallel.local import verify_locally
from node.replay.parallel.range_progress import RangeProgress
from node.replay.parallel.ranges import Range, RangeResult, belong_to, ranges_of, verify_range
from node.replay.run import Replay, replay_file
from node.runtime.errors import FileError, NodeError, StateError, Status
from node.snapshots.file import IncompatibleSnapshot
from node.snapshots.folder import load, paths, write
from node.specs.builder import load_spec
from node.storage.disk import SystemDisk
from tests.conftest import ROOT
from tests.helpers.golden import fails, same_as_golden
from tests.helpers.nodes import case_log

LOG = case_log("rewards")
SPEC = load_spec("steem-testnet")
CHAIN = "steem-testnet"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the snapshots of a complete replay."""
    folder = tmp_path_factory.mktemp("whole") / "snapshots"
    replay_file(Settings(spec=SPEC, plugins=(), snapshot_every=40), Replay(source=LOG, snapshots=folder))
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy of the folder of snapshots, which the test can change."""
    made = tmp_path / "snapshots"
    made.mkdir()
    for path in whole.iterdir():
        (made / path.name).write_bytes(path.read_bytes())
    return made


def test_ranges_lead_to_the_state_of_a_single_replay(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replay_file(Settings(spec=SPEC, plugins=()), Replay(source=LOG))
    head, _, digest = capsys.readouterr().out.splitlines()
    assert verify_in_parallel(LOG, CHAIN, folder, "2", is_trusted=False) == 0
    *ranges, one, _, other = capsys.readouterr().out.splitlines()
    assert (one, other) == (head, digest)
    assert [line.split(": ")[1] for line in ranges] == ["blocks 1 to 40", "blocks 41 to 80", "blocks 81 to the end"]


def test_a_replay_checks_the_ranges_by_itself_if_the_folder_has_snapshots_of_the_file(folder: Path, tmp_path: Path) -> None:
    options = (LOG, "--chain", CHAIN, "--snapshots", folder)
    assert "range 3: blocks 81 to the end" in replayed(*options)
    digest = replayed(*options).splitlines()[-1]
    # A digest of another kind, the blocks of another chain, and a folder without snapshots need a replay.
    other = case_log("communities")
    for words in (
        (*options, "--digest", "shown"),
        (other, "--chain", CHAIN, "--snapshots", folder),
        (LOG, "--snapshots", tmp_path / "new"),
    ):
        assert "range" not in replayed(*words)
    assert digest in replayed(*options, "--until", "105")


def replayed(*words: object) -> str:
    """Run `coind replay` with these words, and return its output."""
    command = [str(ROOT / "bin/coind"), "replay", *map(str, words), "--quiet", "--workers", "0"]
    done: subprocess.CompletedProcess[str] = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout


def forge(folder: Path, place: int) -> None:
    """Change the state in a snapshot, and adapt the snapshot's digests to the change."""
    path = paths(folder, SystemDisk())[::-1][place]
    context = NodeContext(Settings(spec=SPEC, plugins=()))
    load(context.chain, path, SystemDisk()).finish()
    state = context.chain.state
    ada = state.account("ada")
    state.accounts.modify(ada, balance=ada.balance + 1)
    path.unlink()
    write(context.chain, folder, SystemDisk())


def outcomes(folder: Path, source: Path = LOG) -> list[RangeResult]:
    """Verify all ranges in this process, and return their results."""
    return [verify_range(part, lambda number: None) for part in ranges_of(source, CHAIN, folder, is_trusted=False)]


def test_a_differing_state_is_found_in_its_range(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forge(folder, 1)
    first, second, _ = outcomes(folder)
    assert first.failure == ""
    assert second.is_state
    same_as_golden(second.failure)
    with fails(StateError):
        verify_in_parallel(LOG, CHAIN, folder, "1", is_trusted=True)
    assert "range 1: blocks 1 to 40: " in capsys.readouterr().out


def test_a_damaged_snapshot_is_found(folder: Path) -> None:
    path = paths(folder, SystemDisk())[0]
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)
    first, second, third = outcomes(folder)
    assert (first.failure, second.failure) == ("", "")
    same_as_golden(third.failure)


def test_snapshots_of_other_rules_are_refused_before_a_range_begins(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("node.snapshots.folder.RULES", 1)
    with pytest.raises(IncompatibleSnapshot, match="other rules"):
        ranges_of(LOG, CHAIN, folder, is_trusted=False)
    assert not belong_to(folder, LOG, SPEC)


def test_a_damaged_block_is_found_in_its_range(folder: Path, tmp_path: Path) -> None:
    data = bytearray(LOG.read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "log").write_bytes(data)
    assert [bool(outcome.failure) for outcome in outcomes(folder, tmp_path / "log")].count(True) == 1
    with fails(FileError):
        verify_in_parallel(tmp_path / "log", CHAIN, folder, "2", is_trusted=False)


def test_missing_blocks_are_reported(folder: Path, tmp_path: Path) -> None:
    replay_file(Settings(spec=SPEC, plugins=(), data=tmp_path / "data"), Replay(source=LOG, until=BlockPoint(60)))
    first, second, third = outcomes(folder, tmp_path / "data")
    assert first.failure == ""
    same_as_golden(second.failure)
    assert (third.failure, third.number) == ("", 80)
    assert all("must lead to the same blocks on every machine" in each.failure for each in outcomes(folder, tmp_path / "none"))


@pytest.mark.parametrize("where", ["", "0", "-1", "ray", "ray:0", "ray://host", "x", "1000"])
def test_other_executors_are_refused(folder: Path, where: str) -> None:
    with fails(NodeError):
        verify_in_parallel(LOG, CHAIN, folder, where, is_trusted=False)


def test_missing_snapshots_and_files_are_refused(tmp_path: Path) -> None:
    with fails(NodeError):
        ranges_of(LOG, CHAIN, tmp_path, is_trusted=False)
    with fails(NodeError):
        ranges_of(Path("-"), CHAIN, tmp_path, is_trusted=False)


def test_a_signal_ends_all_processes(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    started: list[int] = []

    def begin(board: RangeProgress, place: int, process: int = 0) -> None:
        started.append(process)
        board.at[place] = 0
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(RangeProgress, "begin", begin)
    assert verify_in_parallel(LOG, CHAIN, folder, "1", is_trusted=True) == Status.INTERRUPTED
    assert capsys.readouterr().out.startswith("0 of 3 ranges done, ")
    assert len(started) == 1
    with pytest.raises(ProcessLookupError):
        os.kill(started[0], 0)


class Killer(RangeProgress):
    """Range progress that kills the process of the first range. It does so each of the first `times` times that this process starts."""

    def __init__(self, ranges: list[Range], times: int) -> None:
        super().__init__(ranges)
        self.left = times

    def begin(self, place: int, process: int = 0) -> None:
        super().begin(place, process)
        if place == 0 and self.left:
            self.left -= 1
            os.kill(process, signal.SIGKILL)


@pytest.mark.parametrize(("times", "said"), [(1, ""), (2, "its process ended 2 times without a result, the last time with status -9")])
def test_a_killed_process_is_retried(folder: Path, times: int, said: str) -> None:
    progress = Killer(ranges_of(LOG, CHAIN, folder, is_trusted=True)[:2], times)
    trio.run(verify_locally, progress.ranges, 2, progress)
    assert [progress.outcomes[place].failure for place in (0, 1)] == [said, ""]


def test_progress_shows_all_ranges_in_one_line(folder: Path) -> None:
    progress = RangeProgress(ranges_of(LOG, CHAIN, folder, is_trusted=True))
    progress.begin(0)
    progress.begin(2)
    progress.reach(0, 17)
    progress.end(1, RangeResult())
    same_as_golden(progress.line())
