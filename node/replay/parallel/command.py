"""`coind replay --parallel`: verifies the ranges of a file, in local processes or on a cluster, and prints the results."""

import re
import time
from functools import partial
from pathlib import Path

import trio

from node.key_recovery.pool import default_workers
from node.replay.parallel.local import verify_locally
from node.replay.parallel.range_progress import RangeProgress
from node.replay.parallel.ranges import RangeResult, belong_to, ranges_of
from node.runtime.errors import FileError, NodeError, StateError, Status
from node.runtime.output import say
from node.runtime.shutdown import cancelled_by, run_to_end, stopped_by_signals
from state.protocol.spec import ChainSpec

PROCESSES_MAX = 256

_LOCAL, _RAY = re.compile("[0-9]{1,3}", re.ASCII), re.compile(r"ray://[^/\s]+:[0-9]{1,5}|ray:[1-9][0-9]{0,2}", re.ASCII)


def parallel_by_default(source: Path, spec: ChainSpec, snapshots: Path) -> str | None:
    """Return one process per core, for the ranges between the snapshots of a folder, or None if they are not of these blocks."""
    if not belong_to(snapshots, source, spec):
        return None
    processes = str(default_workers() + 1)
    say(f"{snapshots} has snapshots of {source}. Checking the ranges between them (--parallel {processes}).")
    return processes


def verify_in_parallel(source: Path, chain: str, snapshots: Path, where: str, *, is_trusted: bool) -> int:
    """Verify the ranges of blocks between the snapshots of a folder. `where` is the number of local processes, or the address of a Ray
    cluster.

    Raises StateError if a range leads to another state than that of the next snapshot, and FileError if a block can't be applied.
    """
    is_local = _LOCAL.fullmatch(where) is not None and 0 < int(where) <= PROCESSES_MAX
    if not is_local and not _RAY.fullmatch(where):
        raise NodeError(f"--parallel {where}: expected a number of processes up to {PROCESSES_MAX}, ray://HOST:PORT or ray:N")
    progress = RangeProgress(ranges_of(source, chain, snapshots, is_trusted=is_trusted))
    begun = time.monotonic()
    try:
        if is_local:
            run_to_end(partial(_verify_locally, int(where), progress))
        else:
            from node.replay.parallel.cluster import verify_on_ray

            verify_on_ray(progress.ranges, where, progress)
    except KeyboardInterrupt:
        pass
    if len(progress.outcomes) < len(progress.ranges):
        say(progress.line())
        return Status.INTERRUPTED
    return show(progress, time.monotonic() - begun)


async def _verify_locally(processes: int, progress: RangeProgress) -> int:
    """Verify ranges in local processes until all are done. A signal ends the processes."""
    stop = trio.Event()
    async with stopped_by_signals(stop), cancelled_by(stop):
        await verify_locally(progress.ranges, processes, progress)
    return Status.DONE


def show(progress: RangeProgress, seconds: float) -> int:
    """Print the result of each range, and the totals in the format of a replay. Raises NodeError if a range failed."""
    outcomes = [progress.outcomes[index] for index in range(len(progress.ranges))]
    for index, (part, outcome) in enumerate(zip(progress.ranges, outcomes, strict=True), 1):
        say(f"range {index}: {part}: {outcome.failure or f'{outcome.digest}, {outcome.blocks:,} blocks in {outcome.seconds:.1f} s'}")
    if wrong := [(index, outcome) for index, outcome in enumerate(outcomes, 1) if outcome.failure]:
        raise failure(wrong)
    last = outcomes[-1]
    blocks, transactions = sum(each.blocks for each in outcomes), sum(each.transactions for each in outcomes)
    say(f"head block {last.number} {last.block_id}")
    rate = f"{transactions / seconds:,.0f} transactions/s, {blocks / seconds:,.0f} blocks/s"
    say(f"{blocks:,} blocks, {transactions:,} transactions in {seconds:.3f} s, {len(outcomes)} ranges: {rate}")
    say(f"state digest: {last.digest}")
    return Status.DONE


def failure(wrong: list[tuple[int, RangeResult]]) -> NodeError:
    """Return the error to report: that of the first range with a wrong state or, if there is none, of the first range that failed."""
    index, outcome = next(((index, each) for index, each in wrong if each.is_state), wrong[0])
    more = f". {len(wrong) - 1} more ranges failed." if len(wrong) > 1 else ""
    kind = StateError if outcome.is_state else FileError
    return kind(f"range {index}, after block {outcome.number}: {outcome.failure}{more}")
