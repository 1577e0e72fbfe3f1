"""The command line of the checks of exports: `bin/test export [--count N] [--seed S] [--workload FILE]`.

All recorded cases, and a block log of the recordings' chain if one is named, are exported and compared with the chain: operations with what
`account_history_api.get_ops_in_block` says of each block, totals by SQL with those of the state. Then exports are killed N times.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.conftest import CASES, case_names
from tests.export.comparing import Reader, compare_operations, compare_rewards, compare_totals, exported, replayed, wanted_of
from tests.export.kills import kill_exports

# Their chains began before hardfork 17, when rewards were paid at once.
BEFORE_17 = ("natural_hardforks", "walk_hardforks")
KILLED = "rewards"


def main() -> int:
    """Make the checks that the arguments ask for; the first that fails ends the run with a traceback."""
    parser = argparse.ArgumentParser(prog="bin/test export", description="Checks exports against the chain, and kills them.")
    parser.add_argument("--count", type=int, default=200, help="how many exports are killed")
    parser.add_argument("--seed", type=int, default=1, help="of the moments at which they are")
    parser.add_argument("--workload", type=Path, help="a longer block log of the chain steem-testnet")
    arguments = parser.parse_args()
    logs = {name: CASES / name / "block_log" for name in case_names()}
    if arguments.workload is not None:
        logs["workload"] = arguments.workload
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="coind-export-") as folder:
        # First, while this process has no threads yet: what is killed is made by forks of it.
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
    """Compare the export of a block log with its chain; returns what was compared in a line."""
    export = exported(wanted_of(log, to))
    reader, chain = Reader(export), replayed(log, export.wanted.spec)
    counts = compare_operations(reader, chain)
    compare_totals(reader, chain)
    paid = 0 if name in BEFORE_17 else compare_rewards(reader, chain.state)
    return f"{name}: {counts.total():,} operations of {len(counts)} kinds, {len(chain.state.accounts):,} accounts, {paid:,} with rewards"


def show(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
