"""Measures a replay: seconds, microseconds and key recoveries per transaction, and memory.

Run: .venv/bin/python -m bench.replay [BLOCK_LOG] [--chain NAME] [--workers N] [--profile]

Each mode runs in a separate process. The time excludes block 1, which creates the genesis state. The default file is the longest block log
of the recorded cases. For the shared workload, the reference needs 6.7 key recoveries per transaction with every check, and 1.8 without
checks.
"""

import argparse
import cProfile
import gzip
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.recovery import recovery_seconds
from node.history.apply import BLOCKS_BETWEEN_FREEZES, ChainCursor
from node.history.sources import open_source
from node.key_recovery.pool import default_workers
from node.runtime.memory import freeze_loaded_objects, tune_collector
from node.specs.builder import load_spec
from node.specs.plugins import chosen_plugins
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.skip import TRUSTED
from state.plugins.registry import enable

CASES = Path(__file__).resolve().parent.parent / "tests" / "conformance" / "cases"
KILOBYTE = 1024
LINES = 45


def plain(path: Path) -> Path:
    """Return the path of an uncompressed file. For a compressed file, write a temporary copy, so that decompression isn't measured."""
    if path.suffix != ".gz":
        return path
    copy = Path(tempfile.mkdtemp(prefix="coind-bench-")) / "block_log"
    copy.write_bytes(gzip.decompress(path.read_bytes()))
    return copy


def measure(path: Path, chain: str, verify: str, workers: int) -> None:
    """Replay in this process, and print the figures. The time of the worker processes is a separate figure."""
    tune_collector()
    spec = load_spec(chain)
    chosen = chosen_plugins(spec)
    node = Chain(new_state(spec, lambda fresh: enable(fresh, chosen)))
    cursor = ChainCursor(node, open_source(path, node.state.wire), skip_flags=TRUSTED if verify == "none" else 0, workers=workers)
    blocks = transactions = operations = 0
    start = wall = 0.0
    for block in cursor.blocks:
        cursor.apply(block)
        if not blocks:
            start, wall = time.process_time(), time.perf_counter()
        blocks += 1
        if blocks % BLOCKS_BETWEEN_FREEZES == 0:
            freeze_loaded_objects()
        transactions += len(block.transactions)
        operations += sum(len(trx.operations) for trx in block.transactions)
    seconds, passed = time.process_time() - start, time.perf_counter() - wall
    cursor.close()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    each = seconds / max(transactions, 1)
    recovery = recovery_seconds()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KILOBYTE
    print(
        f"verify {verify}: {blocks} blocks, {transactions} transactions, {operations} operations in {seconds:.2f} s of CPU time "
        f"({passed:.2f} s): {each * 1e6:.1f} µs per transaction = {each / recovery:.2f} recoveries ({recovery * 1e6:.1f} µs each); "
        f"peak memory {memory:.0f} MB; {workers} workers: {used.ru_utime + used.ru_stime:.2f} s of CPU time"
    )


def main() -> None:
    """Measure the replay with and without checks, or print a profile."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--chain", default="steem-testnet")
    parser.add_argument("--verify", choices=("all", "none"))
    parser.add_argument("--workers", type=int, help="processes that prefetch key recoveries (default: one per additional core)")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    path = plain(options.file or max(CASES.glob("*/block_log"), key=lambda log: log.stat().st_size))
    workers = default_workers() if options.workers is None else options.workers
    if options.profile:
        profile = cProfile.Profile()
        profile.runcall(measure, path, options.chain, options.verify or "none", workers)
        pstats.Stats(profile).sort_stats("tottime").print_stats(LINES)
        return
    if options.verify:
        measure(path, options.chain, options.verify, workers)
        return
    for verify in ("all", "none"):
        command = [sys.executable, "-m", "bench.replay", str(path), "--chain", options.chain, "--verify", verify]
        command += ["--workers", str(workers)]
        subprocess.run(command, check=True, cwd=CASES.parent.parent.parent)


if __name__ == "__main__":
    main()
