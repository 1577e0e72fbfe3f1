"""Custom operations that a plugin interprets: it registers under an id, and is called for each operation with that id.
Source: wire-format.md §4.8; operations.md §12; block-processing.md §4.6.
"""

from collections.abc import Callable
from typing import Any

from state.protocol.errors import ChainError
from state.tables import State

Interpreter = Callable[[State, Any], None]


def interpret(state: State, operation: Any) -> None:
    """Run the interpreter of a custom operation's id, in a session of its own.

    Its refusal undoes what it has done, and refuses the operation only while that enters this node: plugins are not part of
    consensus, so a block is valid whatever they say.
    """
    interpreter = state.interpreters.get(operation.id)
    if interpreter is None:
        return
    mark = state.journal.position()
    try:
        interpreter(state, operation)
    except ChainError:
        state.journal.undo(mark)
        if state.is_pushing:
            raise
