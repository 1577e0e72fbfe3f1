"""The jobs that wait for the processor, and which of them is next: those of one client after the other.

It knows nothing of what they are.
"""

from collections import OrderedDict, deque
from typing import Generic, TypeVar

import trio

Job = TypeVar("Job")

OWN = ""  # the node itself, and programs with local rights


class Jobs(Generic[Job]):
    """Jobs that wait, by whose they are. Each has its turn, with the oldest job that it has; what is urgent comes before all others.

    So whoever has much to do waits for it himself, and no block comes after it.
    """

    def __init__(self) -> None:
        self._urgent: deque[Job] = deque()
        self._queues: OrderedDict[str, deque[Job]] = OrderedDict()
        self._length = 0
        self._news = trio.Event()

    def __len__(self) -> int:
        return self._length

    def put(self, job: Job, whose: str = OWN, *, is_urgent: bool = False) -> None:
        """Add a job."""
        if is_urgent:
            self._urgent.append(job)
        else:
            queue = self._queues.get(whose)
            if queue is None:
                queue = self._queues[whose] = deque()
            queue.append(job)
        self._length += 1
        self._news.set()

    def take(self) -> Job | None:
        """Return the next job, None when there is none."""
        if not self._length:
            return None
        self._length -= 1
        if self._urgent:
            return self._urgent.popleft()
        whose, queue = self._queues.popitem(last=False)
        job = queue.popleft()
        if queue:
            self._queues[whose] = queue
        return job

    async def wait(self) -> Job:
        """Return the next job once there is one; always a checkpoint, so that all others have a turn."""
        await trio.lowlevel.checkpoint()
        while (job := self.take()) is None:
            self._news = trio.Event()
            await self._news.wait()
        return job
