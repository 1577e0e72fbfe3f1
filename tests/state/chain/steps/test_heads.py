"""Missed slots: the counts equal those of a loop over all slots, and the time for a block doesn't depend on how many slots were missed."""

import time
from collections import Counter

import pytest

from state.chain.chain import Chain
from state.chain.slots import scheduled_witness
from state.chain.steps.heads import count_missed
from state.protocol.keys.keys import public_key
from tests.helpers.chains import add_account, add_witness
from tests.helpers.nodes import SECRET, dev_chain, make_block

FORTY_DAYS = 1_152_000  # slots


def chain_of(count: int) -> Chain:
    """A dev chain at its second block, with `count` scheduled witnesses that share a key."""
    chain = dev_chain()
    state = chain.state
    names = ["initminer", *(f"witness{i}" for i in range(count - 1))]
    for name in names[1:]:
        add_account(state, name)
        add_witness(state, name, signing_key=public_key(SECRET))
    names += [""] * (21 - len(names))
    state.witness_schedules.modify(state.schedule, current_shuffled_witnesses=tuple(names), num_scheduled_witnesses=count)
    state.journal.commit(state.journal.position())
    for _ in range(2):
        make_block(chain)
    return chain


@pytest.mark.parametrize("count", [1, 2, 5, 21])
@pytest.mark.parametrize("missed", [0, 1, 20, 21, 22, 1000, 4321])
def test_missed_slots_are_counted_as_one_by_one(count: int, missed: int) -> None:
    state = chain_of(count).state
    producer = scheduled_witness(state, missed + 1)
    before = {witness.owner: witness.total_missed for witness in state.witnesses}
    slots = Counter(scheduled_witness(state, slot) for slot in range(1, missed + 1))
    del slots[producer]
    count_missed(state, missed, producer)
    assert {witness.owner: witness.total_missed - before[witness.owner] for witness in state.witnesses} == {
        name: slots[name] for name in before
    }


@pytest.mark.parametrize("count", [1, 21])
def test_a_block_after_forty_days_takes_no_longer(count: int) -> None:
    chain = chain_of(count)
    aslot = chain.state.props.current_aslot
    start = time.process_time()
    block = make_block(chain, FORTY_DAYS)
    assert time.process_time() - start < 0.5
    assert chain.state.props.current_aslot == aslot + FORTY_DAYS + 1
    # The producer's own missed slots don't count.
    own = FORTY_DAYS // count + (FORTY_DAYS % count > 0)
    missed = sum(witness.total_missed for witness in chain.state.witnesses)
    assert chain.state.witness(block.witness).total_missed == 0
    assert FORTY_DAYS - own <= missed <= FORTY_DAYS - FORTY_DAYS // count
