"""Plugin data in comparable form, for tests of undo."""

from typing import Any

from state.plugins.follow.feeds import Blogs, Feeds
from state.plugins.operation_log import ROW, AccountOperationIndex, OperationLog
from state.plugins.transaction_index import TransactionIndex
from state.store import AppendLists, Table
from state.store.packed_integers import as_array


def snapshot(plugin: Any) -> dict[str, Any]:
    """Return the tables, lists and dicts of a plugin's data in comparable form. This also verifies them.

    `plugin` can also be a table. Its rows are live objects, so they are stored as text.
    """
    found: dict[str, Any] = {}
    parts = {"rows": plugin} if isinstance(plugin, Table) else vars(plugin)
    for name, value in parts.items():
        if isinstance(value, Table):
            value.check()
            found[name] = value.next_id, [repr(row) for row in value]
        elif isinstance(value, AppendLists):
            value.check()
            found[name] = {key: (value.get(key).first, [repr(entry) for entry in value.get(key)]) for key in value}
        elif isinstance(value, dict):
            found[name] = dict(value)
        elif isinstance(value, OperationLog):
            found[name] = [*ROW.iter_unpack(value.rows)], bytes(value.virtual), [*value.held]
        elif isinstance(value, TransactionIndex):
            found[name] = dict(value)
        elif isinstance(value, AccountOperationIndex):
            held: list[tuple[Any, Any]] = [*value.by_id.items(), *value.early.items()]
            found[name] = {account: (value.firsts.get(account, 0), [*as_array(entries)]) for account, entries in held}
        elif isinstance(value, Blogs | Feeds):
            found |= {f"{name}.{inner}": content for inner, content in snapshot(value).items()}
    return found
