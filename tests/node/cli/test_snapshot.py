"""The commands of `coind snapshot`, from the command line to their output."""

import re
from pathlib import Path

import pytest
from msgspec import structs

from node.cli.app import app
from node.runtime.errors import NodeError
from node.snapshots.file import Snapshot, SnapshotError
from node.snapshots.folder import has_positions
from node.specs.builder import load_spec
from node.storage.blocklog import LOG_NAME
from node.storage.disk import SystemDisk
from tests.helpers.golden import fails, same_as_golden
from tests.helpers.nodes import case_log
from tests.node.snapshots.test_file import rewritten

CASE, CHAIN = "tx_validity", ("--chain", "steem-testnet")


def coind(*words: str | Path) -> object:
    """Run a command line, and return the exit status."""
    return app([str(word) for word in ("snapshot", *words)], result_action="return_value", exit_on_error=False)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the recorded blocks of a test case, and a snapshot of them."""
    folder = tmp_path_factory.mktemp("data")
    (folder / LOG_NAME).write_bytes(case_log(CASE).read_bytes())
    assert coind("save", "--data", folder, *CHAIN) == 0
    return folder


def only(folder: Path) -> Path:
    """Return the only snapshot in a folder."""
    (found,) = (folder / "snapshots").glob("*.snapshot") if (folder / "snapshots").exists() else folder.glob("*.snapshot")
    return found


def shown(text: str) -> dict[str, str]:
    return {line[:12].strip(): line[12:] for line in text.splitlines()}


def test_list_shows_block_id_and_digest(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert coind("list", "--data", data) == 0
    lines = shown(capsys.readouterr().out)
    number, block_id, _ = lines["block"].split()
    assert only(data).name == f"{int(number):010}-{block_id}.snapshot"
    assert len(lines["digest"]) == 64


def test_list_takes_nothing_of_a_file_as_a_command_or_a_time(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "snapshots"
    folder.mkdir()
    source = only(data)
    head = Snapshot(source, SystemDisk()).head
    title = "\x1b]0;owned\x07\nx"
    for program, time, said in ((title, 0, "coind \\x1b]0;owned\\x07\\nx"), ("0", 10**18, "unusable    "), ("0", 1 << 62, "unusable    ")):
        rewritten(source, folder / source.name, program=program, head=structs.replace(head, time=time))
        assert coind("list", "--data", tmp_path) == 0
        shown = capsys.readouterr().out
        assert said in shown
        assert shown.replace("\n", "").isprintable()


def test_verify_compares_with_a_replay(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert coind("verify", "--data", data, "--replay", *CHAIN) == 0
    assert len(shown(capsys.readouterr().out)["digest"]) == 64


def test_a_damaged_one_is_named_and_counted(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged = bytearray(only(data).read_bytes())
    damaged[1000] ^= 1
    (tmp_path / "damaged").write_bytes(damaged)
    assert coind("verify", tmp_path / "damaged", *CHAIN) == 1
    same_as_golden(capsys.readouterr().err)


def test_a_folder_can_be_made_of_one_file(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert coind("save", "--data", data, "--to", tmp_path / "given", "--with-blocks", *CHAIN) == 0
    given, new = only(tmp_path / "given"), tmp_path / "new"
    assert coind("load", given, "--data", new, *CHAIN) == 0
    assert "with blocks" in capsys.readouterr().out
    log = (new / LOG_NAME).read_bytes()
    assert (data / LOG_NAME).read_bytes().startswith(log)
    assert len(log) > 1000
    # The installed snapshot is intact and has the same state, and a node can use the folder.
    assert coind("verify", "--data", new, "--replay", *CHAIN) == 0
    assert coind("diff", given, only(data), *CHAIN) == 0
    assert coind("save", "--data", new, *CHAIN) == 0


def test_without_blocks_it_needs_a_log_that_has_them(data: Path, tmp_path: Path) -> None:
    with fails(NodeError):
        coind("load", only(data), "--data", tmp_path / "new", *CHAIN)
    assert not list(tmp_path.glob("new/snapshots/*"))


def test_a_log_that_nobody_has_checked_is_not_adopted(data: Path, tmp_path: Path) -> None:
    (tmp_path / LOG_NAME).write_bytes((data / LOG_NAME).read_bytes())
    with fails(NodeError):
        coind("load", only(data), "--data", tmp_path, *CHAIN)


def test_diff_shows_rows_and_fields(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shorter = tmp_path / "shorter"
    shorter.mkdir()
    log = case_log(CASE).read_bytes()
    (shorter / LOG_NAME).write_bytes(log[: len(log) * 3 // 4])
    assert coind("save", "--data", shorter, *CHAIN) == 0
    capsys.readouterr()
    assert coind("diff", only(shorter), only(data), "--rows", "2", *CHAIN) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("state/global_properties: ") for line in lines)
    assert any(line.startswith("  0.head_block_number: ") for line in lines)
    assert any(re.fullmatch("  0.head_block_id: [0-9a-f]{40} [|] [0-9a-f]{40}", line) for line in lines)
    assert any(re.search("only in the second: .*block_id [0-9a-f]{40}", line) for line in lines)


def test_diff_compares_positions_of_texts_with_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / LOG_NAME).write_bytes(case_log("walk_random").read_bytes())
    assert coind("save", "--data", tmp_path, *CHAIN) == 0
    assert coind("save", "--data", tmp_path, "--to", tmp_path / "given", *CHAIN) == 0
    given = only(tmp_path / "given")
    assert [has_positions(path, SystemDisk()) for path in (only(tmp_path), given)] == [True, False]
    capsys.readouterr()
    assert coind("diff", given, only(tmp_path), *CHAIN) == 0
    (tmp_path / LOG_NAME).unlink()
    assert coind("diff", only(tmp_path), only(tmp_path), *CHAIN) == 0
    with fails(SnapshotError):
        coind("diff", given, only(tmp_path), *CHAIN)


@pytest.mark.parametrize(
    "words",
    [
        ("verify",),
        ("verify", "FILE", "--replay"),
        ("verify", "--data", "EMPTY"),
        ("list", "--data", "ABSENT"),
        ("list", "--data", ""),
        ("load", "FILE", "--data", "", *CHAIN),
        ("save", "--data", "ABSENT"),
        ("load", "FILE", "--data", "EMPTY"),
        ("diff", "FILE", "ABSENT", *CHAIN),
    ],
)
def test_a_mistake_is_explained(data: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "empty").mkdir()
    places = {"FILE": only(data), "EMPTY": tmp_path / "empty", "ABSENT": tmp_path / "absent"}
    with fails(NodeError):
        coind(*(places.get(word, word) for word in words))
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_list_of_several_has_a_line_between_them(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "snapshots").mkdir()
    for name in ("0000000001", "0000000002"):
        (tmp_path / "snapshots" / f"{name}-{'0' * 40}.snapshot").write_bytes(only(data).read_bytes())
    assert coind("list", "--data", tmp_path) == 0
    parts = capsys.readouterr().out.split("\n\n")
    assert [part.count("digest") for part in parts] == [1, 1]


def test_an_empty_list_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert coind("list", "--data", tmp_path) == 0
    same_as_golden(capsys.readouterr().out)
    assert load_spec("dev").name == "dev"
