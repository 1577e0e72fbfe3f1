"""The tasks that hypercorn starts for a connection: one per request, each with a queue of the request's events.

Unlike hypercorn's queue, `ReceiveQueue` never blocks on a request that has ended, and never blocks to add the disconnect event.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from traceback import clear_frames
from typing import TYPE_CHECKING, Any

import trio

from rpc.http.input_scheduler import FairInputScheduler
from rpc.log import Log

if TYPE_CHECKING:
    from hypercorn.config import Config
    from hypercorn.typing import AppWrapper

# Maximum number of received body chunks that wait to be read by the request.
EVENTS_MAX = 10
# At most this number of unexpected errors per minute are logged with their traceback, since a client can repeat them.
BUGS_LOGGED_MAX = 10
BUGS_LOGGED_SECONDS = 60

AppEvent = dict[str, Any]
_log = Log("http")


class LogLimit:
    """Rate limit: allows at most `count_max` log lines in `seconds`, and counts the suppressed lines."""

    def __init__(self, count_max: int, seconds: float) -> None:
        self._count_max, self._seconds = count_max, seconds
        self._begun = -seconds
        self._count = 0
        self.suppressed = 0

    def is_allowed(self) -> bool:
        """Whether another line may be logged. If not, the line is counted in `suppressed`."""
        now = trio.current_time()
        if now - self._begun > self._seconds:
            self._begun, self._count = now, 0
        self._count += 1
        if self._count > self._count_max:
            self.suppressed += 1
            return False
        return True

    def pop_suppressed(self) -> dict[str, int]:
        """Return the number of suppressed lines as a field for the next log line, and reset the number."""
        value = {"others_not_logged": self.suppressed} if self.suppressed else {}
        self.suppressed = 0
        return value


class ReceiveQueue:
    """Queue of the events for one request, with at most EVENTS_MAX chunks of the body."""

    def __init__(self) -> None:
        self._events: deque[AppEvent] = deque()
        self._readers = trio.lowlevel.ParkingLot()
        self._writers = trio.lowlevel.ParkingLot()
        self._is_closed = False

    async def put(self, event: AppEvent) -> None:
        """Add an event. If the queue is full, wait for space. The disconnect event never waits."""
        if self._is_closed:
            return
        self._events.append(event)
        self._readers.unpark()
        if not event["type"].endswith(".disconnect"):
            while len(self._events) > EVENTS_MAX and not self._is_closed:
                await self._writers.park()

    async def receive(self) -> AppEvent:
        """Wait for the next event and return it."""
        while not self._events:
            await self._readers.park()
        self._writers.unpark_all()
        return self._events.popleft()

    def close(self) -> None:
        """Drop all queued events, and ignore later events."""
        self._is_closed = True
        self._events.clear()
        self._writers.unpark_all()


class ConnectionTasks:
    """The task group that hypercorn uses for one connection."""

    def __init__(self, nursery: trio.Nursery, address: str, input_scheduler: FairInputScheduler, bugs: LogLimit) -> None:
        self._nursery, self._address, self._input_scheduler, self._bugs = nursery, address, input_scheduler, bugs

    def spawn(self, function: Callable[..., Awaitable[Any]], *arguments: Any) -> None:
        """Start a task for a protocol."""
        self._nursery.start_soon(function, *arguments)

    async def spawn_app(
        self, app: "AppWrapper", config: "Config", scope: Any, send: Callable[[Any], Awaitable[None]]
    ) -> Callable[[Any], Awaitable[None]]:
        """Start a task that runs the app for a request. Return the function with which the protocol passes the request's events to the
        task.
        """
        queue = ReceiveQueue()
        self._nursery.start_soon(self._run, app, scope, queue, send)
        return queue.put

    async def _run(self, app: "AppWrapper", scope: Any, queue: ReceiveQueue, send: Callable[[Any], Awaitable[None]]) -> None:
        """Run a request to its end. An exception is logged and ends only this request."""
        try:
            await self._input_scheduler.wait(self._address, is_page=self._input_scheduler.is_page(scope["path"]))
            await app(scope, queue.receive, send, trio.to_thread.run_sync, trio.from_thread.run)  # type: ignore[arg-type]
        except* Exception as errors:
            log_bug(self._bugs, scope["client"][0], errors)
        finally:
            queue.close()
            await send(None)


def bugs_logged() -> LogLimit:
    """Return a rate limit for log lines about unexpected errors."""
    return LogLimit(BUGS_LOGGED_MAX, BUGS_LOGGED_SECONDS)


def log_bug(limit: LogLimit, client: str, errors: BaseExceptionGroup[Exception]) -> None:
    """Log the exceptions of a client's request, unless the rate limit is reached."""
    if limit.is_allowed():
        _log.error("request failed", client=client, exc_info=errors, **limit.pop_suppressed())


@contextmanager
def frames_cleared() -> Iterator[None]:
    """Context manager that clears the stack frames of an exception that leaves it.

    Trio's nurseries leave exceptions of cancelled tasks in reference cycles. Until the garbage collector runs, the stack frames in their
    tracebacks would keep requests and replies in memory that the memory limit no longer counts.
    """
    try:
        yield
    except BaseException as error:
        clear_frames(error.__traceback__)
        raise
