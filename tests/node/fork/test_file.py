"""Fork files: what is written is read again; damaged, other and contradictory files are refused."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import asdict, replace

from node.app.local_chain import LocalChain
from node.fork.file import SECTION, ForkError, ForkFile, read_fork, write_fork
from node.runtime.errors import FileError
from node.snapshots.base import new_chain, write_base
from node.specs.builder import build_spec, load_spec, spec_names
from node.specs.encoder import encode_spec
from node.storage.disk import SystemDisk
from rpc.fork import ForkOrigin
from state.chain.chain import Chain
from state.chain.digest import state_digest

DISK = SystemDisk()


def origin_of(chain: Chain, **changes: object) -> ForkOrigin:
    props = chain.state.props
    given = {
        "source": "http://127.0.0.1:8090",
        "chain_id": "ab" * 32,
        "number": props.head_block_number,
        "block_id": props.head_block_id.hex(),
        "time": props.time,
        "accounts": ("alice",),
    }
    return ForkOrigin(**{**given, **changes})  # type: ignore[arg-type]


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, Chain]:
    chain = LocalChain().chain
    chain.rewind()
    write_fork(chain, tmp_path / "f", origin_of(chain))
    return tmp_path / "f", chain


def started(fork: ForkFile) -> Chain:
    return new_chain(fork.spec, fork.path, fork.spec.plugins)


def test_a_fork_file_restores_the_state_and_names_its_origin(written: tuple[Path, Chain]) -> None:
    path, chain = written
    fork = read_fork(path)
    assert fork.origin == origin_of(chain)
    assert state_digest(started(fork).state) == state_digest(chain.state)


@pytest.mark.parametrize("name", spec_names())
def test_a_spec_is_the_same_after_encoding_but_for_its_genesis(name: str) -> None:
    spec = load_spec(name)
    again = build_spec(msgspec.json.decode(msgspec.json.encode(encode_spec(spec))))
    fields = {key: value for key, value in asdict(spec).items() if key != "genesis"}
    assert {key: value for key, value in asdict(again).items() if key != "genesis"} == fields
    assert again.genesis.witness_key == spec.genesis.witness_key


def test_equal_states_have_fork_files_with_equal_digests(written: tuple[Path, Chain]) -> None:
    path, chain = written
    other = path.with_name("g")
    write_fork(chain, other, origin_of(chain))
    assert read_fork(path).spec.base.digest == read_fork(other).spec.base.digest
    write_fork(chain, other, origin_of(chain, accounts=("alice", "bob")))
    assert read_fork(path).spec.base.digest != read_fork(other).spec.base.digest


def test_a_damaged_fork_file_is_refused_wherever_the_damage_is(written: tuple[Path, Chain]) -> None:
    path, _ = written
    data = path.read_bytes()
    for at in range(0, len(data), len(data) // 40):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(FileError, match=str(path)):
            started(read_fork(path))
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(ForkError, match="damaged"):
        read_fork(path)


def test_other_files_are_refused(written: tuple[Path, Chain]) -> None:
    path, _ = written
    chain = LocalChain()
    chain.dump(str(path))
    with pytest.raises(ForkError, match="is a snapshot, not a fork file"):
        read_fork(path)
    path.write_text("no fork")
    with pytest.raises(ForkError, match="is neither a snapshot nor a fork file"):
        read_fork(path)
    with pytest.raises(ForkError, match="No such file"):
        read_fork(path.with_name("none"))


@pytest.mark.parametrize(
    "changes",
    [
        {"number": 1},
        {"block_id": "00" * 20},
        {"time": 1},
        {"source": "http://x/\x1b[2J"},
        {"witnesses": 22},
        {"chain_id": "Z" * 64},
    ],
)
def test_an_origin_that_contradicts_the_state_or_is_malformed_is_refused(written: tuple[Path, Chain], changes: dict[str, object]) -> None:
    path, chain = written

    origin = replace(origin_of(chain), **changes)
    write_base(chain, path, sections={SECTION: msgspec.json.encode(origin)})
    with pytest.raises(ForkError, match=str(path)):
        read_fork(path)
