"""Runs a long function in time slices, with other tasks between them. The function is plain synchronous code that counts units of work in
`state.work`, and can be suspended wherever it counts a unit.

Between two slices, the state can be inconsistent. The gate is closed then, so that no task reads the chain.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from node.runtime.clock import TimeLimit
from node.runtime.memory import collect_young
from rpc.jsonrpc.scheduler import ReadGate, Stopwatch, yield_to_others
from state.protocol.work import Work

if TYPE_CHECKING:
    from greenlet import greenlet

RUN_SECONDS_MAX = 0.01  # of a function, before all other tasks run


class Preemption:
    """Runs functions, one at a time, in a greenlet that can be suspended in the middle of a function and resumed.

    `can_raise` is whether an exception can be raised at the point where the function is suspended. It is false in the middle of an undo.
    `is_announced` is whether the function is suspended because it has announced long work.
    """

    def __init__(self, units: Work, gate: ReadGate, time_limit: TimeLimit, stopwatch: Stopwatch) -> None:
        self._units, self._gate, self._time_limit, self._stopwatch = units, gate, time_limit, stopwatch
        self._function: Callable[[], object] | None = None
        self._raised: BaseException | None = None
        self._until = self._left = 0.0
        self._stack: greenlet | None = None
        self.can_raise = self.is_announced = False
        # Binding the method for each function would take as long as a switch to the greenlet.
        self._hook = self._pause

    def start(self, function: Callable[[], object]) -> bool:
        """Run the first slice of a function. Return whether the function is done.

        If not, the gate is closed, and the caller must call `finish`. Exceptions of the function propagate.
        """
        assert self._function is None, "the previous function is done"
        self._function = function
        if not self._resume():
            self._gate.close()
            return False
        if self._raised is not None:
            self._end()
        return True

    async def finish(self, interrupted: Callable[[float], None]) -> None:
        """Run the rest of the function. Before each slice, call `interrupted` with the seconds since the first interruption.

        If this task is cancelled, the rest runs without interruption, so that a change of the chain is never left incomplete. Exceptions of
        the function propagate.
        """
        begun = self._left
        try:
            is_done = False
            while not is_done:
                collect_young()
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
        """Raise an error at the point where the function is suspended. The function handles it without further interruption."""
        assert self._stack is not None
        self._units.on_pause = None
        self._stack.throw(error)

    def _resume(self, *, is_interruptible: bool = True) -> bool:
        """Run the next slice of the function, or all the rest if `is_interruptible` is false. Return whether the function is done."""
        if self._function is None:
            return True
        if self._stack is None:
            # Imported here, to keep the node's start short.
            from greenlet import getcurrent, greenlet

            self._stack = greenlet(self._work, getcurrent())
        self._until = 0.0
        hook = self._hook if is_interruptible else None
        if self._units.on_pause is not hook:
            self._units.on_pause = hook
        self._stack.switch()
        return self._function is None

    def _pause(self, can_raise: bool) -> None:
        """Suspend the function if its slice is over. A slice begins with the first call of this method, so short functions never read the
        clock.
        """
        if self._function is None:
            return  # work is also counted outside of jobs
        self._left = self._stopwatch()
        if not self._until:
            self._until = self._left + RUN_SECONDS_MAX
        self.is_announced = self._units.is_announced
        if self._left < self._until and not self.is_announced:
            return
        assert self._stack is not None
        self.can_raise = can_raise
        self._stack.parent.switch()

    def _work(self) -> None:
        """Run one function after another in this greenlet, since creating one takes thirty times as long as switching to it."""
        while True:
            function, stack = self._function, self._stack
            assert function
            assert stack
            try:
                function()
            except BaseException as error:
                self._raised = error
            # Drop the reference here, else the function and its closure would be kept in memory until the next one runs.
            self._function = function = None
            stack.parent.switch()

    def _end(self) -> None:
        """Re-raise the exception of the finished function, if any."""
        if self._raised is not None:
            error, self._raised = self._raised, None
            raise error
