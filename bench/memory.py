"""Memory of processes, as Linux reports it."""

from pathlib import Path

import trio

EVERY_SECONDS = 0.05


async def watch_own_memory(pid: int, sizes: list[int]) -> None:
    """Append the result of `own_memory_of_all` to `sizes` every EVERY_SECONDS until cancelled."""
    while True:
        sizes.append(await trio.to_thread.run_sync(own_memory_of_all, pid))
        await trio.sleep(EVERY_SECONDS)


def own_memory_of_all(pid: int) -> int:
    """Return the bytes of memory that a process and its descendants don't share with others."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return memory(str(pid), "Private_Dirty") + sum(own_memory_of_all(int(child)) for child in children)
    except (OSError, StopIteration):  # the process has ended
        return 0


def memory(process: str, kind: str) -> int:
    """Return the bytes of a kind of memory of a process."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(kind))
