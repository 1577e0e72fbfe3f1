"""Checks a fork block before it is stored. Only a block that a scheduled witness can have signed is accepted.

A fork block can't be applied, because the state is that of another branch. The checks use the current state, the journal and the blocks of
the fork. They never refuse a block that could be applied at its position. Source: block-processing.md §3.4.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from state.chain.blocks import require_merkle_root
from state.chain.fork_database import BranchBlock
from state.chain.skip import Skip
from state.operations.mining import Pow, Pow2
from state.operations.witnesses import WitnessSetProperties, WitnessUpdate
from state.protocol.codec.kinds import Codecs
from state.protocol.constants import COIN_BLOCK_INTERVAL, COIN_MAX_WITNESSES
from state.protocol.errors import ChainError, UnknownKey, require
from state.protocol.keys.signatures import Canonical
from state.protocol.operation import Operation
from state.protocol.transaction import SignedBlock
from state.store import Row, Table
from state.tables import State

RowT = TypeVar("RowT", bound=Row)


class SignerHistory:
    """The signing keys and rounds of witnesses at each reversible block of the main branch.

    This history is read from the journal when a fork block first needs it. Each journal record is read once, so the cost of a call depends
    only on the number of writes since the previous call. During a call, the state must be that of the head block, without pending
    transactions.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._keys = _FieldHistory(state.witnesses, "signing_key")
        self._rounds = _FieldHistory(state.witness_schedules, "current_shuffled_witnesses")

    def undone(self, mark: int) -> None:
        """Forget the keys and rounds recorded after the journal position `mark`. Call this when the journal is undone to that position."""
        self._keys.undone(mark)
        self._rounds.undone(mark)

    def require(
        self, block: SignedBlock, parent_time: int, branch: list[BranchBlock], mark: int, skip_flags: int, has_changes: bool
    ) -> None:
        """Refuse a block that can't be applied on its branch. The checks, their order and messages are those of applying the block.

        `branch` contains the blocks between the main branch and this block. `mark` is the journal position after the last common block, 0
        if there is none. `has_changes` means that some reversible blocks have state edits. An edit can change anything, so the witness of
        the slot can't be predicted.
        """
        require_merkle_root(self._state, block, skip_flags)
        require(
            parent_time < block.timestamp, condition="head_block_time() < next_block.timestamp", next=block.timestamp, blocknum=block.number
        )
        keys = self._keys_of(block.witness, branch, mark)
        if not keys:
            raise UnknownKey
        if not skip_flags & Skip.WITNESS_SIGNATURE:
            # Any canonical form is accepted, because hardfork 20 changes the rule and the branch can be on its other side.
            key = self._state.wire.block_signer(block, Canonical.non_canonical)
            require(key in keys, condition="next_block.validate_signee( witness.signing_key )")
        if not skip_flags & Skip.WITNESS_SCHEDULE_CHECK and not has_changes:
            self._require_turn(block, parent_time, branch, mark)

    def keys_since(self, mark: int) -> Iterator[tuple[str, bytes]]:
        """Yield the witnesses whose keys were set since a journal position, with their current keys."""
        for witness in {id(row): row for row in self._keys.rows_since(mark)}.values():
            yield witness.owner, witness.signing_key

    def _keys_of(self, name: str, branch: list[BranchBlock], mark: int) -> set[bytes]:
        """Return every key that a witness can have at the end of a branch, or an empty set if the account can't be a witness.

        These are its key at the start of the branch, and every key that an operation of the branch sets. Which of these operations are
        refused, and which one is the last, is known only after the branch is applied.
        """
        keys = {key for block in branch for owner, key in block.keys if owner == name}
        witness = self._state.witnesses.by_name.get(name)
        if witness is not None:
            replaced = self._keys.replaced(mark, witness)
            if replaced is None:
                keys.add(witness.signing_key)
            elif replaced:
                keys.add(replaced["signing_key"])
        return keys

    def _require_turn(self, block: SignedBlock, parent_time: int, branch: list[BranchBlock], mark: int) -> None:
        """Refuse a block that isn't in a slot of its witness, if the round of witnesses on its branch is known.

        The round is known from the start of the branch up to the block that computes the next round. Absolute slot numbers advance with
        time equally on every branch, so the block's slot number follows from that of the head. This is not checked on a branch that begins
        with block 1, whose slots are counted from another time.
        """
        first = block.number - len(branch)
        slot = block.timestamp // COIN_BLOCK_INTERVAL - parent_time // COIN_BLOCK_INTERVAL
        if first == 1:
            return
        require(slot > 0, condition="slot_num > 0")
        if (first - 1) // COIN_MAX_WITNESSES != (block.number - 1) // COIN_MAX_WITNESSES:
            return
        props, schedule = self._state.props, self._state.schedule
        replaced = self._rounds.replaced(mark, schedule) or {}
        names = replaced.get("current_shuffled_witnesses", schedule.current_shuffled_witnesses)
        count = replaced.get("num_scheduled_witnesses", schedule.num_scheduled_witnesses)
        absolute = props.current_aslot + block.timestamp // COIN_BLOCK_INTERVAL - props.time // COIN_BLOCK_INTERVAL
        scheduled = names[absolute % count]
        require(
            scheduled == block.witness,
            "Witness produced block at wrong time",
            condition="witness.owner == scheduled_witness",
            **{"block witness": block.witness, "scheduled": scheduled, "slot_num": slot},
        )


def keys_given(block: SignedBlock, codecs: Codecs) -> Iterator[tuple[str, bytes]]:
    """Yield the signing keys that a block's operations set, each with its witness. Operations that may still be refused are included."""
    for trx in block.transactions:
        for operation in trx.operations:
            yield from _key_given(operation, codecs)


def _key_given(operation: Operation, codecs: Codecs) -> Iterator[tuple[str, bytes]]:
    match operation:
        case WitnessUpdate():
            yield operation.owner, operation.block_signing_key
        case WitnessSetProperties():
            try:
                key = operation.properties(codecs).new_signing_key
            except ChainError:
                return  # The operation and therefore its block will be refused.
            if key is not None:
                yield operation.owner, key
        case Pow():
            yield operation.worker_account, operation.work.worker
        case Pow2() if operation.new_owner_key is not None:
            yield operation.work.input.worker_account, operation.new_owner_key


class _FieldHistory(Generic[RowT]):
    """History of one field of a table: the values replaced by reversible writes."""

    def __init__(self, table: Table[RowT], field: str) -> None:
        self._table = table
        self._field = field
        self._read = 0
        # Position, row, replaced values (an empty dict for an inserted row). Bounded by the reversible writes of the field.
        self._writes: deque[tuple[int, RowT, dict[str, Any]]] = deque()

    def undone(self, mark: int) -> None:
        """Forget the writes after a journal position."""
        self._read = min(self._read, mark)
        while self._writes and self._writes[-1][0] >= mark:
            self._writes.pop()

    def replaced(self, mark: int, row: RowT) -> dict[str, Any] | None:
        """Return the values replaced by the first write to a row since a journal position: {} for an insert, None without a write."""
        self._read_on()
        return next((old for position, written, old in self._writes if written is row and position >= mark), None)

    def rows_since(self, mark: int) -> list[RowT]:
        """Return the rows written since a journal position, one entry per write."""
        self._read_on()
        return [row for position, row, _ in self._writes if position >= mark]

    def _read_on(self) -> None:
        journal = self._table.journal
        start = journal.position() - len(journal)
        while self._writes and self._writes[0][0] < start:
            self._writes.popleft()
        for position, row, old in self._table.writes_since(self._read):
            if old is None or self._field in old:
                self._writes.append((position, row, old or {}))
        self._read = journal.position()
