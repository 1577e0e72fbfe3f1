"""Calls the listeners of operations, and emits virtual operations. Source: block-processing.md §2.14, §3.28."""

import logging

from state.protocol.errors import ChainError, PluginRefused
from state.protocol.operation import Operation
from state.protocol.values.integers import WORD16
from state.tables import State

VIRTUAL_UNITS = 2

log = logging.getLogger("coind.listeners")


def notify(state: State, operation: Operation, after: bool) -> None:
    """Call the listeners of an operation, before or after it is applied.

    A `PluginRefused` passes, and refuses the operation. Any other refusal ends this round of calls and nothing else, so that
    the listeners that follow are not called: that is the reference's policy, and its plugins rely on it.
    """
    listeners = state.listeners
    try:
        for listener in listeners.after_operation[type(operation)] if after else listeners.before_operation[type(operation)]:
            listener(state, operation)
    except PluginRefused:
        raise
    except ChainError as error:
        log.debug("a listener refused %s: %s", operation.NAME, error)


def announce(state: State, operation: Operation) -> None:
    """Call the listeners before the change of state that a virtual operation reports; it takes the next number."""
    state.work.spend(VIRTUAL_UNITS, "virtual operations")
    state.position.virtual_op = (state.position.virtual_op + 1) % WORD16  # 16 bits in the reference
    notify(state, operation, after=False)


def complete(state: State, operation: Operation) -> None:
    """Call the listeners after the change of state that was announced.

    The number is the one that is current now, as in the reference: if another virtual operation was emitted in between, it
    is that one's.
    """
    notify(state, operation, after=True)


def emit(state: State, operation: Operation) -> None:
    """Emit a virtual operation whose change of state is made already, or comes later: both calls follow each other."""
    announce(state, operation)
    complete(state, operation)
