"""Fuzzes the parsers: `bin/test fuzz [TARGET]... [--runs N | --seconds S]`, described in tests/fuzz/README.md.

Each target runs in a separate process, several in parallel. At the end a table is printed, and the status is 1 if there are findings.
"""

import argparse
import importlib.util
import os
import re
import secrets
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct

from tests.conftest import ROOT
from tests.fuzz.registry import TARGETS
from tests.fuzz.target import CORPUS, FOUND, name_of

OPERATIONS, OPERATIONS_SHARE = "operations", 10
RUNS_BY_DEFAULT = 100_000
SEED_MAX = 2**31 - 1
DONE = re.compile(r"^(?:stat::number_of_executed_units: *|operations: )(\d+)", re.MULTILINE)
COVERED = re.compile(r"cov: (\d+)")


class Outcome(Struct, frozen=True):
    """The result of a target's run: inputs, seconds, covered branches, and whether it failed."""

    name: str
    inputs: int
    seconds: float
    covered: int
    findings: int
    failed: bool
    log: Path


def main(arguments: list[str]) -> int:
    """Run the named targets, or all."""
    names = [*TARGETS, OPERATIONS]
    parser = argparse.ArgumentParser(prog="bin/test fuzz", description="Fuzz the parsers.")
    parser.add_argument("target", nargs="*", help=f"of {', '.join(names)}; default: all")
    parser.add_argument("--runs", type=int, default=0, help=f"the total number of inputs ({RUNS_BY_DEFAULT:,} by default)")
    parser.add_argument("--seconds", type=int, default=0, help="the duration of each target, instead of a number of inputs")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the search (default: a new one each time)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="the number of targets that run in parallel")
    chosen = parser.parse_args(arguments)
    unknown = set(chosen.target) - set(names)
    if unknown:
        parser.error(f"there is no target {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    if importlib.util.find_spec("atheris") is None:
        print("fuzzing needs atheris, which is installed with the profile fuzz: bin/test fuzz", file=sys.stderr)
        return 2
    seed = chosen.seed or secrets.randbelow(SEED_MAX) + 1
    wanted = chosen.target or names
    shares = {name: OPERATIONS_SHARE if name == OPERATIONS else TARGETS[name].share for name in wanted}
    runs = chosen.runs or (0 if chosen.seconds else RUNS_BY_DEFAULT)
    print(f"seed {seed}; {runs:,} inputs" if runs else f"seed {seed}; {chosen.seconds} s for each target", flush=True)
    with ThreadPoolExecutor(chosen.jobs) as pool:
        asked = [pool.submit(fuzz, name, parts(runs, shares)[name], chosen.seconds, seed) for name in wanted]
        outcomes = [show(each.result()) for each in asked]
    seconds = sum(outcome.seconds for outcome in outcomes)
    inputs = sum(outcome.inputs for outcome in outcomes)
    print(f"{'all':18} {inputs:>11,} inputs {seconds:8.0f} s of processes {inputs / seconds:>8,.0f} a second")
    failed = [outcome for outcome in outcomes if outcome.failed]
    for outcome in failed:
        print(f"{outcome.name}: see {outcome.log} and {FOUND / outcome.name}; again with bin/test fuzz {outcome.name} --seed {seed}")
    return 1 if failed else 0


def parts(runs: int, shares: dict[str, int]) -> dict[str, int]:
    """Return the number of inputs for each target according to its share. If `runs` is 0 the number is -1, which libFuzzer takes as
    unlimited.
    """
    whole = sum(shares.values())
    return {name: max(1, runs * share // whole) if runs else -1 for name, share in shares.items()}


def fuzz(name: str, runs: int, seconds: int, seed: int) -> Outcome:
    """Run a target in a separate process until it ends."""
    CORPUS.mkdir(exist_ok=True)
    module = "tests.fuzz.operations" if name == OPERATIONS else "tests.fuzz.worker"
    log = CORPUS / f"{name}.log"
    command = [sys.executable, "-m", module, name, str(CORPUS / name), str(runs), str(seconds), str(seed)]
    start = time.monotonic()
    with log.open("wb") as output:
        status = subprocess.run(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, check=False).returncode
    rename_finding(name)
    text = log.read_text("utf-8", "replace")
    covered = [int(count) for count in COVERED.findall(text)]
    done = DONE.findall(text)
    findings = text.count("\nfinding ") + text.startswith("finding ")
    failed = status != 0 or findings > 0 or not done
    return Outcome(name, int(done[-1]) if done else 0, time.monotonic() - start, max(covered, default=0), findings, failed, log)


def rename_finding(name: str) -> None:
    """Rename the input that libFuzzer wrote when it ended the process (hang, out of memory), as our own findings are named."""
    folder = FOUND / name
    for path in folder.glob("*-*") if folder.is_dir() else ():
        path.replace(folder / name_of(path.read_bytes()))


def show(outcome: Outcome) -> Outcome:
    """Print a row of the table."""
    rate = outcome.inputs / outcome.seconds
    word = f"FAILED ({outcome.findings} findings)" if outcome.failed else "good"
    counts = f"{outcome.inputs:>11,} inputs {outcome.seconds:8.0f} s {rate:>8,.0f} a second {outcome.covered:>7,} branches"
    print(f"{outcome.name:18} {counts}  {word}", flush=True)
    return outcome


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
