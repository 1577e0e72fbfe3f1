"""The fork tree: the main branch and all others, as far as they are not yet irreversible. It applies nothing and checks no signature.

Blocks of the main branch are kept as they are, those of others as bytes, which take a fraction of the memory, and within bounds.
A block whose parent is missing is refused, and not kept for the case that the parent comes later.
Source: block-processing.md §2.5.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct

from state.protocol.errors import ChainError, UnlinkableBlock, require
from state.protocol.transaction import ZERO_ID, SignedBlock, Wire

SIZE_AT_START = 1024
# Blocks of one witness at one height, beside the one on the main branch, refused ones included. An honest witness signs one at a
# height, two when it has changed the branch in between; and anybody can write the signature of a block in four ways, each of which
# gives the block another id. A bound for all witnesses together would let one of them take the places of the others.
SIBLINGS_MAX = 8
# Blocks of other branches together. A branch of half a day, blocks of usual size (20 KB), has room.
BRANCHES_BYTES_MAX = 256 * 1024**2
BLOCK_OVERHEAD_BYTES = 1024  # what the objects of one kept block take, about
REFUSED_MAX = 4096  # refused blocks that are remembered


class BranchBlock(Struct, frozen=True, gc=False):
    """A block that is not on the main branch: its bytes, and what is asked of it while it waits.

    `keys` are the signing keys that it gives to witnesses when it is applied, or more than these.
    """

    id: bytes
    number: int
    previous: bytes
    timestamp: int
    witness: str
    packed: bytes
    keys: tuple[tuple[str, bytes], ...]


class _Refusal(Struct, frozen=True):
    """A block that has been refused, and why."""

    number: int
    witness: str
    bytes_taken: int
    error: ChainError


class ForkTree:
    """The main branch by number, and the blocks of all other branches by id; `head` is the last block of the main branch.

    There are no links from parent to child: a branch is walked from its end, by the ids of the blocks before. Which branch is the
    main one `Chain` decides, by `extend` and `retreat`.
    """

    def __init__(self, wire: Wire) -> None:
        self.head: SignedBlock | None = None
        self.size_max = SIZE_AT_START
        self.bytes_taken = 0
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
        """The number of blocks, of all branches."""
        return len(self._main) + len(self._others)

    def copy(self) -> "ForkTree":
        """Return a tree of the same blocks, which changes apart from this one."""
        other = ForkTree(self._wire)
        other.head, other.size_max, other.bytes_taken = self.head, self.size_max, self.bytes_taken
        other._main, other._main_by_id = self._main.copy(), self._main_by_id.copy()
        other._oldest, other._irreversible = self._oldest, self._irreversible
        other._others, other._refused, other._siblings = self._others.copy(), self._refused.copy(), self._siblings.copy()
        other._others_by_number = {number: level.copy() for number, level in self._others_by_number.items()}
        return other

    def ids_aside(self) -> Iterator[bytes]:
        """Return the ids of the blocks of all branches but the main one."""
        return iter(self._others)

    # -------------------------------------------------------------- the main branch

    def get(self, block_id: bytes) -> SignedBlock | None:
        """Return the block of the main branch with this id, or None."""
        return self._main_by_id.get(block_id)

    def on_main_branch(self, number: int) -> SignedBlock | None:
        """Return the block with this number on the branch of the head, or None."""
        return self._main.get(number)

    def extend(self, block: SignedBlock) -> None:
        """Make a block the head; it follows the one before, or is the first."""
        assert self.head is None or block.previous == self.head.id, "the block doesn't follow the head"
        if self.head is None:
            self._oldest = block.number
        self._main[block.number] = self._main_by_id[block.id] = self.head = block

    def retreat(self) -> SignedBlock:
        """Take the head off the main branch, and return it; its parent becomes the head."""
        head = self.head
        assert head is not None
        del self._main[head.number], self._main_by_id[head.id]
        self.head = self._main.get(head.number - 1)
        return head

    def settle(self, last: int) -> list[bytes]:
        """Forget the blocks before the last irreversible one, and every branch that begins before it: it can never be applied.

        Blocks before `last` are refused from now on. Returns the ids of the blocks of other branches that are forgotten. What
        this takes is proportional to what is forgotten.
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
                self._forgive(block_id)
            self._irreversible = last
        return gone

    # -------------------------------------------------------------- other branches

    def is_known(self, block: SignedBlock) -> bool:
        """Return whether a block is in the tree; refuse one that is too old, or whose parent isn't there."""
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
        """Return the blocks that lead from the main branch to a block and this block itself, oldest first; none if it is on it."""
        found = []
        block = self._others.get(block_id)
        while block is not None:
            found.append(block)
            block = self._others.get(block.previous)
        found.reverse()
        return found

    def require_room(self, block: SignedBlock, is_kept: bool = True) -> None:
        """Refuse a block of another branch for which there is no room; `is_kept` is whether it stays on this other branch."""
        require(
            self._siblings[block.number, block.witness] < SIBLINGS_MAX,
            "there are ${n} other blocks ${number} of witness ${witness} already",
            condition="siblings.size() < max",
            n=SIBLINGS_MAX,
            number=block.number,
            witness=block.witness,
        )
        require(
            not is_kept or self.bytes_taken + _bytes_of(block.size) <= BRANCHES_BYTES_MAX,
            "the blocks of other branches may take ${max} bytes together",
            condition="branches.size() + block.size() <= max",
            max=BRANCHES_BYTES_MAX,
        )

    def keep(self, block: SignedBlock, keys: Iterable[tuple[str, bytes]]) -> None:
        """Keep a block of another branch, with the keys that it gives to witnesses."""
        if block.id in self._others:
            return
        packed = self._wire.pack_block(block)
        other = BranchBlock(block.id, block.number, block.previous, block.timestamp, block.witness, packed, tuple(keys))
        self._others[block.id] = other
        self._others_by_number.setdefault(block.number, []).append(other)
        self._siblings[block.number, block.witness] += 1
        self.bytes_taken += _bytes_of(block.size)

    def release(self, block_id: bytes) -> None:
        """Forget a block of another branch, but not those after it: it is on the main branch now. An unknown id changes nothing."""
        block = self._others.pop(block_id, None)
        if block is None:
            return
        level = self._others_by_number[block.number]
        level.remove(block)
        if not level:
            del self._others_by_number[block.number]
        self._uncount(block.number, block.witness, _bytes_of(len(block.packed)))

    def drop(self, block_id: bytes) -> list[bytes]:
        """Forget a block of another branch and all that follow it; returns their ids. An unknown id changes nothing."""
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
        """Remember that a block has been refused when it was applied, and why."""
        if block.id in self._refused:
            return
        if len(self._refused) >= REFUSED_MAX:
            self._forgive(next(iter(self._refused)))
        # What the error's texts name may hold parts of the block.
        size = _bytes_of(len(block.packed))
        self._refused[block.id] = _Refusal(block.number, block.witness, size, _twin(error))
        self._siblings[block.number, block.witness] += 1
        self.bytes_taken += size

    def require_not_refused(self, block_id: bytes) -> None:
        """Refuse a block that has been refused before, for the same reason."""
        known = self._refused.get(block_id)
        if known is not None:
            raise _twin(known.error)

    def forgive(self) -> None:
        """Forget which blocks have been refused."""
        for block_id in list(self._refused):
            self._forgive(block_id)

    def _forgive(self, block_id: bytes) -> None:
        refusal = self._refused.pop(block_id)
        self._uncount(refusal.number, refusal.witness, refusal.bytes_taken)

    def _uncount(self, number: int, witness: str, size: int) -> None:
        place = number, witness
        self._siblings[place] -= 1
        if not self._siblings[place]:
            del self._siblings[place]
        self.bytes_taken -= size


def _bytes_of(size: int) -> int:
    """Return the memory that a kept block of a size is counted with."""
    return size + BLOCK_OVERHEAD_BYTES


def _twin(error: ChainError) -> ChainError:
    """Return an error that says the same, without the frames of the functions that the first was raised in."""
    twin = type(error).__new__(type(error))
    twin.args = error.args
    vars(twin).update(vars(error))
    return twin
