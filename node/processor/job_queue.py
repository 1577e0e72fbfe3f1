"""The processor's job queue, fair between clients."""

from collections import deque
from typing import Generic, TypeVar

import trio

from rpc.jsonrpc.fair_queue import FairQueue

Job = TypeVar("Job")


class JobQueue(Generic[Job]):
    """Queue of jobs. Urgent jobs come first; the others are taken round-robin by client address.

    A client with many jobs therefore delays only its own jobs, and never a block, whose job is urgent.
    """

    def __init__(self) -> None:
        self._urgent: deque[Job] = deque()
        self._others: FairQueue[Job] = FairQueue()
        self._news = trio.Event()

    def __len__(self) -> int:
        return len(self._urgent) + len(self._others)

    def put(self, job: Job, address: str = "", *, is_urgent: bool = False) -> None:
        """Append a job."""
        if is_urgent:
            self._urgent.append(job)
        else:
            self._others.put(job, address)
        self._news.set()

    def take(self) -> Job | None:
        """Remove and return the next job, or None."""
        return self._urgent.popleft() if self._urgent else self._others.take()

    async def wait(self) -> Job:
        """Wait for the next job, remove it and return it. This is always a trio checkpoint, so that other tasks run."""
        await trio.lowlevel.checkpoint()
        while (job := self.take()) is None:
            self._news = trio.Event()
            await self._news.wait()
        return job
