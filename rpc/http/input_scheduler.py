"""Whose input is worked on next. However many connections send however much, a turn of the event loop stays short, so that
whoever waits for a page or a block waits for a few short turns. Notices, which nobody has asked for now, take turns like input. It knows no
protocol.
"""

import time
from collections import deque
from collections.abc import Callable, Collection

import trio

# How long input may be worked on in one turn of the event loop.
ITERATION_SECONDS_MAX = 0.005
RELEASED_MAX = 64


class _Ticket:
    """What begins when it is its turn; it is passed over when it is over before."""

    __slots__ = ("begin", "is_over")

    def __init__(self, begin: Callable[[], None]) -> None:
        self.begin = begin
        self.is_over = False


class FairInputScheduler(trio.abc.Instrument):
    """Lets input in at once while the loop has time; otherwise it waits, and addresses take turns.

    Requests for pages have turns of their own, which come first and are at most half of all, so that they wait for other pages only.

    It watches the loop as an instrument of trio: `after_io_wait` begins a turn.
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
        """Begin a turn."""
        self._begun = time.perf_counter()

    def is_for_page(self, data: bytes) -> bool:
        """Whether bytes begin with a request for a page."""
        return data.startswith(self._starts)

    def is_page(self, path: str) -> bool:
        """Whether a path is that of a page."""
        return path in self._pages

    async def wait(self, address: str, *, is_page: bool = False) -> None:
        """Wait until input of an address may be worked on; not a checkpoint when that is now."""
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
        """Begin to work on input of an address, now or when it is its turn."""
        if self.is_open(is_page):
            begin()
        else:
            self._wait(address, begin, is_page)

    def is_open(self, is_page: bool) -> bool:
        """Whether input, or a request for a page, may be worked on now."""
        waiting = self._waiting_for_pages if is_page else self._waiting
        return not waiting and time.perf_counter() - self._begun < ITERATION_SECONDS_MAX

    def _wait(self, address: str, begin: Callable[[], None], is_page: bool) -> _Ticket:
        turn = _Ticket(begin)
        waiting = self._waiting_for_pages if is_page else self._waiting
        waiting.setdefault(address, deque()).append(turn)
        self._is_wanted.set()
        return turn

    async def run(self) -> None:
        """Let in what waits: in each turn of the loop as much as the turn before had time for."""
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
        """Let in so many, pages first."""
        for_pages = count if not self._waiting else (count + 1) // 2
        count -= for_pages - _admit(self._waiting_for_pages, for_pages)
        # Also when a turn has time for one only, both go on.
        _admit(self._waiting, max(1, count))


def _admit(waiting: dict[str, deque[_Ticket]], count: int) -> int:
    """Let in so many, one of each address after another; returns how many more there could have been."""
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
