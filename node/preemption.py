"""Does work that may take long in slices, with turns of all other tasks in between. The work is a plain function that knows nothing of it:
it counts what it does (`state.work`), and is interrupted where it counts. It must not know what the work is.

Between two slices the chain is in the middle of something. So the gate is shut then, and nobody reads.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from node.clock import Patience
from rpc.service.turns import Gate, Stopwatch, let_others_in
from state.protocol.work import Work

if TYPE_CHECKING:
    from greenlet import greenlet

SLICE_SECONDS = 0.01


class Preemption:
    """Runs functions, one at a time, in a stack of their own, which is left in the middle of one and entered again.

    `can_raise` says whether the interrupted function can be left for good by an exception: not so in the middle of an undo.
    """

    def __init__(self, units: Work, gate: Gate, patience: Patience, stopwatch: Stopwatch) -> None:
        self._units, self._gate, self._patience, self._stopwatch = units, gate, patience, stopwatch
        self._function: Callable[[], object] | None = None
        self._raised: BaseException | None = None
        self._until = self._left = 0.0
        self._stack: greenlet | None = None
        self.can_raise = False
        # To set it for each function takes as long as to enter the stack.
        self._hook = self._pause

    def start(self, function: Callable[[], object]) -> bool:
        """Call a function; returns whether it is done. If not, the gate is shut, and the caller sees to it that `finish` is called."""
        self._function = function
        if not self._go_on():
            self._gate.shut()
            return False
        self._end()
        return True

    async def finish(self, interrupted: Callable[[float], None]) -> None:
        """Do what is left of the function. After each turn of others `interrupted` is called with the seconds since the first one began.

        When this is cancelled, the function is done to its end at once: what changes the chain is never left half done.
        """
        begun = self._left
        try:
            is_done = False
            while not is_done:
                await let_others_in()
                now = self._stopwatch()
                self._patience.extend(now - self._left)
                interrupted(now - begun)
                is_done = self._go_on()
        finally:
            self._go_on(is_interruptible=False)
            self._gate.open()
        self._end()
        # Who has waited at the gate, before the next function shuts it again.
        await let_others_in()

    def throw(self, error: BaseException) -> None:
        """Raise an error where the function was interrupted, and have it run to its end: what it does about it, it does at once."""
        assert self._stack is not None
        self._units.on_pause = None
        self._stack.throw(error)

    def _go_on(self, *, is_interruptible: bool = True) -> bool:
        """Do a slice of the function, or what is left of it; returns whether it is done."""
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
        """Leave the stack for the loop's, if the slice is over, which begins with the first look."""
        if self._function is None:
            return  # others count their work as well
        self._left = self._stopwatch()
        if not self._until:
            self._until = self._left + SLICE_SECONDS
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
            # What it holds must not live until the next one.
            self._function = function = None
            stack.parent.switch()

    def _end(self) -> None:
        """Raise what the function has raised."""
        if self._raised is not None:
            error, self._raised = self._raised, None
            raise error
