"""Queues automated actions, for tests of the queues. No operation of this version queues such an action. Source: operations.md §16."""

from state.operations.checks import require_account_name
from state.protocol.errors import require
from state.protocol.transaction import ExampleOptionalAction, ExampleRequiredAction
from state.protocol.values.text import time_text
from state.store import Table
from state.tables import State
from state.tables.smt import PendingAction

Action = ExampleRequiredAction | ExampleOptionalAction


def push_required_action(state: State, action: ExampleRequiredAction, execution_time: int) -> None:
    """Queue an action that a block must contain when it is due."""
    push(state, state.required_actions, action, execution_time, "required")


def push_optional_action(state: State, action: ExampleOptionalAction, execution_time: int) -> None:
    """Queue an optional action, which a block can contain once it is due."""
    push(state, state.optional_actions, action, execution_time, "optional")


def push(state: State, queue: Table[PendingAction], action: Action, execution_time: int, kind: str) -> None:
    """Queue an action of the given kind. Used by the two functions above."""
    require(
        execution_time >= state.head_time,
        f"Cannot push {kind} action to execute in the past. head_block_time: ${{h}} execution_time: ${{e}}",
        condition="execution_time >= head_block_time()",
        h=time_text(state.head_time),
        e=time_text(execution_time),
    )
    require_account_name(action.account)
    queue.insert(PendingAction(execution_time=execution_time, action=action))
