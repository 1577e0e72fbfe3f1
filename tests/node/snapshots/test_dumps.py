"""Dumps: loading one restores the dumped chain, dumping again gives the same bytes, and a damaged dump changes nothing."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import msgpack, structs

from node.runtime.errors import NodeError
from node.snapshots import dumps
from node.snapshots.dumps import dump
from node.snapshots.file import CorruptSnapshot, IncompatibleSnapshot, SnapshotError
from node.snapshots.folder import save
from node.snapshots.install import install
from node.storage.disk import SystemDisk
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.genesis import new_state
from state.chain.head_change import HeadChange
from state.chain.invariants import validate_invariants
from state.chain.state_edits import SetBalance, SetVests
from state.plugins.registry import PLUGINS, enable
from state.protocol.transaction import block_number
from state.protocol.values.asset import COIN, VESTS, Asset
from state.snapshot.dumps import ChainTail, chain_tail
from state.snapshot.image import parts_of
from state.store.serializers import TablePart
from tests.conformance.play import Player
from tests.conftest import CASES, ROOT
from tests.helpers.chains import genesis_spec
from tests.helpers.golden import fails
from tests.helpers.nodes import make_block, transfer
from tests.helpers.savepoints import all_of, deep

DISK = SystemDisk()


def load(chain: Chain, path: Path, disk: SystemDisk) -> bytes:
    """Load a dump, and return the extra data in it."""
    return dumps.load(chain, path, disk, bytes)


def fresh(spec: str = "dev", plugins: tuple[str, ...] = tuple(PLUGINS)) -> Chain:
    """Return a chain at genesis, by default with all plugins."""
    return Chain(new_state(genesis_spec(spec), lambda state: enable(state, plugins)))


def lived(blocks: int = 30) -> Chain:
    """Return a chain that has blocks, state edits and pending transactions, one of which is from an impersonated account."""
    chain = fresh()
    for i in range(blocks):
        chain.push_transaction(transfer(chain, str(i)))
        make_block(chain, i % 3)
        if i % 4 == 1:
            chain.edit(SetBalance("carol", Asset(1000 + i, COIN)))
            chain.edit(SetVests("bob", Asset(10**10 + i, VESTS)))
    if blocks:
        chain.push_transaction(transfer(chain, "waits"))
        chain.impersonate(["alice"])
        bare = transfer(chain, "bare")
        bare.signatures = ()
        chain.push_transaction(chain.state.wire.seal(bare))
        chain.impersonate()
    return chain


def reversible_edits(chain: Chain) -> dict[bytes, Any]:
    """Return the state edits of the blocks that can be undone. A dump contains only these edits."""
    return {block_id: edits for block_id, edits in chain.sidecars.edits.items() if block_number(block_id) > chain.irreversible}


def same(one: Chain, other: Chain) -> None:
    """Assert that two chains are equal, except for data that depends on how a chain has received its blocks."""
    own = {"here", "marks", "journal", "main branch", "blocks", "branches", "refused", "waiting", "edits"}
    first, second = ({name: value for name, value in all_of(chain).items() if name not in own} for chain in (one, other))
    assert first == second
    assert reversible_edits(one) == reversible_edits(other)
    assert [trx.id for trx in one.pending] == [trx.id for trx in other.pending]
    assert state_digest(one.state) == state_digest(other.state)
    for number in range(1, one.state.props.head_block_number + 1):
        mine, theirs = one.block_by_number(number), other.block_by_number(number)
        assert mine is not None
        assert theirs is not None
        assert mine.id == theirs.id


@pytest.mark.parametrize("blocks", [0, 1, 10, 25, 60])
def test_a_dump_is_loaded_by_another_chain(blocks: int, tmp_path: Path) -> None:
    chain, other = lived(blocks), fresh()
    before = deep(chain)
    size = dump(chain, tmp_path / "a", DISK, b"the clock")
    assert size == (tmp_path / "a").stat().st_size
    assert deep(chain) == before, "a dump changes nothing"
    for _ in range(7):
        make_block(other, 5)
    moves: list[HeadChange] = []
    other.on_head_change.append(moves.append)
    assert load(other, tmp_path / "a", DISK) == b"the clock"
    same(chain, other)
    assert other.sidecars.is_changed_by_hand == chain.sidecars.is_changed_by_hand
    [change] = moves
    assert [block.number for block in change.popped] == [7, 6, 5, 4, 3, 2, 1]
    assert [block.number for block in change.applied] == list(range(1, blocks + 1))
    dump(other, tmp_path / "b", DISK, b"the clock")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    # Both chains continue in the same way, including undone blocks.
    for each in (chain, other):
        make_block(each)
        validate_invariants(each.state)
    same(chain, other)
    assert chain.main_branch.poppable == other.main_branch.poppable
    if chain.main_branch.poppable:
        for each in (chain, other):
            each.pop_blocks(each.main_branch.poppable)
            each.clear_pending()
        same(chain, other)


def test_a_dump_is_loaded_by_the_chain_itself(tmp_path: Path) -> None:
    chain = lived()
    before = all_of(chain)
    dump(chain, tmp_path / "a", DISK)
    for _ in range(40):
        make_block(chain)
    assert load(chain, tmp_path / "a", DISK) == b""
    assert all_of(chain)["edits"] == before["edits"]
    dump(chain, tmp_path / "b", DISK)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("case", ["communities", "rewards", "market_days", "smt_tokens"])
def test_recorded_chains_can_be_dumped_and_loaded(case: str, tmp_path: Path) -> None:
    player = Player(CASES / case)
    player.advance(len(player.places))
    other = Player(CASES / case).chain
    dump(player.chain, tmp_path / "a", DISK)
    load(other, tmp_path / "a", DISK)
    same(player.chain, other)
    for name, part in parts_of(other.state).items():
        if isinstance(part, TablePart):
            part._table.check()
            assert not part._table.is_loading, name
    dump(other, tmp_path / "b", DISK)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_dump_holds_transactions_of_popped_blocks(tmp_path: Path) -> None:
    chain, other = lived(), fresh()
    chain.pop_blocks(3)
    dump(chain, tmp_path / "a", DISK)
    load(other, tmp_path / "a", DISK)
    assert [trx.id for trx in other.pool.popped] == [trx.id for trx in chain.pool.popped]
    assert len(other.pool.popped) == 3
    dump(other, tmp_path / "b", DISK)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    for each in (chain, other):
        make_block(each, 2)
    assert state_digest(chain.state) == state_digest(other.state)
    assert [trx.id for trx in chain.pending] == [trx.id for trx in other.pending]


def test_another_process_writes_the_same_bytes(tmp_path: Path) -> None:
    """Python iterates over a set of strings in a different order in each process. The bytes of a dump must not depend on it."""
    dump(lived(), tmp_path / "a", DISK)
    script = (
        "import sys; from pathlib import Path; from tests.node.snapshots.test_dumps import DISK, dump, fresh, load\n"
        "chain = fresh(); load(chain, Path(sys.argv[1]), DISK); dump(chain, Path(sys.argv[2]), DISK)\n"
    )
    subprocess.run([sys.executable, "-c", script, tmp_path / "a", tmp_path / "b"], check=True, cwd=ROOT)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_dump_is_a_snapshot_for_a_data_folder(tmp_path: Path) -> None:
    chain = lived()
    dump(chain, tmp_path / "a", DISK)
    made = install(tmp_path / "a", tmp_path / "data", genesis_spec("dev"), DISK)
    assert made.name.startswith(f"{chain.irreversible:010}-")


# ------------------------------------------------------------------ what can't be loaded


def test_damage_anywhere_changes_nothing(tmp_path: Path) -> None:
    dump(lived(), tmp_path / "a", DISK)
    data = (tmp_path / "a").read_bytes()
    chain = lived(26)
    before = deep(chain)
    moves: list[HeadChange] = []
    chain.on_head_change.append(moves.append)
    for place in range(20, len(data), len(data) // 40):
        (tmp_path / "b").write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(SnapshotError):
            load(chain, tmp_path / "b", DISK)
    (tmp_path / "b").write_bytes(data[: len(data) // 2])
    with pytest.raises(CorruptSnapshot):
        load(chain, tmp_path / "b", DISK)
    assert deep(chain) == before
    assert moves == []
    make_block(chain)


def test_a_block_that_is_refused_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chain, other = lived(), lived(26)
    before = deep(other)

    def without_one(chain: Chain) -> bytes:
        rest = msgpack.decode(chain_tail(chain), type=ChainTail)
        return msgpack.encode(structs.replace(rest, blocks=rest.blocks[:3] + rest.blocks[4:]))

    monkeypatch.setattr("node.snapshots.dumps.chain_tail", without_one)
    dump(chain, tmp_path / "a", DISK)
    with fails(CorruptSnapshot):
        load(other, tmp_path / "a", DISK)
    assert deep(other) == before


def test_dumps_of_other_chains_are_refused(tmp_path: Path) -> None:
    chain = lived()
    before = deep(chain)
    snapshot = save(lived(), tmp_path, DISK)
    with fails(IncompatibleSnapshot):
        load(chain, snapshot, DISK)
    dump(fresh("testnet", ()), tmp_path / "a", DISK)
    with fails(IncompatibleSnapshot):
        load(chain, tmp_path / "a", DISK)
    dump(fresh(plugins=()), tmp_path / "a", DISK)
    with fails(IncompatibleSnapshot):
        load(chain, tmp_path / "a", DISK)
    with pytest.raises(NodeError):
        load(chain, tmp_path / "nothing", DISK)
    assert deep(chain) == before


def test_an_unwritable_path_is_refused(tmp_path: Path) -> None:
    chain = lived()
    before = deep(chain)
    with fails(SnapshotError):
        dump(chain, tmp_path / "missing" / "a", DISK)
    assert deep(chain) == before
