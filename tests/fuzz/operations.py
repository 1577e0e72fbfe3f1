"""Sequences of operations for as long as is asked for: NAME FOLDER RUNS SECONDS SEED, like tests/fuzz/worker.py, but by hypothesis.

An input is an operation that is pushed. The first sequence that fails is printed, made as short as possible, and ends the run.
"""

import sys
import time

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.helpers.model_state import FREE, Sequences

EXAMPLES, STEPS = 100, 50
SETTINGS = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    database=None,
    deadline=None,
    derandomize=False,
    print_blob=False,
    suppress_health_check=list(HealthCheck),
)


def main(_name: str, _folder: str, runs: str, seconds: str, seed: str) -> int:
    """Run sequences until there were enough operations, or long enough; 0 of either is no bound."""
    start, number, pushed = time.monotonic(), int(seed), 0
    while (int(runs) < 0 or pushed < int(runs)) and (not int(seconds) or time.monotonic() - start < int(seconds)):
        number += 1
        # What the decorator `seed` of hypothesis sets; of a state machine it reads only this.
        Sequences._hypothesis_internal_use_seed = number
        run_state_machine_as_test(Sequences, settings=SETTINGS)
        pushed = FREE[0].pushed
    print(f"operations: {pushed}\naccepted transactions: {FREE[0].accepted}, blocks: {FREE[0].blocks}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
