"""Snapshot files: their digests cover every byte, and the error for an unusable file gives the reason."""

import random
from pathlib import Path

import msgspec
import pytest
import zstandard

from node.snapshots import file as file_module
from node.snapshots.file import MAGIC, START, CorruptSnapshot, IncompatibleSnapshot, Snapshot, SnapshotError, SnapshotWriter, digest_of
from node.snapshots.folder import load, save
from node.storage.disk import SystemDisk
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.genesis import new_state
from state.plugins.registry import enable
from tests.helpers.chains import genesis_spec
from tests.helpers.golden import fails
from tests.helpers.nodes import make_block

DISK = SystemDisk()


def fresh(plugins: tuple[str, ...] = ("tags", "account_history"), spec: str = "dev") -> Chain:
    return Chain(new_state(genesis_spec(spec), lambda state: enable(state, plugins)))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot file of a dev chain with two plugins."""
    chain = fresh()
    for _ in range(30):
        make_block(chain)
    return save(chain, tmp_path_factory.mktemp("snapshots"), DISK)


def test_a_snapshot_is_loaded(path: Path) -> None:
    chain = fresh()
    loaded = load(chain, path, DISK)
    assert state_digest(chain.state) == loaded.head.digest
    assert chain.head is not None
    assert (chain.head.number, chain.head.id.hex()) == (loaded.head.number, loaded.head.block_id)
    assert path.name == f"{loaded.head.number:010}-{loaded.head.block_id}.snapshot"


def test_a_chain_without_the_blocks_before_its_snapshot_returns_to_savepoints(path: Path) -> None:
    chain = fresh()
    genesis = chain.savepoint()
    loaded = load(chain, path, DISK)
    loaded.finish()
    now = chain.savepoint()
    for _ in range(30):
        make_block(chain)
    chain.restore(now)
    assert state_digest(chain.state) == loaded.head.digest
    chain.restore(genesis)
    assert chain.head is None


def checked(path: Path) -> None:
    """Open a snapshot file and check every byte of it."""
    opened = Snapshot(path, DISK)
    try:
        opened.check()
    finally:
        opened.close()


def test_every_flipped_bit_is_found(path: Path, tmp_path: Path) -> None:
    data, target = path.read_bytes(), tmp_path / "flipped"
    chance = random.Random(7)
    places = {*range(START.size), *range(len(data) - 48, len(data)), *(chance.randrange(len(data)) for _ in range(300))}
    for place in places:
        flipped = bytearray(data)
        flipped[place] ^= 1 << chance.randrange(8)
        target.write_bytes(flipped)
        with pytest.raises(CorruptSnapshot):
            checked(target)


def test_a_cut_or_lengthened_file_is_corrupt(path: Path, tmp_path: Path) -> None:
    data, target = path.read_bytes(), tmp_path / "cut"
    for size in (0, 1, 15, 16, 17, 100, len(data) // 2, len(data) - 1):
        target.write_bytes(data[:size])
        with pytest.raises(CorruptSnapshot):
            Snapshot(target, DISK)
    for more in (b"\0", data, bytes(4096)):
        target.write_bytes(data + more)
        with pytest.raises(CorruptSnapshot):
            Snapshot(target, DISK)


def test_swapped_pages_are_found(path: Path, tmp_path: Path) -> None:
    data, target = bytearray(path.read_bytes()), tmp_path / "swapped"
    data[100:400], data[500:800] = data[500:800], data[100:400]
    target.write_bytes(data)
    with pytest.raises(CorruptSnapshot):
        checked(target)


def rewritten(path: Path, target: Path, start: bytes = b"", **changes: object) -> Path:
    """Copy a snapshot file. Change its index or its first bytes in the copy, and recompute the digests."""
    opened = Snapshot(path, DISK)
    data = path.read_bytes()
    opened.close()
    begin = opened.index.sections[-1].start + opened.index.sections[-1].size
    index = msgspec.json.encode(msgspec.structs.replace(opened.index, **changes))
    start = start or data[: START.size]
    end = index + file_module.END.pack(begin)
    target.write_bytes(start + data[START.size : begin] + end + digest_of(start + end).digest())
    return target


def test_another_format_version_is_incompatible(path: Path, tmp_path: Path) -> None:
    with fails(IncompatibleSnapshot):
        Snapshot(rewritten(path, tmp_path / "new", START.pack(MAGIC, 9, 0)), DISK)


def test_other_rules_are_incompatible(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("node.snapshots.folder.RULES", 1)  # so that the message stays the same when the rules change
    head = msgspec.structs.replace(Snapshot(path, DISK).head, rules=2)
    with fails(IncompatibleSnapshot):
        load(fresh(), rewritten(path, tmp_path / "rules", head=head), DISK)


def test_sections_that_leave_a_gap_are_refused(path: Path, tmp_path: Path) -> None:
    sections = Snapshot(path, DISK).index.sections
    with fails(CorruptSnapshot):
        Snapshot(rewritten(path, tmp_path / "gap", sections=(*sections[1:3], *sections[:1], *sections[3:])), DISK)


def test_another_table_schema_is_incompatible(path: Path, tmp_path: Path) -> None:
    sections = Snapshot(path, DISK).index.sections
    other = msgspec.structs.replace(sections[1], schema="00")
    with fails(IncompatibleSnapshot):
        load(fresh(), rewritten(path, tmp_path / "form", sections=(sections[0], other, *sections[2:])), DISK)


def test_another_chain_is_incompatible(path: Path) -> None:
    with fails(IncompatibleSnapshot):
        load(fresh((), "testnet"), path, DISK)


def test_a_snapshot_without_an_enabled_plugin_is_incompatible(path: Path) -> None:
    with fails(IncompatibleSnapshot):
        load(fresh(("tags", "reputation", "follow")), path, DISK)


def test_data_of_a_disabled_plugin_is_skipped(path: Path) -> None:
    chain = fresh(("tags",))
    head = load(chain, path, DISK).head
    assert head.plugins == ("account_history", "tags")
    assert state_digest(chain.state) == head.digest
    assert list(chain.state.plugins) == ["tags"]


@pytest.mark.parametrize("name", ["absent", "folder"])
def test_a_missing_file_or_folder_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with fails(SnapshotError):
        Snapshot(tmp_path / name, DISK)


def test_a_section_of_an_impossible_size_is_refused(tmp_path: Path, path: Path) -> None:
    """The digests of the section are valid, because an attacker can compute them too."""
    target = tmp_path / "bomb"
    opened = DISK.open(target, create=True)
    writer = SnapshotWriter(opened)
    writer.section("state/accounts", "", iter([b"x" * 1000]))
    at = START.size
    data = opened.read(100, at)
    opened.write(data[:4] + (1 << 31).to_bytes(4, "little"), at)
    body = opened.read(writer._at - at, at)
    writer._sections[0] = msgspec.structs.replace(writer._sections[0], digest=digest_of(body).hexdigest())
    source = Snapshot(path, DISK)
    writer.finish("0", genesis_spec("dev"), source.head)
    opened.close()
    with pytest.raises(CorruptSnapshot):
        list(Snapshot(target, DISK).chunks("state/accounts"))


@pytest.mark.parametrize("declared", [8 << 30, None])
def test_a_frame_of_the_wrong_size_is_not_decompressed(
    tmp_path: Path, path: Path, declared: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A zstd frame of a few bytes can declare a size of gigabytes, and the library would allocate that memory."""
    packer = zstandard.ZstdCompressor(write_content_size=True).compressobj(size=declared or -1)
    bomb = packer.compress(bytes(1 << 20)) + (b"" if declared else packer.flush())
    bomb += packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) if declared else b""
    target = tmp_path / "bomb"
    opened = DISK.open(target, create=True)
    writer = SnapshotWriter(opened)
    monkeypatch.setattr(writer, "_packer", type("Packer", (), {"compress": lambda self, chunk: bomb})())
    writer.section("state/accounts", "", iter([b"x" * 1000]))
    source = Snapshot(path, DISK)
    writer.finish("0", genesis_spec("dev"), source.head)
    opened.close()
    with fails(CorruptSnapshot):
        list(Snapshot(target, DISK).chunks("state/accounts"))


def test_the_decompressed_size_of_a_file_is_bounded(tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of kilobytes can contain many chunks of zeros, each of an allowed size, that unpack to gigabytes."""

    def written(name: str) -> Snapshot:
        opened = DISK.open(tmp_path / name, create=True)
        writer = SnapshotWriter(opened)
        for section in ("state/accounts", "state/witnesses"):
            writer.section(section, "", iter([bytes(1 << 20)] * 2))
        writer.finish("0", genesis_spec("dev"), Snapshot(path, DISK).head)
        opened.close()
        return Snapshot(tmp_path / name, DISK)

    whole = written("whole")
    assert [len(chunk) for name in ("state/accounts", "state/witnesses") for chunk in whole.chunks(name)] == [1 << 20] * 4
    with monkeypatch.context() as patched:
        patched.setattr(file_module, "UNPACKED_PER_BYTE", 1 << 30)
        bomb = written("bomb")
    monkeypatch.setattr(zstandard, "ZstdDecompressor", lambda: None)
    with pytest.raises(CorruptSnapshot):
        next(bomb.chunks("state/accounts"))
