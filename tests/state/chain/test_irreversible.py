"""A chain whose blocks are in a block log holds none of the irreversible ones, and finds all of them, whatever moves it makes."""

from pathlib import Path
from random import Random

import pytest

from node.storage.blocklog import BlockLog
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.head_change import HeadChange
from state.chain.irreversible import IrreversibleBlocks, no_block
from state.chain.savepoints import Savepoint
from state.chain.skip import Skip
from state.chain.slots import scheduled_witness, slot_time
from state.plugins.account_history import ACCOUNT_HISTORY, history
from state.plugins.operation_log import IN_BLOCK, KIND_AT, ROW_BYTES
from state.plugins.registry import enable
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedBlock, SignedTransaction, Wire
from tests.helpers.nodes import DEV, SECRET, make_block, transfer

OP_IN_TRX_AT = 12  # in a record
REVERSIBLE = 21  # blocks that can be undone


class Kept:
    """A chain with a block log that follows it."""

    def __init__(self, folder: Path) -> None:
        self.chain = Chain(new_state(DEV, prepare=lambda state: enable(state, [ACCOUNT_HISTORY.name])))
        self.log = BlockLog(folder, self.chain.state.wire)
        self.chain.on_head_change.append(self.moved)
        self.chain.irreversible_blocks.attach_log(self.log.packed, self.log.__len__)
        self.popped: list[bytes] = []

    def moved(self, move: HeadChange) -> None:
        """Write a move to the log, and read what was popped afterwards, as subscribers do."""
        self.log.switch(move.popped, move.applied)
        self.popped = [block.id for block in move.popped]

    def make(self, count: int, memo: str = "") -> None:
        """Make blocks with a transfer in each."""
        for number in range(count):
            self.chain.push_transaction(transfer(self.chain, f"{memo} {number}"))
            make_block(self.chain)

    def blocks(self) -> list[bytes]:
        """The ids of all blocks, as the chain finds them."""
        found = [self.chain.block_by_number(number) for number in range(1, self.chain.state.props.head_block_number + 1)]
        assert [block and block.number for block in found] == list(range(1, len(found) + 1))
        return [block.id for block in found if block is not None]


def shown_history(chain: Chain) -> list[tuple[int, bytes, int, object]]:
    """The history of an account, with its operations."""
    return [(number, record.trx_id, record.block, record.operation) for number, record in history(chain.state, "alice", -1, 10_000)]


def test_blocks_in_the_log_are_not_held(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.make(100)
    settled = kept.chain.irreversible_blocks
    assert (len(settled), settled.base, settled.blocks_in_memory) == (100 - REVERSIBLE, 100 - REVERSIBLE, [])
    alone = Chain(new_state(DEV, prepare=lambda state: enable(state, [ACCOUNT_HISTORY.name])))
    for number in range(1, 101):
        block = kept.chain.block_by_number(number)
        assert block is not None
        alone.push_block(block)
    assert len(alone.irreversible_blocks.blocks_in_memory) == 100 - REVERSIBLE
    assert shown_history(kept.chain) == shown_history(alone)
    assert len(shown_history(alone)) == 100


def test_a_moment_whose_blocks_the_log_has_lost_comes_back(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    chain = kept.chain
    genesis = chain.savepoint()
    kept.make(60, "one")
    first, old, shown = chain.savepoint(), kept.blocks(), shown_history(chain)
    kept.make(40, "more")
    newest = kept.blocks()
    assert newest[:60] == old
    for _ in range(2):
        chain.restore(genesis)
        assert kept.popped in (newest[::-1], old[::-1])
        assert (kept.blocks(), len(kept.log)) == ([], 0)
        kept.make(80, "other")
        assert kept.blocks()[:60] != old
        chain.restore(first)
        assert (kept.blocks(), shown_history(chain), len(kept.log)) == (old, shown, 60)
        newest = old
    assert not chain.irreversible_blocks.blocks_in_memory
    kept.make(30)
    assert kept.blocks()[:60] == old


def test_a_log_that_has_stopped_following_leaves_the_blocks_held(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.make(40)
    kept.chain.on_head_change.clear()
    expected = kept.blocks()
    kept.make(60)
    assert kept.blocks()[:40] == expected
    assert len(kept.chain.irreversible_blocks.blocks_in_memory) == 100 - REVERSIBLE - 40


def branch_of(chain: Chain, length: int) -> list[SignedBlock]:
    """Blocks of another branch, which begins a few blocks before the head and is longer."""
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
def test_random_moves_are_those_of_a_chain_that_holds_its_blocks(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    kept = Kept(tmp_path)
    chain, held = kept.chain, Chain(new_state(DEV, prepare=lambda state: enable(state, [ACCOUNT_HISTORY.name])))
    moments: list[tuple[Savepoint, Savepoint]] = [(chain.savepoint(), held.savepoint())]
    for step in range(60):
        what = random.choice(["blocks", "blocks", "blocks", "keep", "return", "switch", "pop"])
        height = chain.state.props.head_block_number
        if what == "blocks":
            before = height
            kept.make(random.choice([1, 5, 30]), f"{step}")
            for number in range(before + 1, chain.state.props.head_block_number + 1):
                block = chain.block_by_number(number)
                assert block is not None
                held.push_block(block, Skip.TAPOS_CHECK)
        elif what == "keep":
            moments.append((chain.savepoint(), held.savepoint()))
        elif what == "return":
            one, other = random.choice(moments)
            chain.restore(one)
            held.restore(other)
        elif what == "pop" and chain.main_branch.poppable > 2:
            for each in (chain, held):
                each.pop_blocks(2)
                each.clear_pending()
        elif what == "switch" and chain.main_branch.poppable > 10:
            for block in branch_of(chain, random.choice([3, 8])):
                chain.push_block(block)
                held.push_block(block)
        if random.random() < 0.2:
            del moments[random.randrange(len(moments)) :]
            moments.append((chain.savepoint(), held.savepoint()))
        assert chain.state.props.head_block_id == held.state.props.head_block_id
        expected = [held.block_by_number(number) for number in range(1, held.state.props.head_block_number + 1)]
        assert kept.blocks() == [block.id for block in expected if block is not None]
        assert [kept.log.packed(number) for number in range(1, len(kept.log) + 1)] == [
            chain.state.wire.pack_block(block) for block in expected if block is not None
        ]
        assert shown_history(chain) == shown_history(held)
        assert len(chain.irreversible_blocks.blocks_in_memory) <= 1 + REVERSIBLE


def test_transactions_of_several_operations_are_found_one_by_one(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.make(2)
    one, two = transfer(kept.chain, "one"), transfer(kept.chain, "two")
    for count in (1, 3):
        operations = (one.operations[0], two.operations[0], one.operations[0])[:count]
        props = kept.chain.state.props
        reference = int.from_bytes(props.head_block_id[2:4], "big"), int.from_bytes(props.head_block_id[4:8], "little")
        trx = kept.chain.state.wire.seal(SignedTransaction(*reference, props.time + 60, operations))
        kept.chain.push_transaction(trx, Skip.TRANSACTION_SIGNATURES | Skip.AUTHORITY_CHECK)
    kept.chain.generate_block(
        slot_time(kept.chain.state, 1), scheduled_witness(kept.chain.state, 1), SECRET, Skip.TRANSACTION_SIGNATURES | Skip.AUTHORITY_CHECK
    )
    before = shown_history(kept.chain)
    assert [getattr(operation, "memo", "") for *_, operation in before[-4:]] == ["one", "one", "two", "one"]
    for _ in range(30):
        make_block(kept.chain)
    assert shown_history(kept.chain)[: len(before)] == before


@pytest.mark.parametrize("at", [OP_IN_TRX_AT, 0])
@pytest.mark.parametrize("is_old", [False, True])
def test_a_record_of_what_its_block_does_not_have_is_refused(tmp_path: Path, at: int, is_old: bool) -> None:
    kept = Kept(tmp_path)
    kept.make(REVERSIBLE + 5)
    recorded = ACCOUNT_HISTORY.of(kept.chain.state).recorded
    entries = ACCOUNT_HISTORY.of(kept.chain.state).accounts.by_name["alice"]
    index = entries[0 if is_old else -1]
    assert recorded.rows[index * ROW_BYTES + KIND_AT] == IN_BLOCK
    recorded.rows[index * ROW_BYTES + at] = 250
    with pytest.raises(ChainError, match="not in block"):
        shown_history(kept.chain)


def test_a_header_is_read_without_its_transactions() -> None:
    wire = Wire(DEV)
    packed = wire.pack_block(wire.seal_block(SignedBlock(timestamp=77, witness="alice")))
    settled = IrreversibleBlocks(wire)
    settled.start_at(0, no_block, [packed, packed[:-1] + b"\xff which is no count"])
    for number in (1, 2):
        header = settled.header(number)
        assert header is not None
        assert (header.timestamp, header.witness) == (77, "alice")
    with pytest.raises(ChainError):
        settled.block(2)
