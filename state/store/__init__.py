"""Tables with indices and undo, in memory. Nothing here knows a rule of the chain.

The idea: a row is one mutable object that stays the same for ever, and everything else refers to it. A table is a dict from ids to
rows. An index that finds is a dict from keys to the same rows. An index that orders is a SortedList of tuples, the values of the
declared fields with the row itself at the end. To read is therefore to walk over Python objects that are there already: nothing is
copied, and a row that was found is up to date as long as one holds it.

That is only safe because there are three ways to write: `insert`, `modify(row, field=value)` and `remove`. Each keeps all indices,
and leaves one record in the journal that says how to take it back. There are no copies and no versions. To open a session is to
remember a position in the journal (a transaction, each operation in it, and each block is one), to keep it costs nothing, and to
undo it is to take back the records after that position. Blocks are undone rarely, transactions are refused often, so what counts is
the price of a write. With 100,000 rows, in thousandths of a key recovery (which every signature costs anyway):

    find a row by its key                         5
    modify a field that no index reads           14
    modify a field of one ordered index         220
    insert into one Unique and two Ordered      190
    an empty session                             13

`bench/store.py` prints these and more.

rows     Row, the base of rows: a mutable Struct with an id
table    Table: insert, modify, remove; the only way to write
unique   Unique: find a row by its key
ordered  Ordered: read rows in an order, from a prefix on; partial and lazy indices
due      Due: find the rows that are due first
grouped  Grouped: find all rows with a value
entries  Entries: a SortedList with short cuts at both ends, for indices that are always sorted
lazy     LazyOrder: an order that is sorted when it is read; for lazy indices, and for lists that are made from tables
keys     Part, computed sort keys; how declarations become functions of a row
lists    Lists: append-only histories per key
journal  Journal: one flat list of writes for all of these; sessions are marks in it
noted    Noted: the rows that have changed since something that is derived from them was read
slices   Reads: whether a read does at once what has to be sorted first, or slice by slice
deferred Deferred: tables that are filled after the start, or when somebody looks
columns  values and rows as bytes, column by column
parts    TablePart, ListsPart, DictPart: the parts of a snapshot, each of which dumps and restores one of these

An index is declared as `Unique`, `Ordered`, `Due` or `Grouped` on the class of a table, and read as the index of that name on the
table itself. A declaration is checked against the row type when the class is made. `Table.check()` verifies every relation
between rows and indices; the tests call it after each step of random walks.
"""

from state.store.due import Due
from state.store.grouped import Grouped
from state.store.journal import Journal, Session
from state.store.keys import Part, Where
from state.store.lazy import LazyOrder
from state.store.lists import History, Lists
from state.store.noted import Noted
from state.store.ordered import Ordered, OrderedIndex
from state.store.rows import Row
from state.store.table import Table
from state.store.unique import Unique, UniqueIndex

__all__ = [
    "Due",
    "Grouped",
    "History",
    "Journal",
    "LazyOrder",
    "Lists",
    "Noted",
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
