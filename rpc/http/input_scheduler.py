"""Fair scheduling of client input. It keeps the iterations of the event loop short under any load.

Requests for pages and new blocks therefore wait for only a few iterations. Notices to subscribers are scheduled in the same way.
"""

import time
from collections import deque
from collections.abc import Callable, Collection

import trio

# Maximum time for client input in one iteration of the event loop.
ITERATION_SECONDS_MAX = 0.005
RELEASED_MAX = 64


class _Ticket:
    """A queued input. If `is_over` is true, the input is no longer needed and will be skipped."""

    __slots__ = ("begin", "is_over")

    def __init__(self, begin: Callable[[], None]) -> None:
        self.begin = begin
        self.is_over = False


class FairInputScheduler(trio.abc.Instrument):
    """Admits client input, either at once or from a queue.

    Input is admitted at once if nothing is queued and the current loop iteration has taken less than ITERATION_SECONDS_MAX. Other input is
    queued, and admitted round-robin by address.

    Requests for pages have a separate queue with priority, but they get at most half of the slots. Pages therefore wait only for other
    pages.

    The scheduler is a trio instrument, whose `after_io_wait` is called at the start of each loop iteration.
    """

    def __init__(self, pages: Collection[str] = ()) -> None:
        self._pages = frozenset(pages)
        self._starts = tuple(f"{verb} {path} ".encode() for path in pages for verb in ("GET", "HEAD"))
        self._iteration_start = time.perf_counter()
        self._waiting: dict[str, deque[_Ticket]] = {}
        self._waiting_for_pages: dict[str, deque[_Ticket]] = {}
        self._has_waiting = trio.Event()
        self._released = 1

    def after_io_wait(self, timeout: float) -> None:
        """Record the start of a loop iteration."""
        self._iteration_start = time.perf_counter()

    def is_for_page(self, data: bytes) -> bool:
        """Whether the bytes are the beginning of a request for a page."""
        return data.startswith(self._starts)

    def is_page(self, path: str) -> bool:
        """Whether the path is that of a page, for example /health."""
        return path in self._pages

    def admits(self, data: bytes) -> bool:
        """Whether received bytes are admitted immediately."""
        if self._waiting or self._waiting_for_pages:
            return self.is_open(self.is_for_page(data))
        return time.perf_counter() - self._iteration_start < ITERATION_SECONDS_MAX

    async def wait(self, address: str, *, is_page: bool = False) -> None:
        """Wait until an input of the address is admitted. This is a checkpoint only if it waits."""
        if self.is_open(is_page):
            return
        entered = trio.Event()
        ticket = self._wait(address, entered.set, is_page)
        try:
            await entered.wait()
        except trio.Cancelled:
            ticket.is_over = True
            raise

    def submit(self, address: str, begin: Callable[[], None], *, is_page: bool = False) -> None:
        """Call `begin` when an input of the address is admitted, possibly immediately."""
        if self.is_open(is_page):
            begin()
        else:
            self._wait(address, begin, is_page)

    def is_open(self, is_page: bool) -> bool:
        """Whether an input would be admitted immediately. With `is_page`, the input is a request for a page."""
        waiting = self._waiting_for_pages if is_page else self._waiting
        return not waiting and time.perf_counter() - self._iteration_start < ITERATION_SECONDS_MAX

    def _wait(self, address: str, begin: Callable[[], None], is_page: bool) -> _Ticket:
        ticket = _Ticket(begin)
        waiting = self._waiting_for_pages if is_page else self._waiting
        waiting.setdefault(address, deque()).append(ticket)
        self._has_waiting.set()
        return ticket

    async def run(self) -> None:
        """Admit queued inputs until cancelled. The number of inputs per loop iteration adapts to the duration of the last iteration."""
        trio.lowlevel.add_instrument(self)
        try:
            while True:
                await self._has_waiting.wait()
                seconds = time.perf_counter()
                await trio.lowlevel.checkpoint()
                seconds = time.perf_counter() - seconds
                self._released = max(1, self._released // 2) if seconds > ITERATION_SECONDS_MAX else min(RELEASED_MAX, self._released + 1)
                self._release(self._released)
                if not self._waiting and not self._waiting_for_pages:
                    self._has_waiting = trio.Event()
        finally:
            trio.lowlevel.remove_instrument(self)

    def _release(self, count: int) -> None:
        """Admit `count` queued inputs, pages first."""
        for_pages = count if not self._waiting else (count + 1) // 2
        count -= for_pages - _admit(self._waiting_for_pages, for_pages)
        # Admits at least one input from each queue, so that both queues make progress.
        _admit(self._waiting, max(1, count))


def _admit(waiting: dict[str, deque[_Ticket]], count: int) -> int:
    """Admit up to `count` queued inputs, round-robin by address. Return how many more could have been admitted."""
    while count and waiting:
        address = next(iter(waiting))
        tickets = waiting.pop(address)
        ticket = tickets.popleft()
        if tickets:
            waiting[address] = tickets
        if not ticket.is_over:
            ticket.begin()
            count -= 1
    return count
