"""In-memory tables with indices and undo.

A row is one mutable object, which tables, indices and the journal refer to. A table is a dict from ids to rows. A unique index is
a dict from keys to the same rows. An ordered index is a SortedList of tuples: the values of the declared fields, then the row. A lazy
index has only the ids of its rows, and sorts them when it is read. A read by a rule copies nothing, and a row stays up to date for as long
as a caller holds it. A table can pack rows that rules will rarely touch again into bytes; a rule that gets such a row makes it an object.

There are three ways to write: `insert`, `modify(row, field=value)` and `remove`, and declared setters for frequent
modifications. Each updates all indices and appends one undo record to the journal. There are no versions of rows. An undo
session (one for each block, transaction and operation) remembers a position in the journal. Committing it costs nothing;
undoing it reverts the records after that position. Blocks are undone rarely and transactions are refused often, so the design
minimises the cost of a write. With 100,000 rows, in thousandths of a key recovery (the cost of every signature):

    find a row by its key                         5
    modify a field that no index reads           14
    modify a field of one ordered index         220
    insert into one Unique and two Ordered      190
    an empty session                             13

`bench/store.py` measures these costs.

rows     Row, the base of rows: a mutable Struct with an id
table    Table: insert, modify, remove; the only way to write
unique   Unique: finds one row by its key
ordered  Ordered: reads rows in order, from a prefix on; partial indices
lazy_index  LazyIndex: an Ordered that sorts rows when they are read
due      Due: finds the rows with the earliest time
grouped  Grouped: finds all rows with a value
entries  Entries: a SortedList with fast paths at both ends, for indices that are always sorted
packed   Packed: keeps settled rows as bytes
setters  Setter: sets certain fields of a row faster than modify
keys     ComputedKey: computed sort keys; compiles declarations to functions of a row
lists    AppendLists: append-only lists, one per key
packed_integers  lists of integers in 4 bytes each
slots    Slots: values by id, for ids that are mostly consecutive
sized_cache  SizedCache: a dict with limited memory
journal  Journal: one flat list of undo records for all tables; a session is a position in it
lazy     orders and views that are refreshed when they are read, and tables that are loaded in the background
columns  serializes values and rows, column by column
serializers  TablePart, ListsPart, DictPart: serializers for the parts of a snapshot

An index is declared as a `Unique`, `Ordered`, `Due` or `Grouped` class attribute of a table. The attribute of the same name on an
instance is the index. Declarations are checked against the row type when the class is created. `Table.check()` verifies rows
against indices; the tests call it after each step of random walks.
"""

from state.store.due import Due
from state.store.grouped import Grouped, GroupedIds
from state.store.journal import Journal, UndoSession
from state.store.keys import ComputedKey, Where
from state.store.lazy.dirty import DirtyMarks
from state.store.lazy.order import LazyOrder
from state.store.lists import AppendList, AppendLists
from state.store.ordered import Ordered, OrderedIndex
from state.store.packed import Packed
from state.store.rows import Row
from state.store.setters import Setter
from state.store.table import Table
from state.store.unique import Unique, UniqueIndex

__all__ = [
    "AppendList",
    "AppendLists",
    "ComputedKey",
    "DirtyMarks",
    "Due",
    "Grouped",
    "GroupedIds",
    "Journal",
    "LazyOrder",
    "Ordered",
    "OrderedIndex",
    "Packed",
    "Row",
    "Setter",
    "Table",
    "UndoSession",
    "Unique",
    "UniqueIndex",
    "Where",
]
