"""Sequences of operations and blocks that hypothesis finds: refused ones change nothing, what is undone comes back, everything adds up."""

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.helpers.sequences import FREE, Sequences

EXAMPLES, STEPS = 20, 40


def test_sequences_can_be_undone_and_add_up() -> None:
    FREE.clear()
    run_state_machine_as_test(Sequences, settings=settings(max_examples=EXAMPLES, stateful_step_count=STEPS))
    (world,) = FREE
    # How many there are depends on hypothesis, which looks at the modules that are loaded: 57 were pushed in one run, and 300 in another.
    assert world.pushed > 10
    assert world.accepted > 1
    assert world.blocks > 1
