"""Verifies ranges in local processes, at most `processes` at a time. A process that ends without a result is retried once."""

import subprocess
import sys
from collections.abc import AsyncIterator
from functools import partial

import msgspec
import trio

from node.replay.parallel.range_progress import RangeProgress
from node.replay.parallel.ranges import Range, RangeResult
from node.runtime.install_location import own_environment

ATTEMPTS = 2


async def verify_locally(ranges: list[Range], processes: int, progress: RangeProgress) -> None:
    """Verify ranges, and report their progress and results."""
    limit = trio.CapacityLimiter(processes)
    async with trio.open_nursery() as nursery:
        for place, part in enumerate(ranges):
            await limit.acquire_on_behalf_of(place)
            nursery.start_soon(_verify, place, part, progress, limit)


async def _verify(place: int, part: Range, progress: RangeProgress, limit: trio.CapacityLimiter) -> None:
    try:
        ended = 0
        for _ in range(ATTEMPTS):
            found = await _run(place, part, progress)
            if isinstance(found, RangeResult):
                progress.end(place, found)
                return
            ended = found
        progress.end(place, RangeResult(failure=f"its process ended {ATTEMPTS} times without a result, the last time with status {ended}"))
    finally:
        limit.release_on_behalf_of(place)


async def _run(place: int, part: Range, progress: RangeProgress) -> RangeResult | int:
    """Run a process for a range. Return the result, or the exit status of a process without one."""
    outcome: RangeResult | None = None
    async with trio.open_nursery() as nursery:
        command = [sys.executable, "-P", "-m", "node.replay.parallel.worker"]
        options = {"env": own_environment(), "stdin": msgspec.json.encode(part), "stdout": subprocess.PIPE, "check": False}
        start = partial(trio.run_process, command, **options)
        process: trio.Process = await nursery.start(start)
        progress.begin(place, process.pid)
        assert process.stdout is not None
        async for line in lines(process.stdout):
            found = msgspec.json.decode(line, type=int | RangeResult)
            if isinstance(found, RangeResult):
                outcome = found
            else:
                progress.reach(place, found)
    if outcome is not None:
        return outcome
    assert process.returncode is not None
    return process.returncode


async def lines(stream: trio.abc.ReceiveStream) -> AsyncIterator[bytes]:
    """Yield the complete lines of a stream."""
    left = b""
    async for part in stream:
        *whole, left = (left + part).split(b"\n")
        for line in whole:
            yield line
