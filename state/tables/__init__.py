"""The rows of a chain and the orders in which they can be read, one module per theme; `State` holds them all."""

from state.tables.state import Coordinates, Listeners, State

__all__ = ["Coordinates", "Listeners", "State"]
