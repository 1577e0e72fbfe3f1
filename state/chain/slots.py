"""Block slots of three seconds. Each slot belongs to a witness of the round. Source: block-processing.md §4.1."""

from state.protocol.constants import COIN_BLOCK_INTERVAL
from state.tables import State


def slot_time(state: State, slot: int) -> int:
    """Return the start time of a slot, counted from the head block. Slot 0 means the past, and its time is 0."""
    if slot == 0:
        return 0
    props = state.props
    if props.head_block_number == 0:
        return state.spec.constants.COIN_GENESIS_TIME + slot * COIN_BLOCK_INTERVAL
    return props.time // COIN_BLOCK_INTERVAL * COIN_BLOCK_INTERVAL + slot * COIN_BLOCK_INTERVAL


def slot_at_time(state: State, time: int) -> int:
    """Return the slot that contains a time, counted from the head block; 0 if the time is before the first slot."""
    first = slot_time(state, 1)
    return 0 if time < first else (time - first) // COIN_BLOCK_INTERVAL + 1


def scheduled_witness(state: State, slot: int) -> str:
    """Return the witness scheduled for a slot.

    The absolute slot number, which includes missed slots, determines the position in the round. A new round is computed every 21 blocks.
    """
    schedule = state.schedule
    return schedule.current_shuffled_witnesses[(state.props.current_aslot + slot) % schedule.num_scheduled_witnesses]
