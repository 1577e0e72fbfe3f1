"""The rows of a chain and the orders in which they can be read, one module per theme; `State` holds all tables.

A new table is a row type with its table in one of the modules, and a line in `State.__init__`: the journal, the digest and the
checks of the store find it there.
"""

from state.tables.state import Coordinates, Listeners, State

__all__ = ["Coordinates", "Listeners", "State"]
