"""The supply history: which blocks have samples. An undone block has none, regardless of how it was undone."""

import pytest

import state.chain.main_branch
from rpc.explorer.supply_history import Sample, SupplyHistory, sample_of
from state.chain.blocks import apply_block
from state.chain.chain import Chain
from state.chain.head_change import HeadChange
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedBlock
from state.snapshot.dumps import one_move
from state.tables import State
from tests.helpers.nodes import dev_chain, make_block


def numbers(series: SupplyHistory) -> list[int]:
    """Return the numbers of the blocks that have samples."""
    return [sample.number for sample in series.samples]


def recorded(chain: Chain) -> dict[bytes, Sample]:
    """Return a dict, keyed by block id, to which the totals after each new block are added."""
    found: dict[bytes, Sample] = {}
    chain.state.listeners.after_block.append(lambda state, block: found.__setitem__(block.id, sample_of(state)))
    return found


def of_main_branch(chain: Chain, found: dict[bytes, Sample]) -> list[Sample]:
    """Return the totals after each block of the main branch."""
    blocks = (chain.block_by_number(number) for number in range(1, chain.state.props.head_block_number + 1))
    return [found[block.id] for block in blocks if block is not None]


def test_each_block_has_a_sample_while_there_are_few() -> None:
    chain = dev_chain()
    series, found = SupplyHistory(chain).attach(), recorded(chain)
    assert series.samples == []
    for _ in range(5):
        make_block(chain)
    assert series.samples == of_main_branch(chain, found)
    assert series.samples[-1] == sample_of(chain.state)
    assert series.stride == 1


def test_sampling_starts_with_the_head() -> None:
    chain = dev_chain()
    for _ in range(3):
        make_block(chain)
    series = SupplyHistory(chain).attach()
    make_block(chain)
    assert numbers(series) == [3, 4]


@pytest.mark.parametrize("most", [1, 2, 5, 8])
def test_the_stride_doubles_when_there_are_too_many(most: int) -> None:
    chain = dev_chain()
    series = SupplyHistory(chain, most).attach()
    for _ in range(40):
        make_block(chain)
        head = chain.state.props.head_block_number
        assert numbers(series) == sorted({*range(series.stride, head + 1, series.stride), head})
        assert head // series.stride <= most
        assert series.stride == 1 or head // (series.stride // 2) > most


def test_popped_blocks_lose_their_samples() -> None:
    chain = dev_chain()
    series, found = SupplyHistory(chain).attach(), recorded(chain)
    for _ in range(5):
        make_block(chain)
    chain.pop_blocks(2)
    assert series.samples == of_main_branch(chain, found)
    make_block(chain, 1)
    assert series.samples == of_main_branch(chain, found)
    assert numbers(series) == [1, 2, 3, 4]


@pytest.mark.parametrize("most", [3, 1000])
def test_a_switch_replaces_samples(most: int) -> None:
    chain, other = dev_chain(), dev_chain()
    series, found = SupplyHistory(chain, most).attach(), recorded(chain)
    for _ in range(3):
        other.push_block(make_block(chain))
    for _ in range(3):
        make_block(chain)
    for _ in range(4):
        chain.push_block(make_block(other, 1))
    assert chain.state.props.head_block_id == other.state.props.head_block_id
    expected = [sample for sample in of_main_branch(chain, found) if sample.number % series.stride == 0 or sample.number == 7]
    assert series.samples == expected


def test_a_switch_that_fails_leaves_the_samples_of_the_old_branch(monkeypatch: pytest.MonkeyPatch) -> None:
    chain, other = dev_chain(), dev_chain()
    series, found = SupplyHistory(chain).attach(), recorded(chain)
    other.push_block(make_block(chain))
    make_block(chain)
    bad = [make_block(other, 1) for _ in range(2)]

    def refuse(state: State, block: SignedBlock, skip: int) -> None:
        apply_block(state, block, skip)
        if block.id == bad[1].id:
            raise ChainError("no")

    monkeypatch.setattr(state.chain.main_branch, "apply_block", refuse)
    chain.push_block(bad[0])
    with pytest.raises(ChainError):
        chain.push_block(bad[1])
    assert series.samples == of_main_branch(chain, found)
    make_block(chain)
    assert series.samples == of_main_branch(chain, found)
    assert numbers(series) == [1, 2, 3]


def test_a_restored_savepoint_has_its_samples() -> None:
    chain = dev_chain()
    series, found = SupplyHistory(chain).attach(), recorded(chain)
    for _ in range(3):
        make_block(chain)
    early = chain.savepoint()
    for _ in range(3):
        make_block(chain)
    late = chain.savepoint()
    chain.restore(early)
    assert series.samples == of_main_branch(chain, found)
    make_block(chain, 2)
    assert series.samples == of_main_branch(chain, found)
    # The restored blocks are not applied again, so of these only the head gets a sample.
    chain.restore(late)
    assert numbers(series) == [1, 2, 3, 6]
    assert series.samples[-1] == sample_of(chain.state)
    make_block(chain)
    assert numbers(series) == [1, 2, 3, 6, 7]


def test_a_loaded_chain_replaces_all_samples() -> None:
    chain = dev_chain()
    make_block(chain)
    early = chain.savepoint()
    series, found = SupplyHistory(chain).attach(), recorded(chain)
    for _ in range(4):
        make_block(chain)
    with one_move(chain):
        chain.restore(early)
        for missed in (1, 0, 0):
            make_block(chain, missed)
    assert numbers(series) == [1, 2, 3, 4]
    assert series.samples[1:] == [found[chain.block_by_number(n).id] for n in (2, 3, 4)]  # type: ignore[union-attr]


def test_a_restarted_chain_has_all_its_samples() -> None:
    chain = dev_chain()
    genesis = chain.savepoint()
    series, found = SupplyHistory(chain, 4).attach(), recorded(chain)
    for _ in range(9):
        make_block(chain)
    assert series.stride == 2
    chain.restore(genesis)
    assert series.samples == []
    for _ in range(3):
        make_block(chain, 1)
    assert series.samples == of_main_branch(chain, found)


def test_an_empty_head_change_changes_nothing() -> None:
    chain = dev_chain()
    series = SupplyHistory(chain).attach()
    make_block(chain)
    before = series.samples
    for listener in chain.on_head_change:
        listener(HeadChange((), ()))
    assert series.samples == before
