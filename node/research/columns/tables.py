"""Rows of a state's tables, including those of plugins, and of derived tables, as Arrow batches.

The kind of a field comes from the API's record that has the field or, if there is none, from the row's type annotation. The row's id is the
first column.
"""

import types
from collections.abc import Callable, Collection, Iterator
from functools import partial
from itertools import islice
from typing import Any, Union, get_args, get_origin, get_type_hints

import pyarrow as pa
from msgspec import Struct

from node.research.columns.columns import ArrowSchemas, Columns, JsonColumn, Record
from node.research.columns.derived import INTEGER, summaries, summary_columns
from node.research.columns.names import HELPER, SUMMARIES, field_name, names_of, table_name
from node.runtime.errors import NodeError
from node.runtime.suggestions import alternatives
from rpc.declare.record_fields import Amount
from rpc.records.rows import kinds_of, plain
from state.chain.changes import tables_of
from state.chain.genesis import new_state
from state.plugins.follow.plugin import FOLLOW
from state.plugins.rc.prices import Resource
from state.plugins.registry import PLUGINS, enable
from state.protocol.codec.fields import wire_fields
from state.protocol.codec.kinds import Blob, Flag, Int, Key, Kind, Many, Maybe, Pairs, String, Wide
from state.protocol.spec import ChainSpec
from state.protocol.values import asset as assets
from state.store import Row, Table
from state.tables import State, content, globals, market, proposals, witnesses
from state.tables.accounts import Accounts

BATCH_ROWS = 4096
ID = "id"
KEY, UNSIGNED, WIDE = Key(), Int(64), Wide()
# Fields with the name of an account, or in some tables its id. A row belongs to each account that is in one of them.
ACCOUNT_FIELDS = {
    "account", "account_to_recover", "agent", "author", "blogger", "contributor", "control_account", "creator", "delegatee", "delegator",
    "dst", "follower", "following", "from_", "from_account", "guest", "owner", "receiver", "seller", "to", "to_account", "voter", "witness",
}  # fmt: skip
ACCOUNT_ID_FIELDS = {"account", "owner", "voter"}

# Fields wider than a signed 64-bit integer, and amounts that the API returns as plain numbers.
KINDS: dict[type, dict[str, Kind]] = {
    globals.GlobalProperties: {"total_pow": UNSIGNED, "max_virtual_bandwidth": WIDE},
    witnesses.Witness: {"virtual_last_update": WIDE, "virtual_position": WIDE, "virtual_scheduled_time": WIDE},
    content.Comment: {"total_vote_weight": UNSIGNED},
    content.CommentVote: {"weight": UNSIGNED},
    proposals.Proposal: {"total_votes": UNSIGNED},
    market.LiquidityReward: {"coin_volume": Amount(assets.COIN), "sbd_volume": Amount(assets.SBD), "weight": WIDE},
    Resource: {"coeff_a": UNSIGNED, "coeff_b": UNSIGNED},
}


def plugins_for(spec: ChainSpec, wanted: set[str]) -> tuple[str, ...]:
    """Return the plugins that a chain needs so that it has the tables in `wanted`. Raises NodeError for an unknown table."""
    needed: set[str] = set()
    bare = names_of(new_state(spec))
    if SUMMARIES in wanted:
        needed.add(FOLLOW.name)
    if left := wanted - bare.keys() - {SUMMARIES}:
        full = new_state(spec, partial(enable, names=PLUGINS))
        owners = {table_name(name): name.partition("/")[0] for name, _ in tables_of(full) if HELPER not in name}
        owned = {name: plugin for name, plugin in owners.items() if plugin in PLUGINS}
        for name in sorted(left):
            if name not in owned:
                raise NodeError(f"there is no table {name}; {alternatives(name, [*bare, *owned, SUMMARIES])}")
            needed.add(owned[name])
    # A plugin also reads the tables of the plugins that it depends on.
    for name in reversed(PLUGINS):
        if name in needed:
            needed |= {used.name for used in PLUGINS[name].uses}
    return tuple(name for name in PLUGINS if name in needed)


class TableRows:
    """The rows of one table, ordered by id, as Arrow batches. `scan` returns their objects, which `columns` converts."""

    def __init__(self, scan: Callable[[], Iterator[Any]], columns: Columns) -> None:
        self._scan, self._columns = scan, columns

    @property
    def schema(self) -> Any:
        """The names and types of the columns, as an Arrow schema."""
        return self._columns.schema

    def arrays(self) -> Iterator[list[Any]]:
        """Yield the columns for up to BATCH_ROWS rows at a time. The state must not change until the iteration ends."""
        rows = self._scan()
        while some := list(islice(rows, BATCH_ROWS)):
            yield self._columns.arrays(some)

    def batches(self) -> Iterator[Any]:
        """Yield the rows as record batches."""
        for arrays in self.arrays():
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def whole(self) -> Any:
        """Return all rows as one Arrow table."""
        return pa.Table.from_batches(list(self.batches()), self.schema)


def rows_of(state: State, name: str, *, is_flat: bool = False, accounts: Collection[str] | None = None) -> TableRows:
    """Return the rows of the table with a public name. Raises NodeError for an unknown name.

    With `accounts`, only rows that belong to one of these accounts are included, except for tables whose rows belong to no account.
    """
    tables, schemas = names_of(state), ArrowSchemas(state.spec, is_flat=is_flat)
    if name == SUMMARIES and FOLLOW.find(state) is not None:
        return TableRows(lambda: summaries(state, rows_in(state, state.accounts, accounts)), summary_columns(schemas))
    if name not in tables:
        raise NodeError(f"there is no table {name}; {alternatives(name, tables)}")
    table = tables[name]
    return TableRows(lambda: rows_in(state, table, accounts), row_columns(state, type(table), schemas))


def rows_in(state: State, table: Table[Any], accounts: Collection[str] | None) -> Iterator[Any]:
    """Yield the rows of a table, ordered by id. With `accounts`, only those that belong to one of these accounts."""
    if accounts is None:
        return table.scan()
    found = [row for name in set(accounts) if (row := state.accounts.by_name.get(name)) is not None]
    if isinstance(table, Accounts):
        return iter(sorted(found, key=lambda row: row.id))
    fields = account_fields(row_class(type(table)))
    chosen = {*accounts, *(row.id for row in found)}  # a field has a name or an id
    return (row for row in table.scan() if not fields or any(getattr(row, field) in chosen for field in fields))


def account_fields(cls: type[Row]) -> list[str]:
    """Return the fields of a row class with the names or ids of accounts to which a row belongs."""
    hints = get_type_hints(cls)
    named = {str: ACCOUNT_FIELDS, int: ACCOUNT_ID_FIELDS}
    return [name for name in cls.__struct_fields__ if name in named.get(hints[name], ())]


def row_columns(state: State, table: type[Table[Any]], schemas: ArrowSchemas) -> Columns:
    """Return the columns for the rows of a table class."""
    cls = row_class(table)
    hints, known = get_type_hints(cls), {**kinds_of(cls), **KINDS.get(cls, {})}
    fields = []
    for name in sorted(cls.__struct_fields__, key=lambda field: field != ID):
        kind = known.get(name)
        if kind is None or not is_fitting(kind, hints[name]):
            kind = kind_of_annotation(state, name, hints[name])
        fields.append((field_name(state.spec, name), f"v.{name}", INTEGER if name == ID else kind))
    return schemas.columns(fields)


def row_class(table: type[Table[Any]]) -> type[Row]:
    """Return the row class of a table class."""
    bases = [base for cls in table.__mro__ for base in vars(cls).get("__orig_bases__", ()) if get_origin(base) is Table]
    found: type[Row] = get_args(bases[0])[0]
    return found


def is_fitting(kind: Any, hint: Any) -> bool:
    """Whether a field's kind in the API's record fits the row's type annotation. For example, the kind doesn't fit if the record contains a
    name and the row contains an id.
    """
    return not (isinstance(kind, String) and hint is not str)


def kind_of_annotation(state: State, name: str, hint: Any) -> Any:
    """Derive the kind of a row's field from its type annotation."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType) and len(arguments) == 2 and type(None) in arguments:
        return Maybe(kind_of_annotation(state, name, next(each for each in arguments if each is not type(None))))
    if origin is tuple:
        members = set(arguments) - {Ellipsis}
        if len(members) == 1:
            (member,) = members
            if get_origin(member) is tuple and get_args(member)[0] is str and Ellipsis not in get_args(member):
                return Pairs(*[kind_of_annotation(state, name, each) for each in get_args(member)])
            return Many(kind_of_annotation(state, name, member))
    if isinstance(hint, type):
        if hint in PLAIN:
            return KEY if hint is bytes and name == "key" else PLAIN[hint]
        if issubclass(hint, tuple) and hasattr(hint, "_fields"):
            return Record(*[(each, each, kind_of_annotation(state, each, of)) for each, of in get_type_hints(hint).items()])
        if issubclass(hint, Struct):
            hints = get_type_hints(hint)
            known = KINDS.get(hint, {})
            own = Record(
                *[(each, each, known.get(each) or kind_of_annotation(state, each, hints[each])) for each in hint.__struct_fields__]
            )
            return hint if wire_fields(hint) else own
    return JsonColumn(partial(plain, state))


PLAIN: dict[type, Kind] = {bool: Flag(), int: INTEGER, str: String(), bytes: Blob()}
