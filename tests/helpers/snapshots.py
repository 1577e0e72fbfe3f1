"""What a plugin keeps, in a form that can be compared: for tests of undo."""

from collections.abc import Callable
from typing import Any

from state.plugins.operation_log import ROW, AccountOperationIndex, OperationLog
from state.plugins.transaction_index import TransactionIndex
from state.store import AppendLists, Table
from tests.conformance.play import Player


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
    """How many tables, lists and dicts of a snapshot hold anything."""
    return sum(bool(value[1] if isinstance(value, tuple) else value) for value in shot.values())


def blocks_that_change(player: Player, seen: Callable[[], Any]) -> int:
    """Count the recorded blocks that change what is seen; demands that it is undone with a block, and the same when that comes again."""
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
