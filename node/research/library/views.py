"""Read-only tables of a state for scripts. Rows are accessed by iteration, by id or with an index, and tables can be converted to Arrow or
to DataFrames.

A row is a frozen copy, made when it is read, without references into the state.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct, defstruct
from msgspec.structs import asdict, astuple

from node.research.columns.names import SUMMARIES, names_of, plugin_of
from node.research.errors import MissingLibrary, NotThere
from node.runtime.errors import NodeError
from node.runtime.optional_libraries import load_extra
from node.runtime.suggestions import alternatives
from state.plugins.registry import PLUGINS
from state.protocol.spec import ChainSpec
from state.store import Ordered, Row, Table, Unique
from state.store.ordered import OrderedIndex
from state.store.unique import UniqueIndex
from state.tables import State


class RowView(Struct, frozen=True):
    """Copy of a row, with the values that it had when it was read. Fields are attributes, for example `row.balance`, or `row.from_` for
    `from`.
    """

    def as_dict(self) -> dict[str, Any]:
        """Return the values, keyed by column name (`from`, not `from_`)."""
        return {name.rstrip("_"): value for name, value in asdict(self).items()}

    if TYPE_CHECKING:  # the fields are those of the table

        def __getattr__(self, name: str) -> Any: ...


@cache
def view_class(cls: type[Row], spec: ChainSpec) -> type[RowView]:
    """Return the class of row copies, with fields in the chain's spelling."""
    fields = [(spec.spell(name), Any) for name in cls.__struct_fields__]
    made: type[RowView] = defstruct(cls.__name__, fields, bases=(RowView,), frozen=True)  # type: ignore[assignment]
    return made


Copy = Callable[[Any], RowView]


class UniqueView:
    """A unique index, which finds the row that has a key: `index["alice"]`, `index["alice", "permlink"]`."""

    def __init__(self, name: str, fields: tuple[str, ...], index: UniqueIndex[Any] | OrderedIndex[Any], copy: Copy) -> None:
        self.name, self.fields = name, fields
        self._index, self._copy = index, copy

    def get(self, *key: Any) -> RowView | None:
        """Return the row with a key, or None. Each part of the key is an argument."""
        if len(key) != len(self.fields):
            raise NotThere(f"{self.name} finds rows by {', '.join(self.fields)}: {len(key)} of {len(self.fields)} were given")
        return self._found(self._index.get(*key))

    def __getitem__(self, key: Any) -> RowView:
        """Return the row with a key, which is a tuple if it has several parts. Raises NotThere."""
        row = self.get(*(key if isinstance(key, tuple) else (key,)))
        if row is None:
            raise NotThere(f"{self.name} has no row {key!r}")
        return row

    def __contains__(self, key: Any) -> bool:
        return self.get(*(key if isinstance(key, tuple) else (key,))) is not None

    def _found(self, row: Row | None) -> RowView | None:
        return None if row is None else self._copy(row)


class OrderedView(UniqueView):
    """An ordered index. `fields` are the fields of its key. Only a unique index can find a row by its complete key.

    A prefix contains the values of the first parts of the key, including those in descending order.
    """

    _index: OrderedIndex[Any]

    def get(self, *key: Any) -> RowView | None:
        """Return the row with a key, or None. Each part of the key is an argument. Only unique indices support it."""
        if self._index.keys is None:
            raise NotThere(f"{self.name} isn't unique. Use .equal(...), .starting(...) or .before(...).")
        return super().get(*key)

    def __len__(self) -> int:
        return len(self._index)

    def __iter__(self) -> Iterator[RowView]:
        return map(self._copy, iter(self._index))

    def __reversed__(self) -> Iterator[RowView]:
        return map(self._copy, reversed(self._index))

    def first(self) -> RowView | None:
        """Return the first row, or None for an empty table."""
        return self._found(self._index.first())

    def last(self) -> RowView | None:
        """Return the last row, or None for an empty table."""
        return self._found(self._index.last())

    def equal(self, *prefix: Any) -> Iterator[RowView]:
        """Yield the rows whose key starts with a prefix."""
        return map(self._copy, self._index.equal(*prefix))

    def starting(self, *prefix: Any) -> Iterator[RowView]:
        """Yield all rows from the prefix on: first those whose key starts with it, then those with greater keys."""
        return map(self._copy, self._index.starting(*prefix))

    def after(self, *prefix: Any) -> Iterator[RowView]:
        """Yield the rows after the last one whose key starts with the prefix."""
        return map(self._copy, self._index.after(*prefix))

    def before(self, *prefix: Any) -> Iterator[RowView]:
        """Yield the rows before the first one whose key starts with the prefix, in reverse order."""
        return map(self._copy, self._index.before(*prefix))

    def between(self, start: Any, stop: Any) -> Iterator[RowView]:
        """Yield the rows from the prefix `start` on, up to but not including the prefix `stop`."""
        first, last = (each if isinstance(each, tuple) else (each,) for each in (start, stop))
        return map(self._copy, rows_between(self._index, first, last))


def rows_between(index: OrderedIndex[Any], first: tuple[Any, ...], last: tuple[Any, ...]) -> Iterator[Any]:
    """Yield the rows of an index from the prefix `first` on, up to but not including the prefix `last`."""
    count = index.position(*last) - index.position(*first)
    for row, _ in zip(index.starting(*first), range(count)):  # noqa: B905 - the second one is shorter
        yield row


class TableView:
    """A table. Iteration yields its rows ordered by id. `[...]` reads a row by its key, and indices are attributes, for example
    `accounts.by_name`.
    """

    def __init__(self, state: State, name: str, table: Table[Any]) -> None:
        self.name = name
        self._state, self._table = state, table
        view = view_class(table.ROW, state.spec)
        self._copy: Copy = lambda row: view(*astuple(row))
        self._indices: dict[str, UniqueView] = {}
        for index, declared in declarations(type(table)):
            kind = OrderedView if isinstance(declared, Ordered) else UniqueView
            self._indices[index] = kind(f"{name}.{index}", declared.fields, getattr(table, index), self._copy)

    @property
    def indices(self) -> tuple[str, ...]:
        """The names of the indices."""
        return tuple(self._indices)

    @property
    def fields(self) -> tuple[str, ...]:
        """The attribute names of a row's fields."""
        return tuple(self._state.spec.spell(name) for name in self._table.ROW.__struct_fields__)

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[RowView]:
        return map(self._copy, self._table.scan())

    def row(self, row_id: int) -> RowView | None:
        """Return the row with an id, or None."""
        row = self._table.get(row_id)
        return None if row is None else self._copy(row)

    def by(self, index: str) -> Any:
        """Return an index by its name, as a UniqueView or an OrderedView. Raises NotThere."""
        if index not in self._indices:
            raise NotThere(f"{self.name} has no index {index}; {alternatives(index, self._indices)}")
        return self._indices[index]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self.by(name)
        except NotThere as error:
            raise AttributeError(str(error)) from None

    def get(self, *key: Any) -> RowView | None:
        """Return the row with a key, or None. Each part of the key is an argument. The first unique index with that number of fields is
        used.
        """
        return self._unique(len(key)).get(*key)

    def __getitem__(self, key: Any) -> RowView:
        """Return the row with a key, which is a tuple if it has several parts. The first unique index with that number of fields is used.
        Raises NotThere.
        """
        return self._unique(len(key) if isinstance(key, tuple) else 1)[key]

    def __contains__(self, key: Any) -> bool:
        return key in self._unique(len(key) if isinstance(key, tuple) else 1)

    def _unique(self, size: int) -> UniqueView:
        declared = dict(declarations(type(self._table)))
        unique = {name: one.fields for name, one in declared.items() if isinstance(one, Unique) or one.unique}
        found = next((name for name, fields in unique.items() if len(fields) == size), None)
        if found is None:
            known = ", ".join(f"{name} ({', '.join(fields)})" for name, fields in unique.items()) or "none"
            raise NotThere(f"{self.name} has no unique index of {size} fields. Its unique indices are {known}.")
        return self._indices[found]

    # -------------------------------------------------------------- Arrow and pandas

    def batches(self) -> Iterator[Any]:
        """Yield the rows, ordered by id, as Arrow record batches with the columns of docs/export.md. Needs pyarrow. Raises
        MissingLibrary.
        """
        return iter(self._arrow().batches())

    def arrow(self) -> Any:
        """Return all rows, ordered by id, as one Arrow table. Needs pyarrow. Raises MissingLibrary."""
        return self._arrow().whole()

    def frame(self) -> Any:
        """Return all rows as a pandas DataFrame, ordered by id, with nullable integers as Int64. Needs pyarrow and pandas.

        Raises MissingLibrary.
        """
        return frame_of(self.arrow())

    def _arrow(self) -> Any:
        extra("pyarrow", "a table as Arrow")
        from node.research.columns.tables import rows_of

        return rows_of(self._state, self.name)

    def __repr__(self) -> str:
        return f"<table {self.name}, {len(self)} rows, indices {', '.join(self._indices)}>"


def declarations(cls: type[Table[Any]]) -> Iterator[tuple[str, Unique | Ordered]]:
    """Yield the name and the declaration of each index of a table class that readers of views can use."""
    return ((name, declared) for name, declared in cls.declared if isinstance(declared, Unique | Ordered))


class Tables(Mapping[str, TableView]):
    """Tables of a state, keyed by name. The names of plugins' tables begin with the plugin's name."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._tables = names_of(state)
        self._views: dict[str, TableView] = {}

    def __getitem__(self, name: str) -> TableView:
        if name == SUMMARIES:
            raise NotThere(f"{name} is derived from several tables. Read it with series(path, {name!r}, every=None).")
        plugin = plugin_of(name)
        if name not in self._tables and plugin is not None and PLUGINS[plugin].find(self._state) is None:
            raise NotThere(f"there is no table {name}, because the chain has no plugin {plugin}. Pass plugins=[{plugin!r}].")
        if name not in self._tables:
            raise NotThere(f"there is no table {name}; {alternatives(name, self._tables)}")
        if name not in self._views:
            self._views[name] = TableView(self._state, name, self._tables[name])
        return self._views[name]

    def __contains__(self, name: object) -> bool:
        return name in self._tables

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


def extra(module: str, what: str) -> Any:
    """Import an optional library and return it. Raises MissingLibrary, which mentions that `what` needs it."""
    try:
        return load_extra(module, "data", what=what)
    except NodeError as error:
        raise MissingLibrary(str(error)) from None


def frame_of(table: Any) -> Any:
    """Convert an Arrow table to a DataFrame. Nullable integers become Int64, since floats would round them."""
    pandas, arrow = extra("pandas", "a DataFrame"), extra("pyarrow", "a DataFrame")
    whole = {arrow.int32(): pandas.Int32Dtype(), arrow.int64(): pandas.Int64Dtype(), arrow.bool_(): pandas.BooleanDtype()}
    columns = {
        name: column.to_pandas(types_mapper=whole.get if column.null_count else None)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return pandas.DataFrame(columns)
