"""The fork database: the reversible blocks of the main branch and of all forks. Blocks are not applied or verified here.

Main branch blocks are kept as objects. Fork blocks are kept as bytes, which take a fraction of the memory, and their total size is limited.
A block whose parent is missing is refused, not kept until the parent arrives. Source: block-processing.md §2.5.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct

from state.protocol.errors import ChainError, UnlinkableBlock, require
from state.protocol.transaction import ZERO_ID, SignedBlock, Wire

SIZE_AT_START = 1024
# Fork blocks of one witness at one height, refused ones included. An honest witness signs one block per height, or two after it switched
# branches. Anybody can encode a block's signature in four ways, each of which results in another block id. If all witnesses shared one
# limit, a single witness could use it up.
SIBLINGS_MAX = 8
# All fork blocks together. A fork of half a day with blocks of usual size (20 KB) fits.
BRANCHES_BYTES_MAX = 256 * 1024**2
BLOCK_OVERHEAD_BYTES = 1024  # estimated objects of one fork block
REFUSED_MAX = 4096  # remembered refused blocks


class BranchBlock(Struct, frozen=True, gc=False):
    """A fork block as bytes, with the fields that are needed before it is applied.

    `keys` contains at least the signing keys that the block can set for witnesses when it is applied.
    """

    id: bytes
    number: int
    previous: bytes
    timestamp: int
    witness: str
    packed: bytes
    keys: tuple[tuple[str, bytes], ...]


class _Refusal(Struct, frozen=True):
    """A refused block and the error."""

    number: int
    witness: str
    bytes_used: int
    error: ChainError


class ForkDatabase:
    """The main branch, keyed by number, and fork blocks, keyed by id. `head` is the last block of the main branch.

    Blocks have no links to their children: a branch is walked from its end, by parent ids. `Chain` selects the main branch with `push_head`
    and `pop_head`.
    """

    def __init__(self, wire: Wire) -> None:
        self.head: SignedBlock | None = None
        self.size_max = SIZE_AT_START
        self.bytes_used = 0
        self._wire = wire
        self._main: dict[int, SignedBlock] = {}
        self._main_by_id: dict[bytes, SignedBlock] = {}
        self._oldest = 0
        self._irreversible = 0
        self._others: dict[bytes, BranchBlock] = {}
        self._others_by_number: dict[int, list[BranchBlock]] = {}
        self._refused: dict[bytes, _Refusal] = {}
        self._siblings: Counter[tuple[int, str]] = Counter()

    def __len__(self) -> int:
        """The number of blocks on all branches."""
        return len(self._main) + len(self._others)

    def copy(self) -> "ForkDatabase":
        """Return an independent fork database with the same blocks."""
        other = ForkDatabase(self._wire)
        other.head, other.size_max, other.bytes_used = self.head, self.size_max, self.bytes_used
        other._main, other._main_by_id = self._main.copy(), self._main_by_id.copy()
        other._oldest, other._irreversible = self._oldest, self._irreversible
        other._others, other._refused, other._siblings = self._others.copy(), self._refused.copy(), self._siblings.copy()
        other._others_by_number = {number: level.copy() for number, level in self._others_by_number.items()}
        return other

    def fork_block_ids(self) -> Iterator[bytes]:
        """Return the ids of all fork blocks."""
        return iter(self._others)

    # -------------------------------------------------------------- the main branch

    def get(self, block_id: bytes) -> SignedBlock | None:
        """Return the main branch block with this id, or None."""
        return self._main_by_id.get(block_id)

    def on_main_branch(self, number: int) -> SignedBlock | None:
        """Return the main branch block with this number, or None."""
        return self._main.get(number)

    def push_head(self, block: SignedBlock) -> None:
        """Make a block the head. The block must follow the current head, or be the first block."""
        assert self.head is None or block.previous == self.head.id, "the block doesn't follow the head"
        if self.head is None:
            self._oldest = block.number
        self._main[block.number] = self._main_by_id[block.id] = self.head = block

    def pop_head(self) -> SignedBlock:
        """Remove the head from the main branch and return it. The removed block's parent becomes the head."""
        head = self.head
        assert head is not None
        del self._main[head.number], self._main_by_id[head.id]
        self.head = self._main.get(head.number - 1)
        return head

    def set_irreversible(self, last: int) -> list[bytes]:
        """Drop the blocks before the last irreversible one, and every fork that begins before it, since it can never be applied.

        From now on, blocks before `last` are refused. Return the ids of dropped fork blocks. The cost is proportional to the number of
        dropped blocks.
        """
        assert self.head is not None
        self.size_max = self.head.number - last + 1
        # The parent of the last irreversible block stays, as in the reference.
        while self._oldest < last - 1:
            del self._main_by_id[self._main.pop(self._oldest).id]
            self._oldest += 1
        gone: list[bytes] = []
        if last > self._irreversible:
            for number in range(self._irreversible + 1, last + 1) if self._others else ():
                for other in list(self._others_by_number.get(number, ())):
                    gone += self.drop(other.id)
            for block_id in [block_id for block_id, refusal in self._refused.items() if refusal.number <= last]:
                self._clear_refused(block_id)
            self._irreversible = last
        return gone

    # -------------------------------------------------------------- other branches

    def is_known(self, block: SignedBlock) -> bool:
        """Return whether the fork database contains a block. Refuse a block that is too old, or whose parent is missing."""
        if self.head is not None:
            require(
                block.number > max(0, self.head.number - self.size_max),
                "attempting to push a block that is too old",
                condition="item->num > std::max<int64_t>( 0, int64_t(_head->num) - (_max_size) )",
                item_num=block.number,
                head_num=self.head.number,
                max_size=self.size_max,
            )
        if block.previous not in self._main_by_id and block.previous not in self._others and block.previous != ZERO_ID:
            raise UnlinkableBlock("block does not link to known chain")
        return block.id in self._main_by_id or block.id in self._others

    def path(self, block_id: bytes) -> list[BranchBlock]:
        """Return the fork blocks from the main branch up to and including a block, oldest first; empty for a main branch block."""
        found = []
        block = self._others.get(block_id)
        while block is not None:
            found.append(block)
            block = self._others.get(block.previous)
        found.reverse()
        return found

    def require_room(self, block: SignedBlock, is_kept: bool = True) -> None:
        """Refuse a fork block for which there is no room. If `is_kept` is false, the block will move to the main branch, so its memory
        isn't counted.
        """
        require(
            self._siblings[block.number, block.witness] < SIBLINGS_MAX,
            "there are already ${n} fork blocks with number ${number} of witness ${witness}",
            condition="siblings.size() < max",
            n=SIBLINGS_MAX,
            number=block.number,
            witness=block.witness,
        )
        require(
            not is_kept or self.bytes_used + _bytes_of(block.size) <= BRANCHES_BYTES_MAX,
            "all fork blocks together would exceed ${max} bytes",
            condition="branches.size() + block.size() <= max",
            max=BRANCHES_BYTES_MAX,
        )

    def add_fork_block(self, block: SignedBlock, keys: Iterable[tuple[str, bytes]]) -> None:
        """Store a fork block. `keys` are the signing keys that the block's operations set, each with its witness."""
        if block.id in self._others:
            return
        packed = self._wire.pack_block(block)
        other = BranchBlock(block.id, block.number, block.previous, block.timestamp, block.witness, packed, tuple(keys))
        self._others[block.id] = other
        self._others_by_number.setdefault(block.number, []).append(other)
        self._siblings[block.number, block.witness] += 1
        self.bytes_used += _bytes_of(block.size)

    def release(self, block_id: bytes) -> None:
        """Remove a fork block that is now on the main branch, but not its successors. An unknown id has no effect."""
        block = self._others.pop(block_id, None)
        if block is None:
            return
        level = self._others_by_number[block.number]
        level.remove(block)
        if not level:
            del self._others_by_number[block.number]
        self._uncount(block.number, block.witness, _bytes_of(len(block.packed)))

    def drop(self, block_id: bytes) -> list[bytes]:
        """Remove a fork block and its successors, and return their ids. An unknown id has no effect."""
        block = self._others.get(block_id)
        if block is None:
            return []
        gone, number = {block_id}, block.number + 1
        last: set[bytes] = gone
        while last:
            last = {other.id for other in self._others_by_number.get(number, ()) if other.previous in last}
            gone |= last
            number += 1
        for lost in gone:
            self.release(lost)
        return list(gone)

    # -------------------------------------------------------------- refused blocks

    def refuse(self, block: BranchBlock, error: ChainError) -> None:
        """Record that a block was refused when it was applied, and the error."""
        if block.id in self._refused:
            return
        if len(self._refused) >= REFUSED_MAX:
            self._clear_refused(next(iter(self._refused)))
        # Counted with the block's size, because the error's values can contain parts of the block.
        size = _bytes_of(len(block.packed))
        self._refused[block.id] = _Refusal(block.number, block.witness, size, _twin(error))
        self._siblings[block.number, block.witness] += 1
        self.bytes_used += size

    def require_not_refused(self, block_id: bytes) -> None:
        """Refuse a block that was refused before, with the same error."""
        known = self._refused.get(block_id)
        if known is not None:
            raise _twin(known.error)

    def clear_refused(self) -> None:
        """Forget all refused blocks."""
        for block_id in list(self._refused):
            self._clear_refused(block_id)

    def _clear_refused(self, block_id: bytes) -> None:
        refusal = self._refused.pop(block_id)
        self._uncount(refusal.number, refusal.witness, refusal.bytes_used)

    def _uncount(self, number: int, witness: str, size: int) -> None:
        place = number, witness
        self._siblings[place] -= 1
        if not self._siblings[place]:
            del self._siblings[place]
        self.bytes_used -= size


def _bytes_of(size: int) -> int:
    """Return the estimated memory of a fork block of `size` bytes."""
    return size + BLOCK_OVERHEAD_BYTES


def _twin(error: ChainError) -> ChainError:
    """Return a copy of an error without its traceback, which would keep stack frames alive."""
    twin = type(error).__new__(type(error))
    twin.args = error.args
    vars(twin).update(vars(error))
    return twin
