"""Tables with indices and undo. Nothing here knows a chain rule.

rows     Row, the base of rows: a mutable Struct with an id
table    Table: insert, modify, remove; the only way to write
unique   Unique: find a row by its key
ordered  Ordered: read rows in an order, from a prefix on; partial and lazy indices
keys     Part, computed sort keys; how declarations become functions of a row
lists    Lists: append-only histories per key
journal  Journal: one flat list of writes for all of these; sessions are marks in it

An index is declared as `Unique` or `Ordered` on the class of a table, and read as `UniqueIndex` or `OrderedIndex` on
the table itself. A declaration is checked against the row type when the class is made.
"""

from state.store.journal import Journal, Session
from state.store.keys import Part, Where
from state.store.lazy import LazyOrder
from state.store.lists import History, Lists
from state.store.ordered import Ordered, OrderedIndex
from state.store.rows import Row
from state.store.table import Table
from state.store.unique import Unique, UniqueIndex

__all__ = [
    "History",
    "Journal",
    "LazyOrder",
    "Lists",
    "Ordered",
    "OrderedIndex",
    "Part",
    "Row",
    "Session",
    "Table",
    "Unique",
    "UniqueIndex",
    "Where",
]
