"""What a block of a branch other than the main one must show before it is kept: that a witness can have signed it.

Such a block can't be applied, since the state is that of another branch. What is asked here follows from the state that is there, the
journal and the blocks of the branch, and never refuses a block that could be applied at its place. Source: block-processing.md §3.4.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from state.chain.blocks import require_merkle_root
from state.chain.forks import BranchBlock
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


class Signers:
    """The signing keys and rounds of witnesses at each block of the main branch that can be undone.

    They are read back from the journal when a block of a branch first needs them.

    The state must be that of the head block whenever it is asked, without pending transactions. Each record of the journal is read
    once, so that asking costs the writes since the last time, and in between nothing.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._keys = _Past(state.witnesses, "signing_key")
        self._rounds = _Past(state.witness_schedules, "current_shuffled_witnesses")

    def undone(self, mark: int) -> None:
        """Forget what was read of the journal after a mark to which it is undone."""
        self._keys.undone(mark)
        self._rounds.undone(mark)

    def require(self, block: SignedBlock, parent_time: int, branch: list[BranchBlock], mark: int, skip: int, has_changes: bool) -> None:
        """Refuse a block that can't be applied on its branch, in the order and with the texts of applying it.

        `branch` are the blocks between the main branch and this one, `mark` the journal's position after the block of the main branch
        that they follow, 0 if they follow none. With `has_changes`, blocks have been changed by edits: a change can be anything,
        so that rounds and slots can't be foretold.
        """
        require_merkle_root(self._state, block, skip)
        require(
            parent_time < block.timestamp,
            condition="head_block_time() < next_block.timestamp",
            next=block.timestamp,
            blocknum=block.number,
        )
        keys = self._keys_of(block.witness, branch, mark)
        if not keys:
            raise UnknownKey
        if not skip & Skip.WITNESS_SIGNATURE:
            # Without a canonical rule: the branch can be on the other side of hardfork 20, which changes it.
            key = self._state.wire.block_signer(block, Canonical.non_canonical)
            require(key in keys, condition="next_block.validate_signee( witness.signing_key )")
        if not skip & Skip.WITNESS_SCHEDULE_CHECK and not has_changes:
            self._require_turn(block, parent_time, branch, mark)

    def keys_since(self, mark: int) -> Iterator[tuple[str, bytes]]:
        """Yield the witnesses whose keys have been set since a mark, with the keys that they have now."""
        for witness in {id(row): row for row in self._keys.rows_since(mark)}.values():
            yield witness.owner, witness.signing_key

    def _keys_of(self, name: str, branch: list[BranchBlock], mark: int) -> set[bytes]:
        """Return every key that a witness can have at the end of a branch; none if it can be no witness.

        That is its key where the branch begins, or one that operations of the branch give it. Whether these operations are refused,
        and which of them is the last, only applying them would show.
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
        """Refuse a block outside of its witness's slot, if the round that its branch is in is known.

        That is the one where the branch begins, up to the block that makes the next one. Absolute slots go on with time alike on every
        branch, so that the number of the block's own follows from that of the head; only block 1 counts from another time.
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
    """Yield the witnesses to which operations of a block give a signing key, with that key; whether they are refused isn't asked."""
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
                return  # The operation, and so its block, is refused.
            if key is not None:
                yield operation.owner, key
        case Pow():
            yield operation.worker_account, operation.work.worker
        case Pow2() if operation.new_owner_key is not None:
            yield operation.work.input.worker_account, operation.new_owner_key


class _Past(Generic[RowT]):
    """The values of one field that a table's rows had before the writes that can still be undone."""

    def __init__(self, table: Table[RowT], field: str) -> None:
        self._table = table
        self._field = field
        self._read = 0
        # Position, row, replaced values; an empty dict for a row that was inserted. Grows with the writes of the field that can be undone.
        self._writes: deque[tuple[int, RowT, dict[str, Any]]] = deque()

    def undone(self, mark: int) -> None:
        """Forget the writes after a mark."""
        self._read = min(self._read, mark)
        while self._writes and self._writes[-1][0] >= mark:
            self._writes.pop()

    def replaced(self, mark: int, row: RowT) -> dict[str, Any] | None:
        """Return the values that the first write to a row since a mark has replaced, {} if it made the row; None without such a write."""
        self._read_on()
        return next((old for position, written, old in self._writes if written is row and position >= mark), None)

    def rows_since(self, mark: int) -> list[RowT]:
        """Return the rows that have been written since a mark."""
        self._read_on()
        return [row for position, row, _ in self._writes if position >= mark]

    def _read_on(self) -> None:
        journal = self._table.journal
        start = journal.mark() - len(journal)
        while self._writes and self._writes[0][0] < start:
            self._writes.popleft()
        for position, row, old in self._table.writes_since(self._read):
            if old is None or self._field in old:
                self._writes.append((position, row, old or {}))
        self._read = journal.mark()
