"""Telling listeners of operations, and the emission of virtual operations. Source: block-processing.md §2.14, §3.28."""

import logging

from state.protocol.errors import ChainError, PluginRefused
from state.protocol.operation import Operation
from state.tables import State

log = logging.getLogger("coind.listeners")


def tell(state: State, operation: Operation, after: bool) -> None:
    """Tell those who asked. A `PluginRefused` passes; another refusal ends this notice and nothing else."""
    try:
        for listener in state.listeners.of_operation(type(operation), after):
            listener(state, operation)
    except PluginRefused:
        raise
    except ChainError as error:
        log.debug("a listener refused %s: %s", operation.NAME, error)


def announce(state: State, operation: Operation) -> None:
    """A virtual operation is about to happen: it takes the next number, which has 16 bits."""
    state.here.virtual_op = (state.here.virtual_op + 1) & 0xFFFF
    tell(state, operation, after=False)


def complete(state: State, operation: Operation) -> None:
    """A virtual operation that was announced has happened; it is told with the number that is current now."""
    tell(state, operation, after=True)


def emit(state: State, operation: Operation) -> None:
    """A virtual operation without a state change in between."""
    announce(state, operation)
    complete(state, operation)
