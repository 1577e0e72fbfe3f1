"""A chain that begins after a block of another chain: its life in memory, its snapshots and its dumps."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from node.snapshots import dumps
from node.snapshots.base import new_chain, read_base, write_base
from node.snapshots.file import CorruptSnapshot, IncompatibleSnapshot
from node.storage.disk import SystemDisk
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.head_change import HeadChange
from state.chain.invariants import validate_invariants
from state.chain.skip import Skip
from state.chain.state_edits import SetBalance
from state.chain.transactions import require_tapos_and_expiration
from state.protocol.errors import ChainError, Refused, WrongReferenceBlock
from state.protocol.transaction import SignedBlock
from state.protocol.values.asset import COIN, SBD, Asset, Price
from tests.helpers.based import BASE, BASE_PLUGINS, base_file, based_chain, live
from tests.helpers.nodes import block_at, dev_chain, make_block, transfer

DISK = SystemDisk()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return base_file(tmp_path_factory.mktemp("base"))


@pytest.fixture
def chain(path: Path) -> Chain:
    return based_chain(path, *BASE_PLUGINS)


def blocks_of(chain: Chain) -> list[SignedBlock]:
    """Return all blocks of a chain."""
    return [block_at(chain, number) for number in range(chain.base + 1, chain.state.props.head_block_number + 1)]


def test_it_begins_with_the_state_and_the_block_of_the_file(path: Path, chain: Chain) -> None:
    source = dev_chain(*BASE_PLUGINS)
    for number in range(BASE):
        source.push_transaction(transfer(source, str(number)))
        make_block(source)
    assert state_digest(chain.state) == state_digest(source.state)
    assert (chain.base, chain.irreversible, chain.started_at) == (BASE, BASE, BASE)
    assert chain.state.props.last_irreversible_block_num == BASE - 21
    assert source.head is not None
    assert chain.head is not None
    assert (chain.head.id, chain.head.transactions) == (source.head.id, ())
    assert read_base(path) == structs.replace(source.state.spec, base=chain.state.spec.base)
    # What follows is as on the other chain.
    for missed in range(40):
        trx = transfer(source, f"again {missed}")
        source.push_transaction(trx)
        chain.push_transaction(trx)
        block = make_block(source, missed % 2)
        chain.push_block(block)
    assert state_digest(chain.state) == state_digest(source.state)
    assert chain.irreversible == chain.state.props.last_irreversible_block_num == BASE + 19
    validate_invariants(chain.state)


def test_blocks_up_to_the_base_are_missing(chain: Chain) -> None:
    live(chain)
    assert [chain.block_by_number(number) for number in (-1, 0, 1, BASE - 1, BASE)] == [None] * 5
    assert block_at(chain, BASE + 1).previous == chain.state.spec.base.block_id
    time = chain.state.time_of_block
    assert [time(number) for number in (0, 1, BASE - 1)] == [None] * 3
    assert (time(BASE), time(BASE + 1)) == (chain.state.spec.base.time, block_at(chain, BASE + 1).timestamp)
    with pytest.raises(Refused, match=f"block {BASE} is before the first block"):
        chain.state.operations_of(BASE, 0, 100, 0)


def test_an_irreversible_base_stays_irreversible(chain: Chain) -> None:
    props = chain.state.props
    chain.state.set_props(last_irreversible_block_num=BASE)
    chain.state.journal.commit(chain.state.journal.position())
    for number in range(1, 30):
        make_block(chain)
        assert props.last_irreversible_block_num == chain.irreversible == max(BASE, BASE + number - 21)


def test_the_base_is_neither_undone_nor_edited(chain: Chain) -> None:
    with pytest.raises(ChainError, match="can't be changed"):
        chain.edit(SetBalance("carol", Asset(1, COIN)))
    with pytest.raises(ChainError):
        chain.pop_block()
    make_block(chain)
    chain.edit(SetBalance("carol", Asset(1, COIN)))
    chain.pop_blocks(1)
    with pytest.raises(ChainError):
        chain.pop_blocks(1)
    assert chain.head is not None
    assert chain.head.number == BASE


def test_a_longer_branch_from_the_base_wins(path: Path, chain: Chain) -> None:
    other = based_chain(path, *BASE_PLUGINS)
    ours = [make_block(chain) for _ in range(3)]
    theirs = [make_block(other, 1) for _ in range(4)]
    switched = [chain.push_block(structs.replace(block)) for block in theirs]
    assert switched == [False, False, False, True]
    assert state_digest(chain.state) == state_digest(other.state)
    chain.push_block(structs.replace(ours[0]))
    assert chain.head is not None
    assert chain.head.id == theirs[-1].id


@pytest.mark.parametrize("number", [1, BASE - 5, BASE])
def test_a_branch_from_before_the_base_is_refused(chain: Chain, number: int) -> None:
    make_block(chain)
    source = dev_chain()
    for _ in range(BASE):
        make_block(source, 1)
    with pytest.raises(ChainError):
        chain.push_block(structs.replace(block_at(source, number)))
    assert chain.state.props.head_block_number == BASE + 1


def test_savepoints_return_to_the_base(chain: Chain) -> None:
    begin, digest = chain.savepoint(), state_digest(chain.state)
    live(chain, 40)
    later, blocks = chain.savepoint(), blocks_of(chain)
    changes: list[HeadChange] = []
    chain.on_head_change.append(changes.append)
    chain.restore(begin)
    assert [block.id for block in changes[-1].popped] == [block.id for block in blocks[::-1]]
    assert (state_digest(chain.state), chain.irreversible) == (digest, BASE)
    live(chain, 5)
    chain.restore(later)
    assert [block.id for block in blocks_of(chain)] == [block.id for block in blocks]


@pytest.mark.parametrize("count", [0, 1, 10, 60])
def test_a_dump_has_the_blocks_after_the_base(path: Path, chain: Chain, tmp_path: Path, count: int) -> None:
    live(chain, count)
    dumps.dump(chain, tmp_path / "dump", DISK)
    for other in (based_chain(path, *BASE_PLUGINS), new_chain(read_base(path), None, BASE_PLUGINS)):
        dumps.load(other, tmp_path / "dump", DISK, bytes)
        assert state_digest(other.state) == state_digest(chain.state)
        assert [block.id for block in blocks_of(other)] == [block.id for block in blocks_of(chain)]
        assert other.block_by_number(BASE) is None
        dumps.dump(other, tmp_path / "again", DISK)
        assert (tmp_path / "again").read_bytes() == (tmp_path / "dump").read_bytes()
        live(other, 3)


def test_dumps_and_files_of_other_chains_are_refused(path: Path, chain: Chain, tmp_path: Path) -> None:
    dumps.dump(chain, tmp_path / "dump", DISK)
    for other in (dev_chain(*BASE_PLUGINS), based_chain(base_file(tmp_path, 31), *BASE_PLUGINS)):
        with pytest.raises(IncompatibleSnapshot):
            dumps.load(other, tmp_path / "dump", DISK, bytes)
    with pytest.raises(IncompatibleSnapshot, match="is not the file"):
        new_chain(read_base(path), tmp_path / "base-31", BASE_PLUGINS)
    with pytest.raises(IncompatibleSnapshot, match="lacks the data of"):
        new_chain(read_base(path), path, ("follow",))
    with pytest.raises(IncompatibleSnapshot, match="has no base/spec"):
        read_base(tmp_path / "dump")


def test_a_damaged_file_is_refused(path: Path, tmp_path: Path) -> None:
    data, damaged = path.read_bytes(), tmp_path / "damaged"
    spec = read_base(path)
    damaged.write_bytes(data[:1000] + bytes([data[1000] ^ 1]) + data[1001:])
    with pytest.raises(CorruptSnapshot):
        new_chain(spec, damaged)


@pytest.mark.parametrize(
    "genesis",
    [
        {"witness_key": b""},
        {"witness": "null"},
        {"price_feed": Price(Asset(1, SBD), Asset(10**15, COIN))},
    ],
    ids=["key", "name", "price"],
)
def test_a_file_whose_spec_gives_no_chain_is_refused(chain: Chain, genesis: dict[str, Any], tmp_path: Path) -> None:
    spec = chain.state.spec
    chain.state.spec = structs.replace(spec, genesis=structs.replace(spec.genesis, **genesis))
    forged = tmp_path / "forged"
    write_base(chain, forged)
    with pytest.raises(CorruptSnapshot, match="spec"):
        new_chain(read_base(forged), forged)


def test_the_reference_block_can_be_before_the_base(chain: Chain) -> None:
    trx = transfer(chain)
    for summary in list(chain.state.block_summaries):
        chain.state.block_summaries.remove(summary)
    chain.state.journal.commit(chain.state.journal.position())
    chain.push_transaction(trx)
    make_block(chain)
    trx = transfer(chain, "to a known block")
    trx.ref_block_prefix ^= 1
    with pytest.raises(WrongReferenceBlock):
        require_tapos_and_expiration(chain.state, trx, Skip.NOTHING)
