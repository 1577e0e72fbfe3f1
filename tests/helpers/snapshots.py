"""The data of a plugin in a comparable form, for tests of undo."""

from collections.abc import Callable
from typing import Any

from state.plugins.operation_log import ROW, AccountOperationIndex, OperationLog
from state.plugins.transaction_index import TransactionIndex
from state.store import AppendLists, Table
from tests.conformance.play import Player


def snapshot(plugin: Any) -> dict[str, Any]:
    """Return the tables, lists and dicts of a plugin's data as texts; also verifies them. The data can be a table itself, whose rows are
    live objects and so are written out too.
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
            found[name] = {account: (value.firsts.get(account, 0), [*entries]) for account, entries in value.by_name.items()}
    return found


def pieces(shot: dict[str, Any]) -> int:
    """The number of non-empty tables, lists and dicts of a snapshot."""
    return sum(bool(value[1] if isinstance(value, tuple) else value) for value in shot.values())


def blocks_that_change(player: Player, seen: Callable[[], Any]) -> int:
    """Count the recorded blocks that change the data; check that undoing and repeating a block restores it."""
    chain, changes = player.chain, 0
    for block in player.blocks():
        before = seen()
        chain.push_block(block)
        after = seen()
        changes += before != after
        if block.number > 1:
            chain.pop_block()
            chain.clear_pending()
            assert seen() == before
            chain.push_block(block)
            assert seen() == after
    return changes
