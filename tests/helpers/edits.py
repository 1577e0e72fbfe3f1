"""Edits for tests that change the state in any way they like; they can't be written to files."""

from collections.abc import Callable

from state.chain.edits import Edit
from state.tables import State


class ByFunction(Edit, frozen=True):
    """A change of the state by a function."""

    change: Callable[[State], object]

    def make(self, state: State) -> None:
        """Call the function."""
        self.change(state)
