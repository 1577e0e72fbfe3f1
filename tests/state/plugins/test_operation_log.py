"""Recorded operations in snapshots: what was read is what was written, and bytes that don't fit are refused before anything changes."""

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
from tests.helpers.snapshots import snapshot
from tests.state.plugins.test_account_history import fresh_state, transfer


def filled() -> tuple[State, AccountHistory]:
    """A state with records of all kinds."""
    state = fresh_state()
    kept: AccountHistory = ACCOUNT_HISTORY.of(state)
    here = state.position
    here.block, here.trx_in_block, kept.recorded.block, kept.recorded.left = 7, 3, 7, [400, 300, 200, 100]
    kept.record(state, transfer(1))
    here.trx_id, here.virtual_op = bytes(range(20)), 1
    kept.record(state, Interest(owner="alice", interest=Asset(5)))
    here.trx_in_block, here.trx_id = NO_TRANSACTION, bytes(20)
    kept.record(state, Interest(owner="bob", interest=Asset(6)))
    kept.record(state, transfer(2))
    assert [row[-2] for row in ROW.iter_unpack(kept.recorded.rows)] == [IN_BLOCK, OF_TRANSACTION, VIRTUAL, HELD]
    return state, kept


def chunks(state: State, kept: AccountHistory) -> tuple[list[bytes], list[bytes]]:
    """Both parts as bytes."""
    return list(OperationLogPart(state, kept.recorded).dump()), list(AccountOperationIndexPart(kept.accounts, kept.recorded).dump())


def put(state: State, kept: AccountHistory, records: list[bytes], entries: list[bytes]) -> None:
    """Read both parts."""
    install = OperationLogPart(state, kept.recorded).read(iter(records))
    assert install() is None
    deferred = AccountOperationIndexPart(kept.accounts, kept.recorded).read(iter(entries))()
    assert deferred is not None
    deferred.finish()


@pytest.mark.parametrize("size", [5, 27, 64, 1 << 20])
def test_what_was_written_is_read(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(operation_log, "CHUNK_BYTES", size)
    monkeypatch.setattr(operation_log, "ACCOUNTS_PER_CHUNK", 1)
    state, kept = filled()
    kept.accounts.drop_front("alice", 1)
    other_state = fresh_state()
    other: AccountHistory = ACCOUNT_HISTORY.of(other_state)
    put(other_state, other, *chunks(state, kept))
    assert snapshot(other)["recorded"][:2] == snapshot(kept)["recorded"][:2]
    assert snapshot(other)["accounts"] == snapshot(kept)["accounts"] == {"alice": (1, [1, 3]), "bob": (0, [0, 2, 3])}
    for account in ("alice", "bob"):
        # The transfer in a block is read from that, of which there is none here.
        shown = [(number, record) for number, record in history(other_state, account, -1, 2)]
        assert shown == history(state, account, -1, 2)
    assert [record.trx_id for _, record in history(other_state, "alice", -1, 2)] == [bytes(range(20)), bytes(20)]


def test_undo_takes_back_each_kind() -> None:
    state, kept = filled()
    state.journal.undo(state.journal.position() - 4)
    assert snapshot(kept) == snapshot(ACCOUNT_HISTORY.of(fresh_state()))


def damaged(records: list[bytes], entries: list[bytes]) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Parts that hold no history."""
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
    ):
        yield records, [msgpack.encode((names, firsts, counts, data))]
    yield records, [b"\xc1"]


DAMAGES = 26
PLACE_AT = ROW_BYTES - 8


def test_all_damages_are_tried() -> None:
    assert len(list(damaged(*chunks(*filled())))) == DAMAGES


@pytest.mark.parametrize("which", range(DAMAGES))
def test_what_does_not_fit_is_refused(which: int) -> None:
    state, kept = filled()
    records, entries = list(damaged(*chunks(state, kept)))[which]
    with pytest.raises(CorruptData):
        put(state, kept, records, entries)
