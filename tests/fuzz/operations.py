"""Random sequences of operations from hypothesis, with the arguments of tests/fuzz/worker.py: NAME FOLDER RUNS SECONDS SEED.

An input is a pushed operation. The first failing sequence is minimised and printed, and ends the run.
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
    """Run sequences until RUNS operations or SECONDS are reached (0: no limit)."""
    start, number, pushed = time.monotonic(), int(seed), 0
    while (int(runs) < 0 or pushed < int(runs)) and (not int(seconds) or time.monotonic() - start < int(seconds)):
        number += 1
        # The attribute that hypothesis's decorator `seed` sets. For state machines hypothesis reads only the attribute.
        Sequences._hypothesis_internal_use_seed = number
        run_state_machine_as_test(Sequences, settings=SETTINGS)
        pushed = FREE[0].pushed
    print(f"operations: {pushed}\naccepted transactions: {FREE[0].accepted}, blocks: {FREE[0].blocks}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
