"""State edits by arbitrary functions, which can't be written to files."""

from collections.abc import Callable

from state.chain.state_edits import StateEdit
from state.tables import State


class ByFunction(StateEdit, frozen=True):
    """A change of the state by a function."""

    change: Callable[[State], object]

    def make(self, state: State) -> None:
        """Call the function."""
        self.change(state)
