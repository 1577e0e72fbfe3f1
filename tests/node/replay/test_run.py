"""Complete replays: start and end, files that they leave on the disk, refused blocks and the errors for them."""

import fcntl
import gzip
import re
import subprocess
import sys
from pathlib import Path

import pytest

from node.app.settings import Settings
from node.history.apply import BlockPoint, BlockRefused
from node.history.sources import open_source
from node.replay.run import PARTS, Replay, replay_file
from node.runtime.errors import NodeError, Status
from node.snapshots.folder import block_of, paths
from node.specs.builder import load_spec
from node.storage.blockfile import BlockFile
from node.storage.disk import SystemDisk
from node.storage.frames import walk_back
from state.protocol.transaction import SignedBlock
from tests.conftest import ROOT
from tests.helpers.golden import fails
from tests.helpers.log_capture import capture_logs
from tests.helpers.nodes import case_log, case_wire, json_lines

SPEC = load_spec("steem-testnet")
LOG = case_log("rewards")
LAST = 105


@pytest.fixture
def result(capsys: pytest.CaptureFixture[str]) -> "Result":
    """An object that runs replays and captures their output."""
    return Result(capsys)


class Result:
    """Runs replays, and parses the head and the digest that they print."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def of(
        self,
        source: Path = LOG,
        *,
        data: Path | None = None,
        every: int = 0,
        chain: str = "steem-testnet",
        workers: int = 0,
        **task: object,
    ) -> tuple[int, str]:
        settings = Settings(spec=load_spec(chain), plugins=(), data=data, snapshot_every=every, workers=workers)
        try:
            assert replay_file(settings, Replay(source=source, **task)) == Status.DONE  # type: ignore[arg-type]
        finally:
            self.printed = self._capsys.readouterr().out
        return self.last()

    def read(self) -> str:
        """Return what was printed since the last call."""
        return self._capsys.readouterr().out

    def last(self) -> tuple[int, str]:
        """Return the head and the digest that were printed last, also after a failed replay."""
        found = re.search(r"^head block (\d+) .*\n.*\nstate digest: ([0-9a-f]{64})$", self.printed, re.MULTILINE)
        assert found is not None, self.printed
        return int(found[1]), found[2]


@pytest.fixture(scope="module")
def blocks() -> list[SignedBlock]:
    """The blocks of the recorded test case."""
    return list(BlockFile(LOG, case_wire()))


@pytest.fixture
def snapshots(tmp_path: Path, result: Result) -> list[Path]:
    """Snapshots that a replay has saved every 20 blocks, oldest first."""
    result.of(snapshots=tmp_path / "snapshots", every=20)
    return paths(tmp_path / "snapshots", SystemDisk())[::-1]


def test_snapshots_are_taken_at_the_same_blocks_each_time(snapshots: list[Path]) -> None:
    assert [block_of(path) for path in snapshots] == [20, 40, 60, 80]


@pytest.mark.parametrize("workers", [0, 1])  # with workers, the blocks are read before they are applied
def test_snapshots_can_divide_a_file_into_equal_parts(workers: int, tmp_path: Path, result: Result) -> None:
    whole = result.of(snapshots=tmp_path, is_divided=True, workers=workers)
    found = paths(tmp_path, SystemDisk())[::-1]
    assert len(found) == PARTS - 1
    # A snapshot is of an irreversible block, up to 21 blocks before the end of a part.
    starts = block_starts(LOG)
    for path, size in zip(found, range(starts[-1] // PARTS, starts[-1], starts[-1] // PARTS), strict=False):
        assert starts[block_of(path)] <= size < starts[block_of(path) + 22]
    assert result.of(start=found[0]) == whole


def test_a_warning_says_why_no_snapshot_was_saved(tmp_path: Path, result: Result) -> None:
    (tmp_path / "packed").write_bytes(gzip.compress(LOG.read_bytes()))
    for source, reason in ((tmp_path / "packed", "compressed"), (LOG, ""), (tmp_path / "packed", "it has one of block")):
        with capture_logs() as logged:
            result.of(source, snapshots=tmp_path / "snapshots", is_divided=True)
        found = [line["reason"] for line in logged if line["log_level"] == "warning"]
        assert [reason in each for each in found] == ([True] if reason else [])


def block_starts(log: Path) -> list[int]:
    """Return the positions of all blocks in a block log, and its size."""
    file = SystemDisk().open_to_read(log)
    starts = walk_back(file, file.size())
    assert starts is not None
    return [*starts, file.size()]


def test_a_replay_from_a_snapshot_leads_to_the_same_state(
    snapshots: list[Path], result: Result, tmp_path: Path, blocks: list[SignedBlock]
) -> None:
    whole = result.of()
    for path in snapshots:
        assert result.of(start=path) == whole
    assert f"{LAST - 80} blocks" in result.printed
    # Only the blocks after the snapshot are needed, in any format.
    (tmp_path / "after").write_bytes(json_lines(case_wire(), blocks[80:]))
    assert result.of(tmp_path / "after", start=snapshots[-1]) == whole
    with fails(NodeError):
        result.of(start=snapshots[-1], until=BlockPoint(79))
    assert result.of(start=snapshots[-1], until=BlockPoint(80))[0] == 80


def test_blocks_that_begin_late_are_refused(snapshots: list[Path], result: Result, tmp_path: Path, blocks: list[SignedBlock]) -> None:
    (tmp_path / "late").write_bytes(json_lines(case_wire(), blocks[81:]))
    for start, first in ((None, 1), (snapshots[-1], 81)):
        with pytest.raises(BlockRefused) as refused:
            result.of(tmp_path / "late", start=start)
        assert refused.value.number == 82
        assert refused.value.reason.endswith(f"the blocks from {first} on")


def test_an_end_beyond_the_end_is_an_error(result: Result) -> None:
    for until in (BlockPoint(106), BlockPoint(106, 0), BlockPoint(1_000_000)):
        with fails(NodeError):
            result.of(until=until)
        assert result.last()[0] == LAST
    assert result.of(until=BlockPoint(LAST))[0] == LAST


def test_a_replay_can_end_within_a_block(result: Result, blocks: list[SignedBlock]) -> None:
    block = next(block for block in blocks if len(block.transactions) > 1)
    head, digest = result.of(until=BlockPoint(block.number, 1))
    assert head == block.number - 1
    assert f", in block {block.number} after transaction 1\n" in result.printed
    assert digest != result.of(until=BlockPoint(block.number - 1))[1]


def test_a_checkpoint_refuses_another_block_at_once(result: Result, blocks: list[SignedBlock], snapshots: list[Path]) -> None:
    assert result.of(checkpoints={50: blocks[49].id})[0] == LAST
    other = blocks[49].id[:-1] + b"\0"
    with fails(BlockRefused):
        result.of(checkpoints={50: other})
    assert result.last()[0] == 49
    with fails(BlockRefused):
        result.of(start=snapshots[-1], checkpoints={80: blocks[79].id[:-1] + b"\0"})


def test_damage_is_not_reported_as_another_chain(result: Result, tmp_path: Path, blocks: list[SignedBlock]) -> None:
    (tmp_path / "log").write_bytes(LOG.read_bytes()[:400])
    with pytest.raises(BlockRefused) as refused:
        result.of(tmp_path / "log")
    assert "--chain" not in str(refused.value)


# ------------------------------------------------------------------ what is kept


def test_a_replay_fills_the_data_folder(tmp_path: Path, result: Result, blocks: list[SignedBlock]) -> None:
    data = tmp_path / "data"
    half = result.of(data=data, every=10, until=BlockPoint(70))
    assert result.of(data, until=BlockPoint(70)) == half
    assert [block_of(path) for path in paths(data / "snapshots", SystemDisk())] == [49, 40, 30]
    # The next replay continues there, and adds no block twice.
    whole = result.of(data=data, every=10)
    assert whole == result.of()
    result.of(data=data)
    assert "0 blocks, 0 transactions" in result.printed
    assert (data / "block_log").read_bytes() == LOG.read_bytes()
    source = open_source(data, case_wire())
    assert sum(1 for _ in source) == LAST
    source.close()
    assert len(paths(data / "snapshots", SystemDisk())) <= 3


def test_blocks_of_another_branch_are_not_added(tmp_path: Path, result: Result, blocks: list[SignedBlock]) -> None:
    result.of(data=tmp_path / "data", until=BlockPoint(70))
    (tmp_path / "late").write_bytes(json_lines(case_wire(), blocks[80:]))
    with fails(BlockRefused):
        result.of(tmp_path / "late", data=tmp_path / "data")
    assert result.of(data=tmp_path / "data") == result.of()


def test_standard_input_and_folders_are_sources(tmp_path: Path, result: Result, blocks: list[SignedBlock]) -> None:
    whole = result.of()
    (tmp_path / "2").write_bytes(json_lines(case_wire(), blocks[:33]))
    (tmp_path / "1").write_bytes(json_lines(case_wire(), blocks[33:]))
    assert result.of(tmp_path) == whole
    command = [sys.executable, "-m", "node", "replay", "-", "--chain", "steem-testnet"]
    with LOG.open("rb") as file:
        ran = subprocess.run(command, stdin=file, capture_output=True, cwd=ROOT, check=True, text=True)
    assert f"state digest: {whole[1]}" in ran.stdout
    nothing = subprocess.run(command, input="", capture_output=True, cwd=ROOT, check=False, text=True)
    assert (nothing.returncode, nothing.stderr) == (Status.REFUSED, "coind: -: no blocks. Check the program that writes them.\n")


def test_the_digest_of_what_methods_show_is_the_same_from_a_snapshot(result: Result, snapshots: list[Path]) -> None:
    whole = re.search(r"^shown digest: ([0-9a-f]{64})$", printed(result), re.MULTILINE)
    assert whole is not None
    assert printed(result, start=snapshots[2]).endswith(f"\nshown digest: {whole[1]}\n")
    assert whole[1] != result.of()[1]


def printed(result: Result, **task: object) -> str:
    """Return what a replay prints with the digest of what methods show."""
    settings = Settings(spec=load_spec("steem-testnet"), plugins=())
    assert replay_file(settings, Replay(source=LOG, digest="shown", **task)) == Status.DONE  # type: ignore[arg-type]
    return result.read()


def test_a_signal_ends_a_replay_that_waits_for_blocks() -> None:
    command = [sys.executable, "-m", "node", "replay", "-", "--chain", "steem-testnet"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        # More than the pipe's buffer. When all of it is written, the replay is reading, and so handles signals already.
        fcntl.fcntl(process.stdin, fcntl.F_SETPIPE_SZ, 4096)
        process.stdin.write(LOG.read_bytes()[: 3 * 4096])
        process.stdin.flush()
        process.terminate()
        assert process.wait() == Status.INTERRUPTED
        assert process.stdout.read().startswith(b"head block ")
