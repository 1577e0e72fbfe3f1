"""Fair scheduling of clients' input, which keeps iterations of the event loop short under any load, so that pages and blocks wait for only
a few iterations. Notices to subscribers are scheduled like input.
"""

import time
from collections import deque
from collections.abc import Callable, Collection

import trio

# Time for input in one iteration of the event loop.
ITERATION_SECONDS_MAX = 0.005
RELEASED_MAX = 64


class _Ticket:
    """Queued input; skipped if `is_over`."""

    __slots__ = ("begin", "is_over")

    def __init__(self, begin: Callable[[], None]) -> None:
        self.begin = begin
        self.is_over = False


class FairInputScheduler(trio.abc.Instrument):
    """Admits input at once while none is queued and the loop iteration is under ITERATION_SECONDS_MAX; else queues it, round-robin by
    address.

    Requests for pages have a separate queue, which comes first but gets at most half of the slots, so that they wait only for other pages.

    As an instrument of trio, it notices the start of a loop iteration by `after_io_wait`.
    """

    def __init__(self, pages: Collection[str] = ()) -> None:
        self._pages = frozenset(pages)
        self._starts = tuple(f"{verb} {path} ".encode() for path in pages for verb in ("GET", "HEAD"))
        self._begun = time.perf_counter()
        self._waiting: dict[str, deque[_Ticket]] = {}
        self._waiting_for_pages: dict[str, deque[_Ticket]] = {}
        self._is_wanted = trio.Event()
        self._released = 1

    def after_io_wait(self, timeout: float) -> None:
        """Start an iteration."""
        self._begun = time.perf_counter()

    def is_for_page(self, data: bytes) -> bool:
        """Whether the bytes begin a request for a page."""
        return data.startswith(self._starts)

    def is_page(self, path: str) -> bool:
        """Whether a page has this path."""
        return path in self._pages

    async def wait(self, address: str, *, is_page: bool = False) -> None:
        """Wait until input of an address is admitted. Not a checkpoint if that is at once."""
        if self.is_open(is_page):
            return
        entered = trio.Event()
        turn = self._wait(address, entered.set, is_page)
        try:
            await entered.wait()
        except trio.Cancelled:
            turn.is_over = True
            raise

    def submit(self, address: str, begin: Callable[[], None], *, is_page: bool = False) -> None:
        """Call `begin` once input of an address is admitted, possibly at once."""
        if self.is_open(is_page):
            begin()
        else:
            self._wait(address, begin, is_page)

    def is_open(self, is_page: bool) -> bool:
        """Whether input, or a request for a page, is admitted at once."""
        waiting = self._waiting_for_pages if is_page else self._waiting
        return not waiting and time.perf_counter() - self._begun < ITERATION_SECONDS_MAX

    def _wait(self, address: str, begin: Callable[[], None], is_page: bool) -> _Ticket:
        turn = _Ticket(begin)
        waiting = self._waiting_for_pages if is_page else self._waiting
        waiting.setdefault(address, deque()).append(turn)
        self._is_wanted.set()
        return turn

    async def run(self) -> None:
        """Admit queued input until cancelled. The number per iteration adapts to the duration of the last one."""
        trio.lowlevel.add_instrument(self)
        try:
            while True:
                await self._is_wanted.wait()
                seconds = time.perf_counter()
                await trio.lowlevel.checkpoint()
                seconds = time.perf_counter() - seconds
                self._released = max(1, self._released // 2) if seconds > ITERATION_SECONDS_MAX else min(RELEASED_MAX, self._released + 1)
                self._release(self._released)
                if not self._waiting and not self._waiting_for_pages:
                    self._is_wanted = trio.Event()
        finally:
            trio.lowlevel.remove_instrument(self)

    def _release(self, count: int) -> None:
        """Admit `count` tickets, pages first."""
        for_pages = count if not self._waiting else (count + 1) // 2
        count -= for_pages - _admit(self._waiting_for_pages, for_pages)
        # At least one of each queue, so that both make progress.
        _admit(self._waiting, max(1, count))


def _admit(waiting: dict[str, deque[_Ticket]], count: int) -> int:
    """Admit up to `count` tickets, round-robin by address. Return the unused rest of `count`."""
    while count and waiting:
        address = next(iter(waiting))
        turns = waiting.pop(address)
        turn = turns.popleft()
        if turns:
            waiting[address] = turns
        if not turn.is_over:
            turn.begin()
            count -= 1
    return count
