"""Counts work in units, to limit the work that a client causes and to interrupt long jobs.

A unit is about 10 µs on the machine of docs/performance.md. Rules count the items that they process: rows, trades, votes, keys, members of
authorities. The count depends only on the input and the state, so it is the same on every machine. Limits are this node's policy and never
refuse a block.
"""

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from state.protocol.errors import Refused

# Limits per transaction or call: of a client, and of a client with local rights.
UNITS_MAX, LOCAL_UNITS_MAX = 5_000, 50_000
# Limit per block that this node produces. A transaction that exceeds the limit alone gets a separate block.
BLOCK_UNITS_MAX = 50_000
KEY_TEXT_UNITS = 1  # per public key parsed from text
KEY_UNITS = 3  # per public key recovered from a signature or derived from a secret
BYTES_PER_UNIT = 512  # bytes of a packed transaction per unit
PAUSE_UNITS = 100  # between two calls of `on_pause`
ANNOUNCED_UNITS_MIN = 5_000  # of work for which a job pauses before it begins
KINDS_SHOWN_MAX = 3
ONE_TRANSACTION, ONE_CALL, ARGUMENTS = "a transaction", "a call", "the arguments of a call"
# Advice for a client that exceeds a limit.
ADVICE = {
    ONE_TRANSACTION: ". Send its operations in several transactions",
    ONE_CALL: ". Ask for less in each call",
    ARGUMENTS: ". Send fewer of them in each call",
}
Spend = Callable[[int, str], None]
"""Counts units of a kind before they are done, like `Work.spend`. Can raise TooMuchWork."""

NEVER = 1 << 62

Result = TypeVar("Result")


def spend_nothing(units: int, kind: str) -> None:
    """Ignore the work. Used by default when work isn't limited."""


class TooMuchWork(Refused):
    """A transaction or call exceeds `limit` units of work. `kinds` contains the kinds of work with the most units, largest first."""

    NAME: ClassVar[str] = "too_much_work_exception"

    def __init__(self, what: str, limit: int, kinds: dict[str, int]) -> None:
        self.limit, self.units = limit, sum(kinds.values())
        self.kinds = dict(sorted(kinds.items(), key=lambda kind: -kind[1])[:KINDS_SHOWN_MAX])
        super().__init__(
            "This node does at most ${limit} units of work for ${what}, and this takes more: ${units} so far, most for ${kinds}${advice}",
            condition="units <= limit",
            what=what,
            units=self.units,
            limit=limit,
            kinds=", ".join(f"{kind} ({units})" for kind, units in self.kinds.items()),
            advice=ADVICE.get(what, ""),
        )


class Work:
    """Counter of units of work, with a limit and a hook that can interrupt the work.

    The hook `on_pause`, if set, is called about every PAUSE_UNITS units in the middle of the work. Its argument is whether the hook can
    raise an exception, which isn't allowed during an undo. `is_announced` is whether the hook is called before long work (`announce`).
    """

    __slots__ = ("_next", "_on_pause", "_pause_at", "is_announced", "kinds", "limit", "limit_at", "spent", "what")

    def __init__(self) -> None:
        self.spent = 0
        self._on_pause: Callable[[bool], None] | None = None
        self._pause_at = self.limit_at = self._next = NEVER
        self.limit, self.what = 0, ""
        self.kinds: dict[str, int] | None = None  # units by kind; None without a limit
        self.is_announced = False

    @property
    def on_pause(self) -> Callable[[bool], None] | None:
        """The function that is called after each PAUSE_UNITS of work, or None."""
        return self._on_pause

    @on_pause.setter
    def on_pause(self, hook: Callable[[bool], None] | None) -> None:
        self._on_pause = hook
        self._pause_at = NEVER if hook is None else self.spent + PAUSE_UNITS
        self._set_next()

    def spend(self, units: int, kind: str) -> None:
        """Count work before it is done. Raises TooMuchWork beyond the limit."""
        self.spent = spent = self.spent + units
        kinds = self.kinds
        if kinds is not None:
            kinds[kind] = kinds.get(kind, 0) + units
        if spent > self._next:
            if spent > self.limit_at:
                raise self._too_much()
            self._pause(True)

    def announce(self, units: int) -> None:
        """Announce work that is about to begin, without counting it. If it is long, the hook is called at once.

        An exception of the hook must leave the chain as it was before the job.
        """
        if units >= ANNOUNCED_UNITS_MIN and self._on_pause is not None:
            self.is_announced = True
            try:
                self._on_pause(True)
            finally:
                self.is_announced = False

    def allow(self, units: int, kind: str) -> None:
        """Raise the limit by `units`, unless work of this kind has already been counted under the limit. Call this before counting that
        work.
        """
        if self.kinds is not None and kind not in self.kinds:
            self.kinds[kind] = 0
            self.limit_at += units
            self._set_next()

    def undo(self, units: int) -> None:
        """Count the work of an undo. The limit doesn't apply to it."""
        self.spent += units
        if self.kinds is not None:
            self.limit_at += units
        self._set_next()
        if self.spent > self._pause_at:
            self._pause(False)

    def run(self, limit: int, what: str, function: Callable[..., Result], *given: Any) -> Result:
        """Call a function with a limit of `limit` units and return its result. `what` names the work in a refusal, for example "a call".

        Raises TooMuchWork if the function exceeds the limit. If code inside the function has caught this error, it is raised at the end.
        """
        # Every call executes this. A call of `_set_next` would double the time, so its code is inlined.
        if self.kinds is not None:
            before = self.limit_at, self.limit, self.what, self.kinds
        else:
            before = None
        self.limit_at = limit_at = self.spent + limit
        self.limit, self.what, self.kinds = limit, what, {}
        self._next = limit_at if limit_at < self._pause_at else self._pause_at
        try:
            value = function(*given)
            if self.spent > self.limit_at:
                raise self._too_much()
            return value
        finally:
            if before is None:
                self.limit_at, self.kinds, self._next = NEVER, None, self._pause_at
            else:
                self.limit_at, self.limit, self.what, self.kinds = before
                self._set_next()

    def _set_next(self) -> None:
        """Schedule the next check: at the limit or at the next pause, whichever is first."""
        self._next = min(self.limit_at, self._pause_at)

    def _pause(self, can_raise: bool) -> None:
        assert self._on_pause is not None, "pauses are due only while there is a hook"
        self._pause_at = self.spent + PAUSE_UNITS
        self._set_next()
        self._on_pause(can_raise)

    def _too_much(self) -> TooMuchWork:
        """Return the error that reports the work counted under the limit."""
        assert self.kinds is not None, "there is a limit"
        return TooMuchWork(self.what, self.limit, self.kinds)
