"""Measures the library for scripts: reading blocks, building the last state, and iterating over all blocks with and without their changes.

Run: .venv/bin/python -m bench.library [BLOCK_LOG] [--chain NAME] [--runs N]

Each run has a separate process, and the best run is reported. Seconds are CPU time.
"""

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.replay import CASES, KILOBYTE
from node.research.library import chain_at, open_blocks, replayed

Task = Callable[[Path, str], object]


def last_of(path: Path, chain: str) -> int:
    """Return the number of the last block in a block log."""
    with open_blocks(path, chain) as blocks:
        return blocks.last


TASKS: dict[str, Task] = {
    "open_blocks": lambda path, chain: sum(len(block.transactions) for block in open_blocks(path, chain)),
    "chain_at the end, no plugins": lambda path, chain: chain_at(path, last_of(path, chain), chain, plugins=()).number,
    "chain_at the end, the spec's plugins": lambda path, chain: chain_at(path, last_of(path, chain), chain).number,
    "replayed, without changes": lambda path, chain: sum(len(step.operations) for step in replayed(path, chain, has_changes=False)),
    "replayed, with changes": lambda path, chain: sum(len(step.changes) for step in replayed(path, chain)),
}


def measure(name: str, path: Path, chain: str) -> None:
    """Run one task in this process, and print its seconds and megabytes."""
    start = time.process_time()
    TASKS[name](path, chain)
    seconds = time.process_time() - start
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KILOBYTE)


def main() -> None:
    """Measure all tasks, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", type=Path, default=CASES / "walk_random" / "block_log")
    parser.add_argument("--chain", default="steem-testnet")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--task", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        measure(options.task, options.path, options.chain)
        return
    print("| task | s | MB |\n|---|---|---|")
    for name in TASKS:
        command = [sys.executable, "-m", "bench.library", str(options.path), "--chain", options.chain, "--task", name]
        found = [plain_run(command) for _ in range(options.runs)]
        print(f"| {name} | {min(seconds for seconds, _ in found):.2f} | {min(size for _, size in found):.0f} |", flush=True)


def plain_run(command: list[str]) -> tuple[float, float]:
    """Run a process, and return the two numbers that it prints."""
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seconds, megabytes = map(float, printed.split())
    return seconds, megabytes


if __name__ == "__main__":
    main()
