"""Calls the listeners of operations, and emits virtual operations. Source: block-processing.md §2.14, §3.28."""

import logging
from collections.abc import Callable, Iterable

from state.protocol.errors import ChainError, PluginRefused
from state.protocol.operation import Operation
from state.protocol.values.integers import WORD16
from state.tables import State

VIRTUAL_UNITS = 2

log = logging.getLogger("coind.listeners")


def notify(state: State, operation: Operation, listeners: Iterable[Callable[[State, Operation], None]]) -> None:
    """Call the listeners of an operation.

    A `PluginRefused` error of a listener is passed on and refuses the operation. Any other refusal only skips the remaining listeners. This
    is the reference's policy, and its plugins rely on it.
    """
    try:
        for listener in listeners:
            listener(state, operation)
    except PluginRefused:
        raise
    except ChainError as error:
        log.debug("a listener refused %s: %s", operation.NAME, error)


def announce(state: State, operation: Operation) -> None:
    """Give a virtual operation the next number, and call its listeners. Call this before the state change that the operation reports."""
    state.work.spend(VIRTUAL_UNITS, "virtual operations")
    state.position.virtual_op = (state.position.virtual_op + 1) % WORD16  # 16 bits in the reference
    notify(state, operation, state.listeners.before_operation[type(operation)])


def complete(state: State, operation: Operation) -> None:
    """Call the listeners after the state change of an announced virtual operation.

    As in the reference, the listeners read the number of the virtual operation that was announced last. If another one was announced in
    between, they read that one's number.
    """
    notify(state, operation, state.listeners.after_operation[type(operation)])


def emit(state: State, operation: Operation) -> None:
    """Announce a virtual operation, and mark it as completed at once. The caller changes the state before or after this call."""
    announce(state, operation)
    complete(state, operation)
