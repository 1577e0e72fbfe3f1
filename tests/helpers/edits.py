"""State edits by an arbitrary function, for tests. They can't be serialised."""

from collections.abc import Callable

from state.chain.state_edits import StateEdit
from state.tables import State


class ByFunction(StateEdit, frozen=True):
    """A state edit that calls a function."""

    change: Callable[[State], object]

    def make(self, state: State) -> None:
        self.change(state)
