"""Verifies ranges in local processes, at most `processes` at a time. A process that ends without a result is retried once."""

import subprocess
import sys
from functools import partial

import msgspec
import trio

from node.client.lines import LineSplitter
from node.replay.parallel.range_progress import RangeProgress
from node.replay.parallel.ranges import Range, RangeResult
from node.runtime.install_location import own_environment

ATTEMPTS = 2


async def verify_locally(ranges: list[Range], processes: int, progress: RangeProgress) -> None:
    """Verify ranges, and report their progress and results."""
    limit = trio.CapacityLimiter(processes)
    async with trio.open_nursery() as nursery:
        for index, part in enumerate(ranges):
            await limit.acquire_on_behalf_of(index)
            nursery.start_soon(_verify, index, part, progress, limit)


async def _verify(index: int, wanted: Range, progress: RangeProgress, limit: trio.CapacityLimiter) -> None:
    try:
        ended = 0
        for _ in range(ATTEMPTS):
            found = await _run(index, wanted, progress)
            if isinstance(found, RangeResult):
                progress.end(index, found)
                return
            ended = found
        progress.end(index, RangeResult(failure=f"its process ended {ATTEMPTS} times without a result, the last time with status {ended}"))
    finally:
        limit.release_on_behalf_of(index)


async def _run(index: int, wanted: Range, progress: RangeProgress) -> RangeResult | int:
    """Verify a range in a separate process. Return the result, or the exit status if the process ended without a result."""
    outcome: RangeResult | None = None
    async with trio.open_nursery() as nursery:
        command = [sys.executable, "-P", "-m", "node.replay.parallel.worker"]
        options = {"env": own_environment(), "stdin": msgspec.json.encode(wanted), "stdout": subprocess.PIPE, "check": False}
        start = partial(trio.run_process, command, **options)
        process: trio.Process = await nursery.start(start)
        progress.begin(index, process.pid)
        assert process.stdout is not None
        splitter = LineSplitter()
        async for part in process.stdout:
            for line in splitter.add(bytes(part)):
                found = msgspec.json.decode(line, type=int | RangeResult)
                if isinstance(found, RangeResult):
                    outcome = found
                else:
                    progress.reach(index, found)
    if outcome is not None:
        return outcome
    assert process.returncode is not None
    return process.returncode
