"""Row types and tables of the chain, one module per theme. `State` holds all tables.

To add a table, declare its row type and table in one of the modules, and add a line to `State.__init__`. The journal, the state
digest and the checks of the store then include it.
"""

from state.tables.state import Listeners, OperationPosition, State

__all__ = ["Listeners", "OperationPosition", "State"]
