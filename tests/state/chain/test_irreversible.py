"""A chain with a block log keeps no irreversible blocks in memory. It still finds all blocks, after any change of its head."""

from pathlib import Path
from random import Random

import pytest

from node.storage.blocklog import BlockLog
from state.chain.chain import Chain
from state.chain.head_change import HeadChange
from state.chain.irreversible import IrreversibleBlocks, check_of, no_block
from state.chain.savepoints import Savepoint
from state.chain.skip import Skip
from state.chain.slots import scheduled_witness, slot_time
from state.plugins.account_history import ACCOUNT_HISTORY, history
from state.plugins.operation_log import IN_BLOCK, KIND_AT, ROW_BYTES
from state.protocol.errors import ChainError, UnreadableBlock
from state.protocol.transaction import SignedBlock, Wire
from tests.helpers.nodes import DEV, SECRET, block_at, copy_of, dev_chain, make_block, signed_transaction, transfer

OP_IN_TRX_AT = 12  # in a record
REVERSIBLE = 21  # blocks that can be undone


class LoggedChain:
    """A chain that writes its blocks to a block log."""

    def __init__(self, folder: Path) -> None:
        self.chain = dev_chain(ACCOUNT_HISTORY.name)
        self.log = BlockLog(folder, self.chain.state.wire)
        self.chain.on_head_change.append(self.moved)
        self.chain.irreversible_blocks.attach_log(self.log.packed, self.log.__len__)
        self.popped: list[bytes] = []

    def moved(self, move: HeadChange) -> None:
        """Write a change of the head to the log. Then read the popped blocks, as a listener that notifies subscribers does."""
        self.log.switch(move.popped, move.applied)
        self.popped = [block.id for block in move.popped]

    def make(self, count: int, memo: str = "") -> None:
        """Make `count` blocks, each with a transfer."""
        for number in range(count):
            self.chain.push_transaction(transfer(self.chain, f"{memo} {number}"))
            make_block(self.chain)

    def blocks(self) -> list[bytes]:
        """Return the ids of all blocks of the main branch, read through the chain."""
        found = all_blocks(self.chain)
        assert [block.number for block in found] == list(range(1, len(found) + 1))
        return [block.id for block in found]


def test_operations_are_found_by_the_check_of_their_transaction_if_their_position_is_wrong(tmp_path: Path) -> None:
    """As in the file of another program, in which a transaction is longer than necessary."""
    logged = LoggedChain(tmp_path)
    logged.make(30)
    blocks, [trx] = logged.chain.irreversible_blocks, block_at(logged.chain, 2).transactions
    for size in (trx.size, trx.size + 7, trx.size - 7, 0):
        assert blocks.operations_of(2, 0, size, check_of(trx.id)) == (trx.id, trx.operations)
    for number, index, check in ((2, 0, check_of(trx.id) ^ 1), (2, 1, check_of(trx.id)), (3, 0, check_of(trx.id))):
        with pytest.raises(UnreadableBlock):
            blocks.operations_of(number, index, 0, check)


def all_blocks(chain: Chain) -> list[SignedBlock]:
    return [block_at(chain, number) for number in range(1, chain.state.props.head_block_number + 1)]


def shown_history(chain: Chain) -> list[tuple[int, bytes, int, object]]:
    """Return the entries of alice's account history with their operations."""
    return [(number, record.trx_id, record.block, record.operation) for number, record in history(chain.state, "alice", -1, 10_000)]


def test_blocks_in_the_log_are_not_in_memory(tmp_path: Path) -> None:
    logged = LoggedChain(tmp_path)
    logged.make(100)
    blocks = logged.chain.irreversible_blocks
    assert (len(blocks), blocks.found, blocks.blocks_in_memory) == (100 - REVERSIBLE, 100 - REVERSIBLE, [])
    alone = copy_of(logged.chain)
    assert len(alone.irreversible_blocks.blocks_in_memory) == 100 - REVERSIBLE
    assert shown_history(logged.chain) == shown_history(alone)
    assert len(shown_history(alone)) == 100


def test_a_savepoint_brings_back_blocks_that_the_log_has_lost(tmp_path: Path) -> None:
    logged = LoggedChain(tmp_path)
    chain = logged.chain
    genesis = chain.savepoint()
    logged.make(60, "one")
    first, old, shown = chain.savepoint(), logged.blocks(), shown_history(chain)
    logged.make(40, "more")
    newest = logged.blocks()
    assert newest[:60] == old
    for _ in range(2):
        chain.restore(genesis)
        assert logged.popped in (newest[::-1], old[::-1])
        assert (logged.blocks(), len(logged.log)) == ([], 0)
        logged.make(80, "other")
        assert logged.blocks()[:60] != old
        chain.restore(first)
        assert (logged.blocks(), shown_history(chain), len(logged.log)) == (old, shown, 60)
        newest = old
    assert not chain.irreversible_blocks.blocks_in_memory
    logged.make(30)
    assert logged.blocks()[:60] == old


def test_blocks_that_a_stopped_log_lacks_stay_in_memory(tmp_path: Path) -> None:
    logged = LoggedChain(tmp_path)
    logged.make(40)
    logged.chain.on_head_change.clear()
    expected = logged.blocks()
    logged.make(60)
    assert logged.blocks()[:40] == expected
    assert len(logged.chain.irreversible_blocks.blocks_in_memory) == 100 - REVERSIBLE - 40


def branch_of(chain: Chain, length: int) -> list[SignedBlock]:
    """Return the blocks of a longer branch that starts a few blocks before the head."""
    other = chain.savepoint()
    back = length - 1
    chain.pop_blocks(back)
    chain.clear_pending()
    made = []
    for missed in range(length):
        state, slot = chain.state, 2 if not missed else 1
        made.append(chain.generate_block(slot_time(state, slot), scheduled_witness(state, slot), SECRET))
    chain.restore(other)
    return made


@pytest.mark.parametrize("seed", range(2))
def test_random_moves_are_those_of_a_chain_without_a_log(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    logged = LoggedChain(tmp_path)
    chain, unlogged = logged.chain, dev_chain(ACCOUNT_HISTORY.name)
    savepoints: list[tuple[Savepoint, Savepoint]] = [(chain.savepoint(), unlogged.savepoint())]
    for step in range(60):
        what = random.choice(["blocks", "blocks", "blocks", "keep", "return", "switch", "pop"])
        height = chain.state.props.head_block_number
        if what == "blocks":
            before = height
            logged.make(random.choice([1, 5, 30]), f"{step}")
            for number in range(before + 1, chain.state.props.head_block_number + 1):
                unlogged.push_block(block_at(chain, number), Skip.TAPOS_CHECK)
        elif what == "keep":
            savepoints.append((chain.savepoint(), unlogged.savepoint()))
        elif what == "return":
            one, two = random.choice(savepoints)
            chain.restore(one)
            unlogged.restore(two)
        elif what == "pop" and chain.main_branch.poppable > 2:
            for each in (chain, unlogged):
                each.pop_blocks(2)
                each.clear_pending()
        elif what == "switch" and chain.main_branch.poppable > 10:
            for block in branch_of(chain, random.choice([3, 8])):
                chain.push_block(block)
                unlogged.push_block(block)
        if random.random() < 0.2:
            del savepoints[random.randrange(len(savepoints)) :]
            savepoints.append((chain.savepoint(), unlogged.savepoint()))
        assert chain.state.props.head_block_id == unlogged.state.props.head_block_id
        expected = all_blocks(unlogged)
        assert logged.blocks() == [block.id for block in expected]
        assert [logged.log.packed(number) for number in range(1, len(logged.log) + 1)] == list(map(chain.state.wire.pack_block, expected))
        assert shown_history(chain) == shown_history(unlogged)
        assert len(chain.irreversible_blocks.blocks_in_memory) <= 1 + REVERSIBLE


def test_operations_of_a_transaction_are_found_one_by_one(tmp_path: Path) -> None:
    logged = LoggedChain(tmp_path)
    logged.make(2)
    one, two = transfer(logged.chain, "one"), transfer(logged.chain, "two")
    for count in (1, 3):
        operations = (one.operations[0], two.operations[0], one.operations[0])[:count]
        logged.chain.push_transaction(signed_transaction(logged.chain, operations), Skip.TRANSACTION_SIGNATURES | Skip.AUTHORITY_CHECK)
    logged.chain.generate_block(
        slot_time(logged.chain.state, 1),
        scheduled_witness(logged.chain.state, 1),
        SECRET,
        Skip.TRANSACTION_SIGNATURES | Skip.AUTHORITY_CHECK,
    )
    before = shown_history(logged.chain)
    assert [getattr(operation, "memo", "") for *_, operation in before[-4:]] == ["one", "one", "two", "one"]
    for _ in range(30):
        make_block(logged.chain)
    assert shown_history(logged.chain)[: len(before)] == before


@pytest.mark.parametrize("at", [OP_IN_TRX_AT, 0])
@pytest.mark.parametrize("is_old", [False, True])
def test_a_record_without_its_operation_in_the_block_is_refused(tmp_path: Path, at: int, is_old: bool) -> None:
    logged = LoggedChain(tmp_path)
    logged.make(REVERSIBLE + 5)
    recorded = ACCOUNT_HISTORY.of(logged.chain.state).recorded
    _, entries = ACCOUNT_HISTORY.of(logged.chain.state).accounts.get("alice")
    index = entries[0 if is_old else -1]
    assert recorded.rows[index * ROW_BYTES + KIND_AT] == IN_BLOCK
    recorded.rows[index * ROW_BYTES + at] = 250
    with pytest.raises(UnreadableBlock, match="not in block"):
        shown_history(logged.chain)


def test_a_header_is_read_without_its_transactions() -> None:
    wire = Wire(DEV)
    packed = wire.pack_block(wire.seal_block(SignedBlock(timestamp=77, witness="alice")))
    blocks = IrreversibleBlocks(wire)
    blocks.start_at(0, no_block, [packed, packed[:-1] + b"\xff which is no count"])
    for number in (1, 2):
        header = blocks.header(number)
        assert header is not None
        assert (header.timestamp, header.witness) == (77, "alice")
    with pytest.raises(ChainError):
        blocks.block(2)
