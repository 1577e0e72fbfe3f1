"""Verifies ranges in processes of this machine, so many at a time. A process that ends without an outcome is tried once more."""

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
    """Verify ranges, and put how far each has come, and its outcome, on the board."""
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
        progress.end(place, RangeResult(failure=f"its process has ended {ATTEMPTS} times without an outcome, with status {ended}"))
    finally:
        limit.release_on_behalf_of(place)


async def _run(place: int, part: Range, progress: RangeProgress) -> RangeResult | int:
    """Return the outcome of a range, or the status of a process that has ended without one."""
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
    """Yield the lines of a stream; what is behind the last one is left out."""
    left = b""
    async for part in stream:
        *whole, left = (left + part).split(b"\n")
        for line in whole:
            yield line
