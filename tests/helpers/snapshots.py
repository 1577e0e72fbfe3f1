"""What a plugin keeps, in a form that can be compared: for tests of undo."""

from typing import Any

from state.plugins.places import Places
from state.plugins.recorded import ROW, AccountEntries, Recorded
from state.store import Lists, Table


def snapshot(plugin: Any) -> dict[str, Any]:
    """Return everything in the tables, lists and dicts of a plugin's data, in words; verifies them on the way.

    The data may be a table itself: its rows are live objects, so they are written out like those of others.
    """
    found: dict[str, Any] = {}
    parts = {"rows": plugin} if isinstance(plugin, Table) else vars(plugin)
    for name, value in parts.items():
        if isinstance(value, Table):
            value.check()
            found[name] = value.next_id, [repr(row) for row in value]
        elif isinstance(value, Lists):
            value.check()
            found[name] = {key: (value.get(key).first, [repr(entry) for entry in value.get(key)]) for key in value}
        elif isinstance(value, dict):
            found[name] = dict(value)
        elif isinstance(value, Recorded):
            found[name] = [*ROW.iter_unpack(value.rows)], bytes(value.virtual), [*value.held]
        elif isinstance(value, Places):
            found[name] = dict(value)
        elif isinstance(value, AccountEntries):
            found[name] = {account: (value.firsts.get(account, 0), [*entries]) for account, entries in value.by_name.items()}
    return found


def pieces(shot: dict[str, Any]) -> int:
    """How many tables, lists and dicts of a snapshot hold anything."""
    return sum(bool(value[1] if isinstance(value, tuple) else value) for value in shot.values())
