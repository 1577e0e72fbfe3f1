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
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        own = next(int(line.split()[1]) << 10 for line in lines if line.startswith("Private_Dirty"))
        return own + sum(own_memory_of_all(int(child)) for child in children)
    except (OSError, StopIteration):  # the process has ended
        return 0
