"""What a checkpoint keeps: the whole state as copies, and the blocks of the main branch. Returning puts the copies back.

The journal can't lead back across blocks that are irreversible, and undoing takes the longer the more has happened. Copies don't ask what
has happened. They are made by functions in C, a row at a time, and are small as long as the chain is.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import overload

from msgspec import Struct, structs

from state.chain.forks import ForkTree
from state.chain.sidecars import Edits
from state.protocol.transaction import SignedBlock, SignedTransaction, Wire
from state.store import Row
from state.store.rows import PutBack, keeping_values
from state.tables import State


class StateKept:
    """The whole state as it is while this is filled: tables, the journal, what plugins hold, and what the state keeps beside tables."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._parts: list[PutBack] = []
        self._gone: Callable[[], object] = list
        self._here = structs.astuple(state.here)
        self._hardfork_times = state.hardfork_times.copy()

    def filled(self) -> Generator[None, None, "StateKept"]:
        """Keep the state and return this, in steps of a few ten milliseconds. In between it is read, but nothing may change it for good."""
        state = self._state
        for keeping in (*[table.keeping for _, table in state.tables()], *state.keepers):
            self._parts.append((yield from keeping()))
        self._parts.append(state.journal.keep())
        # Rows that have been removed are in no table; undoing brings them back.
        gone = {id(row): row for row in state.journal.subjects() if isinstance(row, Row)}
        self._gone = yield from keeping_values(list(gone.values()), lambda: state.journal.on_undone())
        return self

    def put_back(self) -> None:
        """Put everything back as it was."""
        state = self._state
        self._gone()
        for part in self._parts:
            part()
            state.journal.on_undone()
        for name, value in zip(state.here.__struct_fields__, self._here, strict=True):
            setattr(state.here, name, value)
        state.hardfork_times[:] = self._hardfork_times
        state.find_single_rows()
        for listener in state.on_put_back:
            listener()


class MainBranch(Struct, frozen=True, eq=False, weakref=True):
    """The main branch of a chain at a moment: `base` blocks that `older` finds, then `count` as bytes, then those of the fork tree.

    `saved` are those of the `base` ones that `older` doesn't find any more, since the chain has left the branch.
    """

    base: int
    older: Callable[[int], bytes | None]
    packed: list[bytes]
    count: int
    forks: ForkTree
    saved: dict[int, bytes] = {}

    @property
    def height(self) -> int:
        """The number of the last block; 0 without any."""
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

    def is_same(self, other: "MainBranch", number: int, wire: Wire) -> bool:
        """Whether another branch has the same block with this number."""
        mine, theirs = self.forks.on_main_branch(number), other.forks.on_main_branch(number)
        if mine is not None and theirs is not None:
            return mine.id == theirs.id
        packed, others = self._packed(number), other._packed(number)
        if packed is not None and packed is others:
            return True
        return self.block(number, wire).id == other.block(number, wire).id

    def save(self, same: int) -> None:
        """Keep the blocks after block `same` that only `older` finds, as bytes: it is about to lose them."""
        for number in range(same + 1, self.base + 1):
            if number not in self.saved:
                packed = self.older(number)
                assert packed is not None, f"block {number} is there"
                self.saved[number] = packed

    def _packed(self, number: int) -> bytes | None:
        """Return an irreversible block as bytes."""
        if number <= self.base:
            return self.saved.get(number) or self.older(number)
        place = number - self.base - 1
        return self.packed[place] if place < self.count else None


class Checkpoint(Struct, frozen=True):
    """A moment of a chain, to which it can return any number of times (`Chain.return_to`). It holds copies of everything that changes."""

    state: StateKept
    branch: MainBranch
    pending: tuple[SignedTransaction, ...]
    popped: tuple[SignedTransaction, ...]
    pending_mark: int | None
    marks: tuple[tuple[int, int, int], ...]
    edits: Edits
    settled_edits: int
    started_at: int
    is_changed_by_hand: bool


class Blocks(Sequence[SignedBlock]):
    """Blocks of a branch by their numbers, unpacked when they are asked for."""

    def __init__(self, branch: MainBranch, numbers: range, wire: Wire) -> None:
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
            return Blocks(self._branch, self._numbers[at], self._wire)
        return self._branch.block(self._numbers[at], self._wire)


def blocks_between(now: MainBranch, then: MainBranch, wire: Wire) -> tuple[Blocks, Blocks, int]:
    """Return the blocks that lead from one branch back to the last common block, newest first, and on to the other branch's end; and the
    number of the common block.
    """
    # A block's id covers all blocks before it, so that branches differ from some number on.
    same, differs = 0, min(now.height, then.height) + 1
    while differs - same > 1:
        middle = (same + differs) // 2
        if now.is_same(then, middle, wire):
            same = middle
        else:
            differs = middle
    return Blocks(now, range(now.height, same, -1), wire), Blocks(then, range(same + 1, then.height + 1), wire), same
