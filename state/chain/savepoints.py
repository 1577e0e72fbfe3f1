"""Savepoints: copies of the whole state and of the main branch, to which a chain can return.

The journal can't undo irreversible blocks, and undoing takes time proportional to the writes since. The time to restore a copy depends only
on the size of the state. Rows are copied by functions in C.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import overload

from msgspec import Struct, structs

from state.chain.fork_database import ForkDatabase
from state.chain.sidecars import Edits
from state.protocol.transaction import SignedBlock, SignedTransaction, Wire
from state.store import Row
from state.store.rows import CopyOfRows, Restore, copying_values
from state.tables import State


class StateCopy:
    """A copy of the whole state: tables, journal, plugin data, and attributes of the state outside of tables."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._parts: list[Restore] = []
        self._gone: Callable[[], object] = list
        self._here = structs.astuple(state.position)
        self._hardfork_times = state.hardfork_times.copy()

    def fill(self) -> Generator[None, None, "StateCopy"]:
        """Copy the state in steps of a few tens of milliseconds, and return self. The caller must undo changes of the state before the next
        step.
        """
        state = self._state
        for keeping in (*[table.copying for _, table in state.tables()], *state.keepers):
            self._parts.append((yield from keeping()))
        self._parts.append(state.journal.copy())
        # Removed rows are in no table, but undoing can bring them back.
        gone = {id(row): row for row in state.journal.touched_objects() if isinstance(row, Row)}
        self._gone = yield from copying_values(list(gone.values()), [], lambda: state.journal.on_undone())
        return self

    def discard(self) -> None:
        """Leave the copy's memory to be freed in parts. The copy can't be restored any more."""
        rows = [part for copied in self._parts if isinstance(copied, CopyOfRows) for part in copied.divide()]
        self._state.journal.discarded[:] = [*rows, *self._parts]
        self._parts = []

    def restore(self) -> None:
        """Restore the copied state."""
        state = self._state
        self._gone()
        for part in self._parts:
            part()
            state.journal.on_undone()
        for name, value in zip(state.position.__struct_fields__, self._here, strict=True):
            setattr(state.position, name, value)
        state.hardfork_times[:] = self._hardfork_times
        state.find_single_rows()
        for listener in state.on_restored:
            listener()
            state.journal.on_undone()


class BranchCopy(Struct, frozen=True, eq=False, weakref=True):
    """A copy of a chain's main branch. `older` finds the blocks up to number `found`.

    The next `count` blocks are held as bytes, and the last ones are in the fork database. `saved` contains those of these blocks
    that `older` no longer finds, because the chain has left the branch.
    """

    found: int
    older: Callable[[int], bytes | None]
    packed: list[bytes]
    count: int
    forks: ForkDatabase
    saved: dict[int, bytes] = {}

    @property
    def height(self) -> int:
        """The number of the last block; 0 if there is none."""
        head = self.forks.head
        return 0 if head is None else head.number

    def block(self, number: int, wire: Wire) -> SignedBlock:
        """Return the block with this number."""
        packed = self._packed(number)
        if packed is not None:
            return wire.unpack_block(packed)[0]
        block = self.forks.on_main_branch(number)
        assert block is not None, f"block {number} is on the main branch"
        return block

    def is_same(self, other: "BranchCopy", number: int, wire: Wire) -> bool:
        """Whether this branch and another one have the same block at this number."""
        mine, theirs = self.forks.on_main_branch(number), other.forks.on_main_branch(number)
        if mine is not None and theirs is not None:
            return mine.id == theirs.id
        packed, others = self._packed(number), other._packed(number)
        # A chain that comes from a snapshot can lack the blocks before it.
        if packed is others and (packed is not None or number <= min(self.found, other.found)):
            return True
        return self.block(number, wire).id == other.block(number, wire).id

    def save(self, same: int) -> None:
        """Save the blocks after block `same` that only the log contains (`older` reads them), before they are dropped from the log."""
        for number in range(same + 1, self.found + 1):
            if number not in self.saved and (packed := self.older(number)) is not None:
                self.saved[number] = packed

    def _packed(self, number: int) -> bytes | None:
        """Return an irreversible block as bytes, or None if the fork database has it."""
        if number <= self.found:
            return self.saved.get(number) or self.older(number)
        place = number - self.found - 1
        return self.packed[place] if place < self.count else None


class Savepoint(Struct, frozen=True):
    """A copy of a chain's state and blocks. `Chain.restore` returns the chain to it, any number of times."""

    state: StateCopy
    branch: BranchCopy
    pending: tuple[SignedTransaction, ...]
    popped: tuple[SignedTransaction, ...]
    pending_position: int | None
    positions: tuple[tuple[int, int, int], ...]
    edits: Edits
    irreversible_edits: int
    started_at: int
    is_changed_by_hand: bool


class BranchBlocks(Sequence[SignedBlock]):
    """Blocks of a branch, keyed by number, unpacked on access."""

    def __init__(self, branch: BranchCopy, numbers: range, wire: Wire) -> None:
        self._branch, self._numbers, self._wire = branch, numbers, wire

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[SignedBlock]:
        return (self._branch.block(number, self._wire) for number in self._numbers)

    @overload
    def __getitem__(self, at: int) -> SignedBlock: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[SignedBlock]: ...
    def __getitem__(self, at: int | slice) -> SignedBlock | Sequence[SignedBlock]:
        if isinstance(at, slice):
            return BranchBlocks(self._branch, self._numbers[at], self._wire)
        return self._branch.block(self._numbers[at], self._wire)


def blocks_between(now: BranchCopy, then: BranchCopy, wire: Wire) -> tuple[BranchBlocks, BranchBlocks, int]:
    """Return the blocks of `now` and of `then` after the last common block, and that block's number.

    The blocks of `now` are newest first, those of `then` oldest first.
    """
    # Binary search: a block's id covers all blocks before it, so branches differ in all blocks after the last common one.
    same, differs = wire.spec.base.number, min(now.height, then.height) + 1
    while differs - same > 1:
        middle = (same + differs) // 2
        if now.is_same(then, middle, wire):
            same = middle
        else:
            differs = middle
    return BranchBlocks(now, range(now.height, same, -1), wire), BranchBlocks(then, range(same + 1, then.height + 1), wire), same
