"""Automated actions: the queues, the required and optional actions in a block, and the actions that a producer includes."""

import pytest

from state.chain.actions import (
    process_optional_actions,
    process_required_actions,
    select_actions,
)
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.genesis import new_state
from state.chain.slots import slot_time
from state.protocol.codec.kinds import Tagged
from state.protocol.errors import Refused
from state.protocol.keys.keys import secret_from_wif
from state.protocol.transaction import (
    OPTIONAL_ACTIONS,
    REQUIRED_ACTIONS,
    ExampleOptionalAction,
    ExampleRequiredAction,
    SignedBlock,
)
from state.tables import State
from tests.helpers.actions import push_optional_action, push_required_action
from tests.helpers.chains import NOW, TEST_SPEC, chain_at
from tests.helpers.edits import ByFunction

PACKED = 7  # a tag, a length, and a name of five letters


@pytest.fixture
def state() -> State:
    state = chain_at(24).state
    state.set_props(maximum_block_size=65_536, required_actions_partition_percent=2500)
    return state


def required(name: str) -> ExampleRequiredAction:
    return ExampleRequiredAction(name)


def optional(name: str) -> ExampleOptionalAction:
    return ExampleOptionalAction(name)


def block(state: State, *names: str, time: int = NOW + 3, also: tuple[str, ...] = ()) -> SignedBlock:
    """Return a new head block. It has required actions for the accounts in `names` and optional actions for those in `also`."""
    listed = (Tagged(REQUIRED_ACTIONS, tuple(map(required, names))), Tagged(OPTIONAL_ACTIONS, tuple(map(optional, also))))
    state.set_props(time=time)
    return SignedBlock(timestamp=time, extensions=tuple(tagged for tagged in listed if tagged.value))


def queue(state: State, *queued: tuple[str, int]) -> None:
    for name, delay in queued:
        push_required_action(state, required(name), NOW + delay)


def waiting(state: State) -> list[str]:
    return [row.action.account for row in state.required_actions]


def test_queueing_is_refused(state: State) -> None:
    text = r"Cannot push required action to execute in the past\. head_block_time: 2020-12-01T00:00:00 execution_time: 2020-11-30T23:59:59"
    with pytest.raises(Refused, match=text):
        push_required_action(state, required("alice"), NOW - 1)
    with pytest.raises(Refused, match="Cannot push optional action to execute in the past"):
        push_optional_action(state, optional("alice"), NOW - 1)
    with pytest.raises(Refused, match="Account name A is invalid"):
        push_required_action(state, required("A"), NOW)
    with pytest.raises(Refused, match="Account name A is invalid"):
        push_optional_action(state, optional("A"), NOW)
    assert len(state.required_actions) == len(state.optional_actions) == 0


def test_required_actions_are_included_in_the_order_of_queueing(state: State) -> None:
    queue(state, ("alice", 9), ("bob", 0))
    with pytest.raises(Refused, match=r"Unexpected action included\. Expected: .*alice.* Observed: .*bob"):
        process_required_actions(state, block(state, "bob"))
    # A block can include an action that isn't due yet, but it must include bob's, which is due.
    process_required_actions(state, block(state, "alice", "bob"))
    assert waiting(state) == []
    with pytest.raises(Refused, match="Block included required action that does not exist in queue"):
        process_required_actions(state, block(state, "alice"))


def test_a_due_action_that_fits_must_be_included(state: State) -> None:
    queue(state, ("alice", 3), ("bobby", 3))
    process_required_actions(state, block(state, time=NOW + 2))
    text = (
        "Expected action was not included in block. total_actions_size: 7, required_actions_partition_action: 16384, "
        'pending_action: {"type":"example_required_action","value":{"account":"alice"}}'
    )
    with pytest.raises(Refused) as caught:
        process_required_actions(state, block(state))
    assert text in caught.value.message()
    with pytest.raises(Refused, match="total_actions_size: 14"):
        process_required_actions(state, block(state, "alice"))


@pytest.mark.parametrize(("size", "refused"), [(52, False), (56, True)])
def test_a_due_action_that_does_not_fit_is_not_required(state: State, size: int, refused: bool) -> None:
    # Required actions can use a quarter of the block. 13 bytes have room for one action, 14 bytes for two.
    queue(state, ("alice", 0), ("bobby", 0))
    state.set_props(maximum_block_size=size)
    if refused:
        with pytest.raises(Refused, match="total_actions_size: 14, required_actions_partition_action: 14"):
            process_required_actions(state, block(state, "alice"))
    else:
        process_required_actions(state, block(state, "alice"))


def test_the_part_for_required_actions_wraps_at_32_bits(state: State) -> None:
    queue(state, ("alice", 0))
    state.set_props(maximum_block_size=2**31, required_actions_partition_percent=2)
    process_required_actions(state, block(state))  # nothing is left of 2^32


def test_optional_actions_are_checked_and_need_no_queue(state: State) -> None:
    process_optional_actions(state, block(state, also=("alice", "bobby")))
    with pytest.raises(Refused, match="Account name A is invalid"):
        process_optional_actions(state, block(state, also=("alice", "A")))
    early = chain_at(23).state
    process_optional_actions(early, block(early, also=("A",)))


def test_optional_actions_expire_at_an_irreversible_block(state: State) -> None:
    for name, delay in (("alice", 6), ("bobby", 3), ("carol", 7)):
        push_optional_action(state, optional(name), NOW + delay)
    read: list[int] = []

    def time_of_block(number: int) -> int | None:
        read.append(number)
        return times.get(number)

    state.time_of_block, times = time_of_block, {979: NOW + 6}
    state.set_props(last_irreversible_block_num=978)
    process_optional_actions(state, block(state, time=NOW + 99))
    assert len(state.optional_actions) == 3
    state.set_props(last_irreversible_block_num=979)
    process_optional_actions(state, block(state, time=NOW + 99))
    assert [row.action.account for row in state.optional_actions] == ["carol"]
    assert read == [978, 979]


def test_a_producer_includes_due_actions_in_the_order_of_times(state: State) -> None:
    queue(state, ("alice", 9), ("bobby", 3), ("carol", 3), ("dave", 10))
    push_optional_action(state, optional("erin"), NOW)
    push_optional_action(state, optional("frank"), NOW + 10)
    assert select_actions(state, NOW + 9, 100) == (
        Tagged(REQUIRED_ACTIONS, (required("bobby"), required("carol"), required("alice"))),
        Tagged(OPTIONAL_ACTIONS, (optional("erin"),)),
    )
    # The block has no room for another required action, but a shorter optional action can still fit.
    state.set_props(maximum_block_size=100 + 2 * PACKED + 6)
    assert select_actions(state, NOW + 9, 100) == (
        Tagged(REQUIRED_ACTIONS, (required("bobby"), required("carol"))),
        Tagged(OPTIONAL_ACTIONS, (optional("erin"),)),
    )
    assert select_actions(state, NOW + 9, 100 + 3 * PACKED) == ()
    assert select_actions(state, NOW - 1, 0) == ()


def test_a_produced_block_includes_actions() -> None:
    chain = Chain(new_state(TEST_SPEC))
    state, secret = chain.state, secret_from_wif(TEST_SPEC.witness_keys[0])

    def produce() -> SignedBlock:
        when = max(slot_time(state, 1), NOW)
        return chain.generate_block(when, "initminer", secret)

    produce()
    produce()
    chain.edit(ByFunction(lambda state: push_required_action(state, required("alice"), state.head_time + 3)))
    chain.edit(ByFunction(lambda state: push_optional_action(state, optional("bobby"), state.head_time + 3)))
    before = state_digest(state)
    made = produce()
    assert [tagged for tagged in made.extensions if tagged.tag >= REQUIRED_ACTIONS] == [
        Tagged(REQUIRED_ACTIONS, (required("alice"),)),
        Tagged(OPTIONAL_ACTIONS, (optional("bobby"),)),
    ]
    assert (len(state.required_actions), len(state.optional_actions)) == (0, 1)
    # A block by another producer that omits the action is refused.
    chain.pop_block()
    assert state_digest(state) == before
    left_out = state.wire.unpack_block(state.wire.pack_block(made))[0]
    left_out.extensions = tuple(tagged for tagged in made.extensions if tagged.tag != REQUIRED_ACTIONS)
    with pytest.raises(Refused, match="Expected action was not included in block"):
        chain.push_block(state.wire.seal_block(left_out), skip_flags=1)
    # The optional action is removed when its block is irreversible.
    chain.push_block(made)
    while len(state.optional_actions):
        assert state.props.last_irreversible_block_num < made.number
        produce()
    assert state.props.last_irreversible_block_num == made.number
