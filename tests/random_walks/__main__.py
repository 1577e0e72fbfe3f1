"""The command line of the walks: `bin/test walks [--count N] [--seed S] [--jobs J]`.

It runs N seeds from S on, on all cores, and prints the total number of events of each kind. If a seed fails, it prints a command that
repeats the failure, and the exit status is 1.
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter

from tests.random_walks.drivers import DRIVERS
from tests.random_walks.seeds import Result, run_seed

FAILURES_MAX = 10  # a run ends after this number of failures
SECONDS_BETWEEN_LINES = 10.0


def main() -> int:
    """Run the requested seeds."""
    parser = argparse.ArgumentParser(prog="bin/test walks", description="Drives random chains in different ways, and compares them.")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--count", type=int, default=1, help="how many seeds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    arguments = parser.parse_args()
    seeds = range(arguments.seed, arguments.seed + arguments.count)
    counts: Counter[str] = Counter()
    failures: list[Result] = []
    began = last = time.monotonic()
    done = 0
    # Worker processes are replaced after some seeds, so that leftover data can't slow them down.
    with multiprocessing.get_context("spawn").Pool(min(arguments.jobs, len(seeds)), maxtasksperchild=100) as pool:
        for result in pool.imap_unordered(run_seed, seeds):
            done += 1
            counts.update(result.counts)
            if result.failure:
                failures.append(result)
                show(failure_line(result))
            if time.monotonic() - last > SECONDS_BETWEEN_LINES:
                last = time.monotonic()
                show(f"{done} of {len(seeds)} walks in {last - began:.0f} s, {len(failures)} failed")
            if len(failures) >= FAILURES_MAX:
                break
    for name, count in counts.items():
        show(f"{name}: {count:,}")
    ways = ", ".join(DRIVERS)
    show(f"{done} walks, each driven in {len(DRIVERS)} ways ({ways}), in {time.monotonic() - began:.0f} s: {len(failures)} failed")
    return 1 if failures else 0


def failure_line(result: Result) -> str:
    """Describe the failure, with the command that repeats it."""
    return f"FAILED: {result.failure}\n  bin/test walks --seed {result.seed}"


def show(text: str) -> None:
    """Print a line and flush it."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
