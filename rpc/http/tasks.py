"""Tasks of one connection as hypercorn starts them: one per request, with a queue of the events for it.

Unlike hypercorn's queue, `ReceiveQueue` never blocks for a request that has ended, nor for the disconnect event.
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

# Received pieces of a body that the request has not yet taken.
EVENTS_MAX = 10
# Unexpected errors are logged with their traceback, up to this many a minute, since a client can repeat them.
BUGS_LOGGED_MAX = 10
BUGS_LOGGED_SECONDS = 60

AppEvent = dict[str, Any]
_log = Log("http")


class LogLimit:
    """Allows at most `count_max` log lines in `seconds`, and counts the others."""

    def __init__(self, count_max: int, seconds: float) -> None:
        self._count_max, self._seconds = count_max, seconds
        self._begun = -seconds
        self._count = 0
        self.left_out = 0

    def is_allowed(self) -> bool:
        """Whether another line may be logged; `left_out` says how many before it were not."""
        now = trio.current_time()
        if now - self._begun > self._seconds:
            self._begun, self._count = now, 0
        self._count += 1
        if self._count > self._count_max:
            self.left_out += 1
            return False
        return True

    def pop_suppressed(self) -> dict[str, int]:
        """Return the count of suppressed lines as a value for the next line, and reset it."""
        said = {"others_not_logged": self.left_out} if self.left_out else {}
        self.left_out = 0
        return said


class ReceiveQueue:
    """Queue of the events for one request, with at most EVENTS_MAX pieces of the body."""

    def __init__(self) -> None:
        self._events: deque[AppEvent] = deque()
        self._readers = trio.lowlevel.ParkingLot()
        self._writers = trio.lowlevel.ParkingLot()
        self._is_closed = False

    async def put(self, event: AppEvent) -> None:
        """Add an event. Wait for room, unless it is the disconnect."""
        if self._is_closed:
            return
        self._events.append(event)
        self._readers.unpark()
        if not event["type"].endswith(".disconnect"):
            while len(self._events) > EVENTS_MAX and not self._is_closed:
                await self._writers.park()

    async def receive(self) -> AppEvent:
        """Return the next event."""
        while not self._events:
            await self._readers.park()
        self._writers.unpark_all()
        return self._events.popleft()

    def close(self) -> None:
        """Drop all events, and ignore further ones."""
        self._is_closed = True
        self._events.clear()
        self._writers.unpark_all()


class ConnectionTasks:
    """Hypercorn's task group for one connection."""

    def __init__(self, nursery: trio.Nursery, address: str, input_scheduler: FairInputScheduler, bugs: LogLimit) -> None:
        self._nursery, self._address, self._input_scheduler, self._bugs = nursery, address, input_scheduler, bugs

    def spawn(self, function: Callable[..., Awaitable[Any]], *arguments: Any) -> None:
        """Start a task of a protocol."""
        self._nursery.start_soon(function, *arguments)

    async def spawn_app(
        self, app: "AppWrapper", config: "Config", scope: Any, send: Callable[[Any], Awaitable[None]]
    ) -> Callable[[Any], Awaitable[None]]:
        """Start a task for a request. Return the function that takes its events."""
        inbox = ReceiveQueue()
        self._nursery.start_soon(self._run, app, scope, inbox, send)
        return inbox.put

    async def _run(self, app: "AppWrapper", scope: Any, inbox: ReceiveQueue, send: Callable[[Any], Awaitable[None]]) -> None:
        """Run a request to its end. An exception is logged, and ends only this request."""
        try:
            await self._input_scheduler.wait(self._address, is_page=self._input_scheduler.is_page(scope["path"]))
            await app(scope, inbox.receive, send, trio.to_thread.run_sync, trio.from_thread.run)  # type: ignore[arg-type]
        except* Exception as errors:
            log_bug(self._bugs, scope["client"][0], errors)
        finally:
            inbox.close()
            await send(None)


def bugs_logged() -> LogLimit:
    """Return the limit on log lines for unexpected errors."""
    return LogLimit(BUGS_LOGGED_MAX, BUGS_LOGGED_SECONDS)


def log_bug(limit: LogLimit, client: str, errors: BaseExceptionGroup[Exception]) -> None:
    """Log the exceptions of a client's request, within the limit."""
    if limit.is_allowed():
        _log.error("request failed", client=client, exc_info=errors, **limit.pop_suppressed())


@contextmanager
def frames_cleared() -> Iterator[None]:
    """Clear the frames of an exception that leaves the block.

    Trio's nurseries leave exceptions of cancelled tasks in reference cycles. The frames in their tracebacks would keep requests and replies
    in memory, beyond the memory limit, until the collector runs.
    """
    try:
        yield
    except BaseException as error:
        clear_frames(error.__traceback__)
        raise
