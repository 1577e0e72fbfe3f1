"""Changes of the head: the events that listeners receive, and failed switches, which leave the chain unchanged."""

import pytest

import state.chain.main_branch
import state.chain.pending
from state.chain.blocks import apply_block
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.head_change import HeadChange
from state.chain.pending import held_by
from state.chain.skip import Skip
from state.chain.slots import scheduled_witness, slot_time
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedBlock
from state.tables import State
from tests.helpers.edits import ByFunction
from tests.helpers.nodes import dev_chain, grown_chain, make_block, signed_block, transfer


def moves_of(chain: Chain) -> list[HeadChange]:
    """Return a list to which each change of the chain's head is appended."""
    moves: list[HeadChange] = []
    chain.on_head_change.append(moves.append)
    return moves


def seen(chain: Chain) -> tuple[object, ...]:
    """Return all data that a failed switch must leave unchanged."""
    return state_digest(chain.state), chain.head, [trx.id for trx in chain.pending], chain.forks.head


def branches(common: int = 3, first: int = 2, second: int = 3) -> tuple[Chain, list[SignedBlock], list[SignedBlock]]:
    """Return a chain whose main branch is the first of two branches, the blocks of this branch, and the blocks of the second one."""
    one, other = dev_chain(), dev_chain()
    for _ in range(common):
        other.push_block(make_block(one))
    return one, [make_block(one) for _ in range(first)], [make_block(other, 1) for _ in range(second)]


def spoiled(chain: Chain, block: SignedBlock) -> SignedBlock:
    """Return a block with an expired transfer added, signed by its witness. It is refused only when it is applied, not when it is
    stored.
    """
    broken = SignedBlock(
        previous=block.previous,
        timestamp=block.timestamp,
        witness=block.witness,
        transactions=(transfer(chain, seconds=-60),),
    )
    return signed_block(chain, broken)


def push_spoiled(chain: Chain, branch: list[SignedBlock]) -> None:
    """Push a longer branch whose last block fails when it is applied. The switch must be refused."""
    for block in branch[:-1]:
        chain.push_block(block)
    with pytest.raises(ChainError, match="tapos"):
        chain.push_block(spoiled(chain, branch[-1]))


def test_a_block_is_one_move() -> None:
    chain = dev_chain()
    moves = moves_of(chain)
    block = make_block(chain)
    assert moves == [HeadChange((), (block,))]
    other = make_block(chain)
    chain.pop_block()
    assert moves[1:] == [HeadChange((), (other,)), HeadChange((other,), ())]


def test_listeners_hear_of_a_move_before_pending_transactions_are_applied_again() -> None:
    chain = dev_chain()
    make_block(chain)
    chain.push_transaction(transfer(chain))
    waiting: list[int] = []
    chain.on_head_change.append(lambda move: waiting.append(len(chain.pending)))
    state = chain.state
    block = SignedBlock(previous=state.props.head_block_id, timestamp=slot_time(state, 1), witness="initminer")
    chain.push_block(signed_block(chain, block))
    assert waiting == [0]
    assert len(chain.pending) == 1
    assert state.props.head_block_number == 2


def test_a_switch_is_one_move() -> None:
    chain, first, second = branches()
    moves = moves_of(chain)
    for block in second[:-1]:
        assert not chain.push_block(block)
    assert moves == []
    assert chain.push_block(second[-1])
    [change] = moves
    assert [block.id for block in change.popped] == [first[1].id, first[0].id]
    assert [block.id for block in change.applied] == [block.id for block in second]


def test_a_branch_that_is_refused_moves_nothing() -> None:
    chain, _, second = branches()
    moves, before = moves_of(chain), seen(chain)
    push_spoiled(chain, second)
    assert moves == []
    assert seen(chain) == before
    make_block(chain)
    assert len(moves) == 1


def test_a_change_of_the_head_moves_nothing() -> None:
    chain = grown_chain(2)
    moves = moves_of(chain)
    chain.edit(ByFunction(lambda state: state.set_props(sbd_interest_rate=7)))
    assert moves == []
    assert chain.state.props.sbd_interest_rate == 7


def test_a_change_of_the_head_that_fails_is_not_made() -> None:
    chain = grown_chain(2)
    chain.push_transaction(transfer(chain))
    moves, before = moves_of(chain), seen(chain)

    def fail(state: State) -> None:
        state.set_props(sbd_interest_rate=7)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        chain.edit(ByFunction(fail))
    assert moves == []
    assert seen(chain) == before
    chain.edit(ByFunction(lambda state: state.set_props(sbd_print_rate=8)))
    assert chain.state.props.sbd_print_rate == 8
    assert chain.state.props.sbd_interest_rate != 7


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, MemoryError])
def test_a_bug_in_a_switch_leaves_the_chain_as_it_was(error: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    chain, _, second = branches()
    chain.push_transaction(transfer(chain))
    moves, before = moves_of(chain), seen(chain)
    for block in second[:-1]:
        chain.push_block(block)

    def bug(state: State, block: SignedBlock, skip: int) -> None:
        apply_block(state, block, skip)
        if block.id == second[1].id:
            raise error

    with monkeypatch.context() as patched:
        patched.setattr(state.chain.main_branch, "apply_block", bug)
        with pytest.raises(error):
            chain.push_block(second[-1])
    assert moves == []
    assert seen(chain) == before


def test_listeners_get_the_head_when_the_old_branch_cannot_be_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    chain, first, second = branches()
    moves = moves_of(chain)
    for block in second[:-1]:
        chain.push_block(block)

    def bug(state: State, block: SignedBlock, skip: int) -> None:
        if block.id in (second[1].id, first[1].id):
            raise ZeroDivisionError
        apply_block(state, block, skip)

    with monkeypatch.context() as patched:
        patched.setattr(state.chain.main_branch, "apply_block", bug)
        with pytest.raises(ZeroDivisionError):
            chain.push_block(second[-1])
    assert chain.head is first[0]
    assert moves == [HeadChange((first[1],), ())]
    make_block(chain)


def test_an_old_branch_made_without_checks_is_restored() -> None:
    chain, _, second = branches(first=0)
    state = chain.state
    for _ in range(2):
        chain.generate_block(slot_time(state, 1), scheduled_witness(state, 1), bytes(32), Skip.WITNESS_SIGNATURE)
    moves, before = moves_of(chain), seen(chain)
    push_spoiled(chain, second)
    assert seen(chain) == before
    assert moves == []


def test_branch_can_fail_after_its_fork_point_becomes_irreversible() -> None:
    chain, first, second = branches()
    # The first block of the branch makes itself irreversible. The last block is refused.
    chain.state.listeners.after_block.append(
        lambda state, block: state.set_props(last_irreversible_block_num=block.number) if block.id == second[0].id else None
    )
    before = seen(chain)
    push_spoiled(chain, second)
    assert seen(chain) == before
    assert chain.head is first[-1]
    chain.pop_block()


def test_popped_blocks_stay_popped_after_a_refused_branch() -> None:
    chain, first, _ = branches()
    chain.pop_block()
    chain.clear_pending()
    moves, before = moves_of(chain), seen(chain)
    bad = SignedBlock(previous=first[1].id, timestamp=first[1].timestamp + 3, witness="initminer")
    with pytest.raises(ChainError, match="expiration"):
        chain.push_block(spoiled(chain, bad))
    assert seen(chain) == before
    assert moves == []
    assert chain.push_block(first[1]) is False
    assert len(moves) == 1


def test_transactions_undone_by_a_switch_stay_pending_within_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    chain, _, second = branches(first=0, second=2)
    trxs = [transfer(chain, str(i)) for i in range(5)]
    for trx in trxs[:3]:
        chain.push_transaction(trx)
    make_block(chain)
    for trx in trxs[3:]:
        chain.push_transaction(trx)
    monkeypatch.setattr(state.chain.pending, "PENDING_SIZE_MAX", sum(held_by(trx)[0] for trx in trxs[:4]))
    monkeypatch.setattr(state.chain.pending, "KEPT_SIZE", 0)
    chain.push_block(second[0])
    assert chain.push_block(second[1])
    assert [trx.id for trx in chain.pending] == [trx.id for trx in trxs[:4]]


def test_blocks_are_popped_in_one_move_or_not_at_all() -> None:
    chain = dev_chain()
    made = [make_block(chain) for _ in range(30)]
    moves, before = moves_of(chain), seen(chain)
    assert chain.main_branch.poppable == 21
    for count in (0, -1):
        with pytest.raises(ChainError, match="the number of blocks must be above 0"):
            chain.pop_blocks(count)
    with pytest.raises(ChainError) as caught:
        chain.pop_blocks(22)
    assert caught.value.message(chain.state.spec.spell).endswith("only 21 of 22 blocks can be undone, those after block 9")
    assert (moves, seen(chain)) == ([], before)
    chain.push_transaction(transfer(chain))
    chain.pop_blocks(21)
    [change] = moves
    assert [block.id for block in change.popped] == [block.id for block in made[:8:-1]]
    assert chain.head is made[8]
    assert len(chain.pending) == 1
    assert not chain.main_branch.poppable
    chain.push_block(made[9])
    assert len(chain.pending) == 0 or chain.pending[0].expiration > chain.state.head_time


def test_the_first_block_is_not_popped() -> None:
    chain = dev_chain()
    assert chain.main_branch.poppable == 0
    for _ in range(3):
        make_block(chain)
    assert chain.main_branch.poppable == 2
    with pytest.raises(ChainError, match="can be undone"):
        chain.pop_blocks(3)
    chain.pop_blocks(2)
    assert chain.state.props.head_block_number == 1


def test_transactions_of_the_new_block_are_not_pending_even_without_time() -> None:
    """If there is no time to reapply transactions, they stay pending, except for those that the new block contains."""
    chain, maker = Chain(dev_chain().state, lambda: True), dev_chain()
    first, second = transfer(maker, "1"), transfer(maker, "2")
    maker.push_transaction(first)
    for trx in (first, second):
        chain.push_transaction(trx)
    chain.push_block(make_block(maker))
    assert [trx.id for trx in chain.pending] == [second.id]
