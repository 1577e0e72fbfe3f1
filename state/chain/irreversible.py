"""Access to the irreversible blocks, which are read from the attached block log, or kept in memory as bytes if there is none."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

from state.chain.fork_database import ForkDatabase
from state.chain.head_change import HeadChange, HeadChangeListener
from state.chain.savepoints import BranchCopy
from state.protocol.errors import ChainError, Refused, UnreadableBlock
from state.protocol.transaction import BlockHeader, SignedBlock, SignedTransaction, Wire

CHECK_BYTES = 4  # of a transaction's id

Find = Callable[[int], bytes | None]
"""Returns the block with the given number as bytes."""
FindPart = Callable[[int, int, int], bytes | None]
"""Returns a part of a block, given the block's number, the number of bytes from the part to the end of the block, and the part's size."""


def no_block(number: int) -> None:
    """Return None for every block."""


def missing(block: int) -> UnreadableBlock:
    """Return the error for an operation that can't be found, because a damaged file lacks the operation or its whole block."""
    return UnreadableBlock(block, f"the operation is not in block {block}")


def check_of(trx_id: bytes) -> int:
    """Return the first bytes of a transaction's id as a number. It shows whether a transaction in a file has changed."""
    return int.from_bytes(trx_id[:CHECK_BYTES], "little")


class IrreversibleBlocks:
    """The irreversible blocks: those up to number `found`, which `find` finds, then those in `blocks_in_memory`, as bytes.

    The blocks up to the base of the chain are missing.

    Blocks are only appended to `blocks_in_memory`, because savepoints share it. With an attached log (`attach_log`), blocks are held until
    the log has them.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.found = self._base = wire.spec.base.number
        self.find: Find = no_block
        self.blocks_in_memory: list[bytes] = []
        # Two functions of the log: one finds a block, one returns how many of its blocks are certainly those of the chain.
        self._in_log: tuple[Find, Callable[[], int]] | None = None
        self._part_in_log: FindPart | None = None
        # Whether the chain writes the attached log, and whether the log has older blocks.
        self._is_own_log = self.has_all = True
        # Live copies of the main branch. Their blocks must be saved before the log is cut.
        self._branches: WeakSet[BranchCopy] = WeakSet()
        self._is_log_asked = True

    def __len__(self) -> int:
        """The number of the last irreversible block."""
        return self.found + len(self.blocks_in_memory)

    def packed(self, number: int) -> bytes | None:
        """Return an irreversible block as bytes, or None if the chain comes from a snapshot without this block."""
        if number <= self._base:
            return None
        return self.find(number) if number <= self.found else self.blocks_in_memory[number - self.found - 1]

    def part(self, number: int, left: int, size: int) -> bytes | None:
        """Return at most `size` bytes of an irreversible block that begin `left` bytes before its end, or None without this block."""
        find = self._part_in_log
        if find is not None and self._base < number <= self.found and self._in_log is not None and self.find == self._in_log[0]:
            return find(number, left, size)
        packed = self.packed(number)
        return None if packed is None else packed[-left:][:size]

    def block(self, number: int) -> SignedBlock | None:
        """Return an irreversible block, or None if the chain comes from a snapshot without this block."""
        packed = self.packed(number)
        return None if packed is None else self._wire.unpack_block(packed)[0]

    def header(self, number: int) -> BlockHeader | None:
        """Return the header of an irreversible block."""
        packed = self.packed(number)
        return None if packed is None else self._wire.unpack_header(packed)

    def operations_of(self, number: int, index: int, size: int, check: int) -> tuple[bytes, tuple[Any, ...]]:
        """Return the id and operations of a transaction of an irreversible block, which begins `size` bytes before the end of the block.
        Raises UnreadableBlock unless its id has this `check`. Refuses blocks up to the base of the chain, which only the chain of the
        snapshot has.
        """
        if number <= self._base:
            raise Refused("block ${block} is before the first block of this chain", condition="operation != nullptr", block=number)
        try:
            found = self._wire.unpack_operations(self.part(number, size, size) or b"")
            if check_of(found[0]) == check:
                return found
        except ChainError:
            pass  # the block is searched
        # In the file of another program, transactions can be longer than necessary.
        transactions = self.transactions(number)
        if index >= len(transactions) or check_of(transactions[index].id) != check:
            raise missing(number)
        return transactions[index].id, transactions[index].operations

    def transactions(self, number: int) -> Sequence[SignedTransaction]:
        """Return the transactions of an irreversible block, or none if the block is missing or damaged."""
        packed = self.packed(number)
        try:
            return () if packed is None else self._wire.unpack_block(packed)[0].transactions
        except ChainError:
            return ()

    def add(self, block: SignedBlock, *, is_in_log: bool) -> None:
        """Add a block that has become irreversible.

        If the log contains it (`is_in_log`), the log also contains all earlier blocks, so no block is held in memory.
        """
        if is_in_log:
            self.found = block.number
        else:
            self.blocks_in_memory.append(self._wire.pack_block(block))

    @property
    def are_logged(self) -> bool:
        """Whether the blocks are in the chain's own log, so that a snapshot beside it can refer to them."""
        return self._in_log is not None and self._is_own_log

    def attach_log(
        self, find: Find, stored: Callable[[], int], find_part: FindPart | None = None, *, is_own: bool = True, has_all: bool = True
    ) -> None:
        """Attach a log, so that blocks in it are not held in memory.

        `stored` returns the number of blocks in the log, or 0 once the log no longer follows the chain. `find_part` reads a part of a block
        in less time than `find` the whole block. `is_own` is whether the chain writes the log. `has_all` is False if the log drops older
        blocks.
        """
        self._in_log, self._part_in_log, self._is_own_log, self.has_all = (find, stored), find_part, is_own, has_all

    def start_at(self, found: int, find: Find, held: list[bytes]) -> None:
        """Replace all blocks: `find` finds the blocks up to number `found`, and `held` contains the blocks after them."""
        self.found, self.find, self.blocks_in_memory = found, find, held

    def drop_logged_blocks(self, parent: int) -> int:
        """Drop the held blocks that the log now has. Return how many of the chain's blocks the log has, 0 without a log.

        `parent` is the head before the current change. The listeners of the change write later blocks to the log.
        """
        if self._in_log is None or not self._is_log_asked:
            return 0
        find, stored = self._in_log
        count = min(stored(), parent)
        if count < self.found:
            return 0
        self.find = find
        if self.blocks_in_memory:
            some = min(count, len(self)) - self.found
            self.blocks_in_memory, self.found = self.blocks_in_memory[some:], self.found + some
        return count

    def branch(self, forks: ForkDatabase) -> BranchCopy:
        """Return a copy of the main branch, independent of later changes."""
        branch = BranchCopy(self.found, self.find, self.blocks_in_memory, len(self.blocks_in_memory), forks.copy())
        self._branches.add(branch)
        return branch

    def return_to(self, branch: BranchCopy) -> None:
        """Return to the blocks of an earlier branch."""
        # Other savepoints share the list, so it is copied, not truncated.
        held = branch.packed if len(branch.packed) == branch.count else branch.packed[: branch.count]
        self.start_at(branch.found, branch.older, held)

    @contextmanager
    def without_log(self) -> Iterator[None]:
        """Hold new blocks as bytes inside this context, because the log receives them only when the context ends."""
        self._is_log_asked = False
        try:
            yield
        finally:
            self._is_log_asked = True

    def call(self, listeners: Iterable[HeadChangeListener], change: HeadChange, same: int) -> None:
        """Call the listeners of a head change that replaces the irreversible blocks after block `same`.

        One of the listeners truncates the log. Copies of the branch therefore save the blocks that the log is about to lose.
        """
        for branch in list(self._branches):
            branch.save(same)
        for listener in listeners:
            listener(change)
