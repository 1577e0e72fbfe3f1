"""The command line of the export tests: `bin/test export [--count N] [--seed S] [--workload FILE]`.

It exports all recorded cases and, with `--workload`, a block log of the same chain. It compares each block's exported operations with the
reply of `account_history_api.get_ops_in_block`, and totals that SQL computes with the totals of the state. Then it kills exports N times.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.conftest import CASES, case_names
from tests.export.comparing import Reader, compare_operations, compare_rewards, compare_totals, exported, replayed, wanted_of
from tests.export.kills import kill_exports

# The chains of these cases began before hardfork 17, when rewards were paid immediately.
BEFORE_17 = ("natural_hardforks", "walk_hardforks")
KILLED = "rewards"


def main() -> int:
    """Run the requested tests. The first failure ends the run with a traceback."""
    parser = argparse.ArgumentParser(prog="bin/test export", description="Checks exports against the chain, and kills them.")
    parser.add_argument("--count", type=int, default=200, help="the number of exports to kill")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the kill times")
    parser.add_argument("--workload", type=Path, help="a longer block log of the chain steem-testnet")
    arguments = parser.parse_args()
    logs = {name: CASES / name / "block_log" for name in case_names()}
    if arguments.workload is not None:
        logs["workload"] = arguments.workload
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="coind-export-") as folder:
        # Killed exports run in forks of this process, so this test comes first, before the process has threads.
        if arguments.count:
            done = kill_exports(logs[KILLED], Path(folder), arguments.count, arguments.seed)
            show(
                f"{done.kills} exports killed, with {done.ranges:,} ranges there; {done.ends} came to their end,"
                f" each byte for byte as without kills, in {time.monotonic() - began:.0f} s"
            )
        for name, log in logs.items():
            show(compared(name, log, Path(folder) / name))
    return 0


def compared(name: str, log: Path, to: Path) -> str:
    """Compare the export of a block log with its chain. Return a line that summarises the comparison."""
    export = exported(wanted_of(log, to))
    reader, chain = Reader(export), replayed(log, export.wanted.spec)
    counts = compare_operations(reader, chain)
    compare_totals(reader, chain)
    paid = 0 if name in BEFORE_17 else compare_rewards(reader, chain.state)
    return f"{name}: {counts.total():,} operations of {len(counts)} kinds, {len(chain.state.accounts):,} accounts, {paid:,} with rewards"


def show(text: str) -> None:
    """Print a line and flush it."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
