"""Runs long work in slices, between which all other tasks have a turn. The work is a plain function: it counts its units in `state.work`,
and is interrupted where it counts.

Between two slices the chain is in the middle of a change. The gate is shut then, so that nobody reads the chain.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from node.runtime.clock import TimeLimit
from rpc.jsonrpc.scheduler import ReadGate, Stopwatch, yield_to_others
from state.protocol.work import Work

if TYPE_CHECKING:
    from greenlet import greenlet

RUN_SECONDS_MAX = 0.01  # of a function, before all others have a turn


class Preemption:
    """Runs functions, one at a time, on a stack of their own, which is suspended in the middle of a function and resumed.

    `can_raise` says whether an exception may be raised where the function is suspended: not in the middle of an undo.
    """

    def __init__(self, units: Work, gate: ReadGate, time_limit: TimeLimit, stopwatch: Stopwatch) -> None:
        self._units, self._gate, self._time_limit, self._stopwatch = units, gate, time_limit, stopwatch
        self._function: Callable[[], object] | None = None
        self._raised: BaseException | None = None
        self._until = self._left = 0.0
        self._stack: greenlet | None = None
        self.can_raise = False
        # To set it for each function takes as long as to enter the stack.
        self._hook = self._pause

    def start(self, function: Callable[[], object]) -> bool:
        """Run a function for a slice; returns whether it is done. If not, the gate is shut, and the caller must have `finish` called.

        Raises what the function raises.
        """
        assert self._function is None, "the function before is done"
        self._function = function
        if not self._resume():
            self._gate.close()
            return False
        self._end()
        return True

    async def finish(self, interrupted: Callable[[float], None]) -> None:
        """Run the rest of the function. After each turn of others `interrupted` is called with the seconds since the first one began.

        When this is cancelled, the function is run to its end at once: a change of the chain is never left half done. Raises what the
        function raises.
        """
        begun = self._left
        try:
            is_done = False
            while not is_done:
                await yield_to_others()
                now = self._stopwatch()
                self._time_limit.extend(now - self._left)
                interrupted(now - begun)
                is_done = self._resume()
        finally:
            self._resume(is_interruptible=False)
            self._gate.open()
        self._end()

    def throw(self, error: BaseException) -> None:
        """Raise an error where the function is suspended. What it does about the error isn't interrupted."""
        assert self._stack is not None
        self._units.on_pause = None
        self._stack.throw(error)

    def _resume(self, *, is_interruptible: bool = True) -> bool:
        """Run a slice of the function, or all that is left of it; returns whether it is done."""
        if self._function is None:
            return True
        if self._stack is None:
            # Imported here, since a start must not wait for it.
            from greenlet import getcurrent, greenlet

            self._stack = greenlet(self._work, getcurrent())
        self._until = 0.0
        hook = self._hook if is_interruptible else None
        if self._units.on_pause is not hook:
            self._units.on_pause = hook
        self._stack.switch()
        return self._function is None

    def _pause(self, can_raise: bool) -> None:
        """Suspend the function if its slice is over, which begins with the first call: short functions never look at the clock."""
        if self._function is None:
            return  # others count their work as well
        self._left = self._stopwatch()
        if not self._until:
            self._until = self._left + RUN_SECONDS_MAX
        if self._left < self._until:
            return
        assert self._stack is not None
        self.can_raise = can_raise
        self._stack.parent.switch()

    def _work(self) -> None:
        """Call one function after the other. To make a stack takes thirty times as long as to enter one."""
        while True:
            function, stack = self._function, self._stack
            assert function
            assert stack
            try:
                function()
            except BaseException as error:
                self._raised = error
            # The function is given up here: else what it holds would live until the next one is run.
            self._function = function = None
            stack.parent.switch()

    def _end(self) -> None:
        """Raise what the function has raised."""
        if self._raised is not None:
            error, self._raised = self._raised, None
            raise error
