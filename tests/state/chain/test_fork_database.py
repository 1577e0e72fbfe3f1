"""The limits of the fork database: the number, size and age of its blocks. A refused block leads to at most one attempt to switch."""

import time

import pytest
from msgspec import structs

import state.chain.fork_database
import state.chain.main_branch
from state.chain.blocks import apply_block
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.fork_database import SIBLINGS_MAX, BranchBlock, ForkDatabase
from state.chain.skip import Skip
from state.protocol.errors import ChainError, UnlinkableBlock
from state.protocol.transaction import SignedBlock
from state.tables import State
from tests.helpers.edits import ByFunction
from tests.helpers.nodes import SECRET, block_at, dev_chain, make_block, signed_block
from tests.state.chain.test_branches import copied, twins
from tests.state.chain.test_chain_moves import branches, spoiled


def sibling(chain: Chain, parent: SignedBlock, slots: int, secret: bytes = SECRET) -> SignedBlock:
    """Return an empty block that the only witness makes `slots` slots after `parent`."""
    return signed_block(chain, SignedBlock(previous=parent.id, timestamp=parent.timestamp + 3 * slots, witness="initminer"), secret)


def text_of(chain: Chain, block: SignedBlock) -> str:
    with pytest.raises(ChainError) as caught:
        chain.push_block(block)
    return caught.value.message()


def test_one_witness_has_few_blocks_at_a_height() -> None:
    chain, _ = twins()
    parent = block_at(chain, 3)
    head = make_block(chain)
    for i in range(SIBLINGS_MAX):
        assert not chain.push_block(sibling(chain, parent, 2 + i))
    kept = len(chain.forks)
    assert f"there are already {SIBLINGS_MAX} fork blocks with number 4 of witness initminer" in text_of(chain, sibling(chain, parent, 50))
    assert len(chain.forks) == kept
    assert chain.head is head
    # A block that is already known does not count again.
    assert not chain.push_block(sibling(chain, parent, 2))


def test_other_branches_take_only_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    chain, other = twins()
    branch = [copied(make_block(other, 1)) for _ in range(4)]
    for _ in range(3):
        make_block(chain)
    monkeypatch.setattr(state.chain.fork_database, "BRANCHES_BYTES_MAX", 2 * (branch[1].size + 1024) + branch[0].size)
    for block in branch[:2]:
        assert not chain.push_block(block)
    taken = chain.forks.bytes_used
    assert "all fork blocks together would exceed" in text_of(chain, branch[2])
    assert chain.forks.bytes_used == taken


def test_a_block_that_causes_a_switch_is_accepted_in_a_full_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    chain, first, second = branches()
    for block in second[:-1]:
        chain.push_block(block)
    monkeypatch.setattr(state.chain.fork_database, "BRANCHES_BYTES_MAX", 0)
    assert chain.push_block(second[-1])
    assert len(chain.forks) == 3 + len(first) + len(second)


def test_fork_blocks_are_counted_until_a_later_block_is_irreversible() -> None:
    chain, other = twins()
    for block in (copied(make_block(other, 1)) for _ in range(4)):
        if block.number < 7:
            chain.push_block(make_block(chain) and block)
    assert chain.forks.bytes_used > 0
    for _ in range(40):
        make_block(chain)
    props = chain.state.props
    assert props.last_irreversible_block_num > 7
    assert chain.forks.bytes_used == 0
    assert len(chain.forks) == props.head_block_number - props.last_irreversible_block_num + 2


def test_branch_from_below_the_last_irreversible_block_is_refused() -> None:
    chain, first, second = branches(first=3, second=5)
    for block in second[:2]:
        assert not chain.push_block(block)
    chain.state.listeners.after_block.append(lambda state, block: state.set_props(last_irreversible_block_num=5))
    make_block(chain)
    before = state_digest(chain.state), chain.head
    # The start of the branch has been dropped, so its later blocks have no parent.
    for block in second[2:]:
        assert "does not link" in text_of(chain, block)
    assert "begins before the last irreversible block 5" in text_of(chain, sibling(chain, block_at(chain, 4), 2))
    assert (state_digest(chain.state), chain.head) == before
    assert len(chain.forks) == 4
    assert not chain.push_block(first[2])


def test_refused_block_invalidates_its_descendants_with_one_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    chain, _, second = branches(first=4, second=3)
    good, bad = second[0], spoiled(chain, second[1])
    after = [sibling(chain, bad, 1)]
    aside = sibling(chain, bad, 2)
    while after[-1].number < 8:
        after.append(sibling(chain, after[-1], 1))
    applied: list[bytes] = []

    def counted(state: State, block: SignedBlock, skip: int) -> None:
        applied.append(block.id)
        apply_block(state, block, skip)

    monkeypatch.setattr(state.chain.main_branch, "apply_block", counted)
    for block in (good, bad, aside, *after[:-1]):
        assert not chain.push_block(block)
    before = state_digest(chain.state), chain.head
    text = text_of(chain, after[-1])
    assert (state_digest(chain.state), chain.head) == before
    assert len(chain.forks) == 7 + 1
    count = len(applied)
    assert count == 2 + 4
    assert text_of(chain, copied(bad)) == text
    for block in (aside, *after):
        with pytest.raises(UnlinkableBlock):
            chain.push_block(block)
    assert len(applied) == count


def test_refused_blocks_count_as_siblings_until_a_later_block_is_irreversible() -> None:
    chain, _ = twins()
    parent = block_at(chain, 3)
    make_block(chain)
    for i in range(SIBLINGS_MAX):
        good = sibling(chain, parent, 2 + i)
        assert not chain.push_block(good)
        assert "tapos" in text_of(chain, spoiled(chain, sibling(chain, good, 1)))
    assert "fork blocks with number 5 of witness initminer" in text_of(chain, sibling(chain, good, 9))
    for _ in range(40):
        make_block(chain)
    assert chain.forks.bytes_used == 0


def test_the_number_of_remembered_refused_blocks_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state.chain.fork_database, "REFUSED_MAX", 2)
    chain, _ = twins()
    tree = ForkDatabase(chain.state.wire)
    blocks = [BranchBlock(bytes([i]) * 20, 5, bytes(20), 0, str(i), b"", ()) for i in range(3)]
    for block in blocks:
        tree.refuse(block, ChainError("no", number=block.number))
        tree.refuse(block, ChainError("no", number=block.number))
    tree.require_not_refused(blocks[0].id)
    for block in blocks[1:]:
        with pytest.raises(ChainError, match="no"):
            tree.require_not_refused(block.id)
    tree.clear_refused()
    assert tree.bytes_used == 0
    tree.require_not_refused(blocks[1].id)


def test_a_state_edit_can_make_a_refused_block_valid() -> None:
    chain, _, second = branches(first=2, second=2)
    chain.push_block(second[0])
    bad = spoiled(chain, second[1])
    chain.push_block(bad)
    with pytest.raises(ChainError):
        chain.push_block(sibling(chain, bad, 1))
    with pytest.raises(ChainError):
        chain.push_block(bad)
    chain.edit(ByFunction(lambda state: None))
    assert not chain.push_block(bad)
    assert not chain.push_block(structs.replace(bad), Skip.TAPOS_CHECK)


def test_popped_blocks_can_be_pushed_again() -> None:
    chain, _ = twins(6)
    head = block_at(chain, 6)
    digest = state_digest(chain.state)
    for _ in range(3):
        chain.pop_block()
    assert len(chain.forks) == 6
    chain.push_block(copied(head))
    assert state_digest(chain.state) == digest
    assert len(chain.forks) == 6
    assert chain.forks.bytes_used == 0


def test_many_reversible_blocks_slow_nothing_down() -> None:
    """The work for a block doesn't grow with the number of reversible blocks."""
    wire = dev_chain().state.wire
    tree = ForkDatabase(wire)

    def extend(count: int) -> float:
        start = time.process_time()
        for _ in range(count):
            head = tree.head
            previous = (0).to_bytes(20, "big") if head is None else head.id
            number = 1 if head is None else head.number + 1
            tree.push_head(SignedBlock(previous=previous, number=number, id=number.to_bytes(4, "big") + bytes(16)))
            tree.set_irreversible(0)
        return time.process_time() - start

    extend(1000)
    few = min(extend(1000) for _ in range(3))
    extend(100_000)
    many = min(extend(1000) for _ in range(3))
    assert many < 20 * few + 0.05
    start = time.process_time()
    tree.set_irreversible(100_000)
    assert time.process_time() - start < 2
