"""The command line of the simulation: `bin/test simulate [--seed S] [--minutes N] [--jobs J] [--only SCENE,...]`.

Without `--minutes` it runs one seed and prints its trace. With it, it runs seeds from S on until N simulated minutes have passed. If a seed
fails, it prints a command that repeats the failure, and the exit status is 1.
"""

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterator

from tests.simulation.ledger import Figures
from tests.simulation.scenes import SCENES
from tests.simulation.seeds import Result, run_seed

FAILURES_MAX = 10  # a run ends after this number of failures
SECONDS_BETWEEN_LINES = 10.0


def main() -> int:
    """Run the command line."""
    arguments = parsed()
    if arguments.minutes is None:
        return report([run_seed((arguments.seed, arguments.only))], arguments.only)
    results, last, began = [], 0.0, time.monotonic()
    total, failed = Figures(), 0
    for result in all_results(arguments):
        results.append(result)
        total.add(result.figures)
        failed += bool(result.failure)
        if result.failure or time.monotonic() - last > SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            seconds = last - began
            speed = total.minutes / total.processor_seconds
            done = f"{total.runs} seeds, {total.minutes:.0f} of {arguments.minutes:.0f} minutes"
            show(f"{done} in {seconds:.0f} s ({speed:.0f} a second of the processor), {failed} failed")
        if result.failure:
            show(failure_line(result, arguments.only))
        if total.minutes >= arguments.minutes or failed >= FAILURES_MAX:
            break
    return report(results, arguments.only)


def parsed() -> argparse.Namespace:
    """Return the arguments."""
    parser = argparse.ArgumentParser(prog="bin/test simulate", description="Simulates nodes, clients and faults from a seed.")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--minutes", type=float, help="run seeds until this number of minutes has been simulated")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--only", default="", help=f"scenes, by comma: {', '.join(SCENES)}")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.only.split(",") if name and name not in SCENES]
    if unknown:
        parser.error(f"--only: no scene {unknown[0]}; there are {', '.join(SCENES)}")
    return arguments


def all_results(arguments: argparse.Namespace) -> Iterator[Result]:
    """Yield the results of consecutive seeds as they finish."""
    most = int(arguments.minutes) + FAILURES_MAX  # each takes longer than a minute
    tasks = ((seed, arguments.only) for seed in range(arguments.seed, arguments.seed + most))
    if arguments.jobs == 1:
        yield from map(run_seed, tasks)
        return
    # Worker processes are replaced after some seeds, so that leftover data can't slow them down.
    with multiprocessing.get_context("spawn").Pool(arguments.jobs, maxtasksperchild=50) as pool:
        yield from pool.imap_unordered(run_seed, tasks)


def report(results: list[Result], only: str) -> int:
    """Print the totals and the failed seeds, and return the exit status."""
    total = Figures()
    for result in results:
        total.add(result.figures)
    for name in Figures.__struct_fields__:
        value = getattr(total, name)
        if isinstance(value, dict):
            show(", ".join(f"{scene} {count:,}" for scene, count in sorted(value.items())))
        else:
            show(f"{name.replace('_', ' ')}: {value:,.0f}")
    failures = [result for result in results if result.failure]
    if len(results) == 1:
        show(f"trace: {results[0].trace}")
    for result in failures:
        show(failure_line(result, only))
    return 1 if failures else 0


def failure_line(result: Result, only: str) -> str:
    """Describe the failure, with a command that repeats it."""
    return f"FAILED: {result.failure}\n  bin/test simulate --seed {result.seed}" + (f" --only {only}" if only else "")


def show(text: str) -> None:
    """Print a line and flush it."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
