"""Limits of the fetches that clients can cause, and of the time that their calls wait for the source."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from node.fork.source import SourceSilent
from rpc.caller import Caller
from rpc.declare.demand import TOO_OFTEN, UNANSWERED, NotFetched
from rpc.declare.errors import RefusedTooOften
from rpc.jsonrpc.allowance import Allowances
from rpc.jsonrpc.fair_queue import FairLimiter
from rpc.jsonrpc.scheduler import Stopwatch

CALL_SECONDS_MAX = 20  # a call's wait for the source
PATIENCE_SECONDS = 8  # how long a call of the source is repeated while it gives no usable reply
FETCHES_MAX = 8  # concurrent fetches; further ones wait, round-robin by client address
UNITS_PER_KEY = 100  # units of a client's allowance for each fetched thing: 200 at once, then 10 per second
SILENT_SECONDS = 5  # pause after the source was silent


class SourceLimits:
    """Limits of one source, `url`. An address has an allowance of fetches; clients with local rights have no limit."""

    def __init__(self, url: str, stopwatch: Stopwatch) -> None:
        self.url, self.stopwatch = url, stopwatch
        self.allowances = Allowances(stopwatch)
        self._limiter = FairLimiter(FETCHES_MAX)
        self._silent_until, self._why_silent = float("-inf"), ""

    def require(self, caller: Caller, count: int, what: str) -> None:
        """Charge a caller's allowance for `count` things, one of which is `what`. Raises NotFetched if the allowance is used up, or if the
        source was silent just now.
        """
        try:
            self.allowances.units_max(caller)
        except RefusedTooOften as error:
            raise NotFetched(TOO_OFTEN, condition="allowance >= min", seconds=error.seconds) from None
        if self.stopwatch() < self._silent_until:
            raise self.unanswered(what, self._why_silent)
        if not caller.is_local:
            self.allowances.charge(caller, count * UNITS_PER_KEY, NotFetched(TOO_OFTEN))

    @asynccontextmanager
    async def place(self, address: str) -> AsyncIterator[None]:
        """Wait for a place among the concurrent fetches. If the source is silent during the fetch, it isn't asked for a while."""
        async with self._limiter.place(address):
            try:
                yield
            except SourceSilent as error:
                self._silent_until, self._why_silent = self.stopwatch() + SILENT_SECONDS, str(error)
                raise

    def unanswered(self, what: str, why: str) -> NotFetched:
        """Return the refusal of a call that needs `what`, which the source doesn't give. `why` is a sentence about the source."""
        why = f"it{why.removeprefix(self.url)}" if why.startswith(f"{self.url} ") else why
        return NotFetched(UNANSWERED, condition="source.answers()", what=what, source=self.url, why=why)
