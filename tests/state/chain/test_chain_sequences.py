"""Random sequences of operations and blocks: refusals change nothing, undo restores the state, and the supplies equal the sums of the
balances.
"""

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.helpers.model_state import FREE, Sequences

EXAMPLES, STEPS = 30, 40


def test_sequences_can_be_undone_and_add_up() -> None:
    FREE.clear()
    run_state_machine_as_test(Sequences, settings=settings(max_examples=EXAMPLES, stateful_step_count=STEPS))
    (world,) = FREE
    assert world.pushed > 100
    assert world.accepted > 10
    assert world.blocks > 10
