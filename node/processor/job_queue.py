"""The jobs that wait for the processor, and which of them is next: those of one client after the other."""

from collections import deque
from typing import Generic, TypeVar

import trio

from rpc.jsonrpc.fair_queue import FairQueue

Job = TypeVar("Job")


class JobQueue(Generic[Job]):
    """Jobs that wait. Client addresses take turns; what is urgent comes before all others.

    So whoever has much to do waits for it himself, and no block comes after it.
    """

    def __init__(self) -> None:
        self._urgent: deque[Job] = deque()
        self._others: FairQueue[Job] = FairQueue()
        self._news = trio.Event()

    def __len__(self) -> int:
        return len(self._urgent) + len(self._others)

    def put(self, job: Job, address: str = "", *, is_urgent: bool = False) -> None:
        """Add a job."""
        if is_urgent:
            self._urgent.append(job)
        else:
            self._others.put(job, address)
        self._news.set()

    def take(self) -> Job | None:
        """Return the next job, None when there is none."""
        return self._urgent.popleft() if self._urgent else self._others.take()

    async def wait(self) -> Job:
        """Return the next job once there is one; always a checkpoint, so that all others have a turn."""
        await trio.lowlevel.checkpoint()
        while (job := self.take()) is None:
            self._news = trio.Event()
            await self._news.wait()
        return job
