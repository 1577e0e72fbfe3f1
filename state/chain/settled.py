"""The irreversible blocks of a main branch: found in a block log where there is one, and held as bytes where not. It knows no file."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

from state.chain.checkpoints import MainBranch
from state.chain.forks import ForkTree
from state.chain.moves import Move, MoveListener
from state.protocol.errors import ChainError, Refused
from state.protocol.transaction import BlockHeader, SignedBlock, Wire

Find = Callable[[int], bytes | None]
"""Returns a block as bytes by its number."""


def no_block(number: int) -> None:
    """Find no block."""


def missing(block: int) -> ChainError:
    """Return the refusal of a read that needs an operation which its block doesn't have, or a block that isn't there: one is damaged."""
    return Refused("the operation is not in block ${block}", condition="operation != nullptr", block=block)


class Settled:
    """The irreversible blocks: the first `base` ones, which `find` finds, and those after them, which are held as bytes.

    Blocks are only ever appended to `held`: checkpoints share it. Where a log follows the moves of the chain (`keep_in`), blocks are held
    until it has them.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.base = 0
        self.find: Find = no_block
        self.held: list[bytes] = []
        # Of the log: the function that finds a block in it, and the one that says how many of its blocks are surely those of the chain.
        self._in_log: tuple[Find, Callable[[], int]] | None = None
        # Earlier moments of the chain that somebody still holds: their blocks must be saved before a log is cut.
        self._branches: WeakSet[MainBranch] = WeakSet()
        self._is_log_asked = True

    def __len__(self) -> int:
        """The number of the last irreversible block."""
        return self.base + len(self.held)

    def packed(self, number: int) -> bytes | None:
        """Return an irreversible block as bytes; `number` is 1 at least."""
        return self.find(number) if number <= self.base else self.held[number - self.base - 1]

    def block(self, number: int) -> SignedBlock | None:
        """Return an irreversible block; None for one that a chain made from a snapshot without its blocks doesn't have."""
        packed = self.packed(number)
        return None if packed is None else self._wire.unpack_block(packed)[0]

    def header(self, number: int) -> BlockHeader | None:
        """Return the header of an irreversible block."""
        packed = self.packed(number)
        return None if packed is None else self._wire.unpack_header(packed)

    def operations_of(self, number: int, size: int) -> tuple[bytes, tuple[Any, ...]]:
        """Return id and operations of a transaction of an irreversible block, which begins `size` bytes before the block's end."""
        packed = self.packed(number)
        if packed is None:
            raise missing(number)
        return self._wire.unpack_operations(packed[-size:])

    def add(self, block: SignedBlock, *, is_in_log: bool) -> None:
        """Add a block that has become irreversible. If the log has it, it has all before it, so that none is held."""
        if is_in_log:
            self.base = block.number
        else:
            self.held.append(self._wire.pack_block(block))

    def keep_in(self, find: Find, stored: Callable[[], int]) -> None:
        """Hold no blocks any more that are in a log; `stored` is how many it has, 0 when it doesn't follow the chain any more."""
        self._in_log = find, stored

    def start_at(self, base: int, find: Find, held: list[bytes]) -> None:
        """Replace all blocks by these."""
        self.base, self.find, self.held = base, find, held

    def look_into_log(self, parent: int) -> int:
        """Let go of what the log has by now, and return how many blocks it has, 0 without one.

        `parent` is the last block before the move that is being made: those after it come to the log with the listeners of the move.
        """
        if self._in_log is None or not self._is_log_asked:
            return 0
        find, stored = self._in_log
        count = min(stored(), parent)
        if count < self.base:
            return 0
        self.find = find
        if self.held:
            some = min(count, len(self)) - self.base
            self.held, self.base = self.held[some:], self.base + some
        return count

    def branch(self, forks: ForkTree) -> MainBranch:
        """Return the main branch as it is now; it stays so when the chain goes on."""
        branch = MainBranch(self.base, self.find, self.held, len(self.held), forks.copy())
        self._branches.add(branch)
        return branch

    def return_to(self, branch: MainBranch) -> None:
        """Go back to the blocks of an earlier moment."""
        # The list is shared with other checkpoints, which must find their blocks in it.
        held = branch.packed if len(branch.packed) == branch.count else branch.packed[: branch.count]
        self.start_at(branch.base, branch.older, held)

    @contextmanager
    def without_log(self) -> Iterator[None]:
        """Hold new blocks as bytes meanwhile: the log hears of them at the end only."""
        self._is_log_asked = False
        try:
            yield
        finally:
            self._is_log_asked = True

    def call(self, listeners: Iterable[MoveListener], move: Move, same: int) -> None:
        """Call the listeners of a move that leaves the irreversible blocks after block `same`; one of them cuts the log.

        Earlier moments that have these blocks read them before, as they couldn't be found any more.
        """
        for branch in list(self._branches):
            branch.save(same)
        for listener in listeners:
            listener(move)
