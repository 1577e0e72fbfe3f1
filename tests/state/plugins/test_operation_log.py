"""The operation log in snapshots: round trips, and damaged data, which is refused before anything changes."""

from collections.abc import Iterator

import pytest
from msgspec import msgpack

from state.chain.blocks import NO_TRANSACTION
from state.plugins import operation_log
from state.plugins.account_history import ACCOUNT_HISTORY, AccountHistory, history
from state.plugins.operation_log import (
    HELD,
    IN_BLOCK,
    KIND_AT,
    OF_TRANSACTION,
    ROW,
    ROW_BYTES,
    VIRTUAL,
    AccountOperationIndexPart,
    OperationLogPart,
)
from state.protocol.values.asset import Asset
from state.protocol.virtual import Interest
from state.store.columns import CorruptData
from state.tables import State
from tests.helpers.chains import add_account, genesis_state
from tests.helpers.snapshots import snapshot
from tests.state.plugins.test_account_history import transfer

PLACE_AT = ROW_BYTES - 8


def filled() -> tuple[State, AccountHistory]:
    """A state with records of every kind, of alice and of a name without an account."""
    state = genesis_state(ACCOUNT_HISTORY.name)
    add_account(state, "alice")
    data: AccountHistory = ACCOUNT_HISTORY.of(state)
    here = state.position
    here.block, here.trx_in_block, data.recorded.block, data.recorded.locations = 7, 3, 7, [400, 300, 200, 100]
    data.record(state, transfer(1))
    here.trx_id, here.virtual_op = bytes(range(20)), 1
    data.record(state, Interest(owner="alice", interest=Asset(5)))
    here.trx_in_block, here.trx_id = NO_TRANSACTION, bytes(20)
    data.record(state, Interest(owner="bob", interest=Asset(6)))
    data.record(state, transfer(2))
    assert [row[-2] for row in ROW.iter_unpack(data.recorded.rows)] == [IN_BLOCK, OF_TRANSACTION, VIRTUAL, HELD]
    return state, data


def chunks(state: State, data: AccountHistory) -> tuple[list[bytes], list[bytes]]:
    """Return the chunks of both snapshot parts."""
    entries = AccountOperationIndexPart(data.accounts, data.recorded, state.accounts)
    return list(OperationLogPart(state, data.recorded).dump()), list(entries.dump())


def put(state: State, data: AccountHistory, records: list[bytes], entries: list[bytes]) -> None:
    """Restore both parts from their chunks."""
    install = OperationLogPart(state, data.recorded).read(iter(records))
    assert install() is None
    deferred = AccountOperationIndexPart(data.accounts, data.recorded, state.accounts).read(iter(entries))()
    assert deferred is not None
    deferred.finish()


@pytest.mark.parametrize("size", [5, 27, 64, 1 << 20])
def test_written_parts_round_trip(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(operation_log, "CHUNK_BYTES", size)
    monkeypatch.setattr(operation_log, "ACCOUNTS_PER_CHUNK", 1)
    monkeypatch.setattr(operation_log, "FEW_BYTES", 0)
    state, data = filled()
    alice = state.account("alice").id
    data.accounts.drop_front(alice, 1)
    other_state = genesis_state(ACCOUNT_HISTORY.name)
    add_account(other_state, "alice")
    other: AccountHistory = ACCOUNT_HISTORY.of(other_state)
    put(other_state, other, *chunks(state, data))
    assert snapshot(other)["recorded"][:2] == snapshot(data)["recorded"][:2]
    assert snapshot(other)["accounts"] == snapshot(data)["accounts"] == {alice: (1, [1, 3]), "bob": (0, [0, 2, 3])}
    for account in ("alice", "bob"):
        # Transfers of a block are read from the block, which doesn't exist in this state, so only the others are compared.
        shown = [(number, record) for number, record in history(other_state, account, -1, 2)]
        assert shown == history(state, account, -1, 2)
    assert [record.trx_id for _, record in history(other_state, "alice", -1, 2)] == [bytes(range(20)), bytes(20)]


def test_undo_restores_each_kind() -> None:
    state, data = filled()
    state.journal.undo(state.journal.position() - 4)
    assert snapshot(data) == snapshot(ACCOUNT_HISTORY.of(genesis_state(ACCOUNT_HISTORY.name)))


def damaged(state: State, records: list[bytes], entries: list[bytes]) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Yield both parts with different kinds of damage."""
    yield records[:1], entries
    yield [b"", *records[1:]], entries
    yield [*records, b"more"], entries
    yield [msgpack.encode((ROW_BYTES + 1, 0, [])), bytes(ROW_BYTES + 1)], entries
    yield [msgpack.encode((0, 0, [(bytes(20), b"\xff")]))], entries
    rows, virtual = records[1], records[2]
    held = msgpack.decode(records[0])[2]
    for number, at, value in (
        (0, KIND_AT, 4),
        (0, 0, 0),
        (0, PLACE_AT, 0),
        (1, PLACE_AT, 1),
        (2, PLACE_AT, 0),
        (3, PLACE_AT, 1),
        (3, KIND_AT, 1),
    ):
        other = bytearray(rows)
        other[number * ROW_BYTES + at] = value
        yield [msgpack.encode((len(rows), len(virtual), held)), bytes(other), virtual], entries
    for size in (20, len(virtual) - 1, len(virtual) + 1):
        other = bytearray((virtual + b"x")[:size])
        yield [msgpack.encode((len(rows), size, held)), rows, bytes(other)], entries
    yield [msgpack.encode((len(rows), len(virtual), [])), rows, virtual], entries
    yield [msgpack.encode((len(rows), len(virtual), held * 2)), rows, virtual], entries
    yield [msgpack.encode((len(rows), len(virtual), held)), rows, virtual[:20] + b"\xff" * 4 + virtual[24:]], entries
    for names, firsts, counts, data in (
        (["a"], [0], [1], b"\4\0\0\0"),
        (["a"], [0], [2], b"\0\0\0\0"),
        (["a"], [0], [], b""),
        (["a"], [0], [-1], b""),
        (["a"], [0], [1], b"\0\0\0"),
        (["a"], [-1], [1], b"\0\0\0\0"),
        (["a", "a"], [0, 0], [1, 1], b"\0\0\0\0\1\0\0\0"),
        ([-1], [0], [1], b"\0\0\0\0"),
        ([state.accounts.next_id], [0], [1], b"\0\0\0\0"),
    ):
        yield records, [msgpack.encode((names, firsts, counts, data))]
    yield records, [b"\xc1"]


def all_damaged() -> tuple[State, AccountHistory, list[tuple[list[bytes], list[bytes]]]]:
    """Return a state with its data, and parts with different kinds of damage."""
    state, data = filled()
    return state, data, list(damaged(state, *chunks(state, data)))


@pytest.mark.parametrize("which", range(len(all_damaged()[2])))
def test_damaged_parts_are_refused(which: int) -> None:
    state, data, parts = all_damaged()
    records, entries = parts[which]
    with pytest.raises(CorruptData):
        put(state, data, records, entries)
