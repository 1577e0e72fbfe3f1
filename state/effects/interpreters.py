"""Custom operations interpreted by plugins. A plugin registers an interpreter for an id, which is called for each custom operation with
this id.

Source: wire-format.md §4.8; operations.md §12; block-processing.md §4.6.
"""

from collections.abc import Callable
from typing import Any

from state.protocol.errors import ChainError
from state.tables import State

Interpreter = Callable[[State, Any], None]


def interpret(state: State, operation: Any) -> None:
    """Run the interpreter of a custom operation's id, in a separate undo session.

    A refusal undoes the interpreter's changes. It refuses the operation only if the operation is being pushed: plugins are not part of
    consensus, so they can't invalidate a block.
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
