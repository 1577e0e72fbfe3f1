"""Portable rows: rows without ids, which one chain exports and another imports.

A portable row is a dict from the column names of a row class to values of the row's own types. A column with the id of another row has that
row's key instead: an account's name, or a comment's author and permlink. declarations.py declares the keys, the references, and the hidden
columns of each table, which may be left out. Plugins declare theirs with `declare`.
"""

from state.portable.arrivals import account_level
from state.portable.batch import BATCH_SIZE_MAX, pack_batch, unpack_batch
from state.portable.declarations import PORTABLE, SPECIAL, Batch, CommentKey, Portable, PortableRow, declare
from state.portable.exports import export_rows, shown_digest
from state.portable.imports import import_rows, import_world
from state.portable.others import ALL_OTHERS

__all__ = [
    "ALL_OTHERS",
    "BATCH_SIZE_MAX",
    "PORTABLE",
    "SPECIAL",
    "Batch",
    "CommentKey",
    "Portable",
    "PortableRow",
    "account_level",
    "declare",
    "export_rows",
    "import_rows",
    "import_world",
    "pack_batch",
    "shown_digest",
    "unpack_batch",
]
