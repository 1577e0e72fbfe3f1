"""The fork tree: the blocks of all branches that are not yet irreversible. It applies nothing. Source: block-processing.md §2.5.

Its head is the best block that is known, the state's head the last one that was applied; they differ while the chain switches
branches, and `Chain` brings them together again. A block whose parent is missing is refused, and not kept for the case that
the parent comes later.
"""

from state.protocol.errors import UnlinkableBlock, require
from state.protocol.transaction import ZERO_ID, SignedBlock

SIZE_AT_START = 1024


class ForkTree:
    """Blocks by id and by number; the head is the first block that reached the greatest number.

    There are no links from parent to child: a branch is walked from its end, by the ids of the blocks before.
    """

    def __init__(self) -> None:
        self.head: SignedBlock | None = None
        self.size_max = SIZE_AT_START
        self._by_id: dict[bytes, SignedBlock] = {}
        self._by_number: dict[int, list[SignedBlock]] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def push(self, block: SignedBlock) -> SignedBlock:
        """Add a block and return the head, which is another block when this one is on a shorter branch.

        A block without its parent, or one that is too old, is refused. One that is known already changes nothing; it can become
        the head again after `pop`, which is how debug_update applies a block anew.
        """
        if self.head is not None:
            require(
                block.number > max(0, self.head.number - self.size_max),
                "attempting to push a block that is too old",
                condition="item->num > std::max<int64_t>( 0, int64_t(_head->num) - (_max_size) )",
                item_num=block.number,
                head_num=self.head.number,
                max_size=self.size_max,
            )
        if block.previous != ZERO_ID and block.previous not in self._by_id:
            raise UnlinkableBlock("block does not link to known chain")
        if block.id not in self._by_id:
            self._by_id[block.id] = block
            self._by_number.setdefault(block.number, []).append(block)
        if self.head is None or block.number > self.head.number:
            self.head = self._by_id[block.id]
        assert self.head is not None
        return self.head

    def plant(self, block: SignedBlock) -> None:
        """Begin with a block whose parent is not known: the one that a snapshot was taken at."""
        assert self.head is None, "the tree has blocks already"
        self._by_id[block.id] = self.head = block
        self._by_number[block.number] = [block]

    def get(self, block_id: bytes) -> SignedBlock | None:
        """Return the block with this id, on whatever branch, or None."""
        return self._by_id.get(block_id)

    def on_main_branch(self, number: int) -> SignedBlock | None:
        """Return the block with this number on the branch of the head, or None."""
        # Walking back from the head is needed only where branches compete.
        found = self._by_number.get(number, [])
        if len(found) <= 1:
            return found[0] if found else None
        block = self.head
        while block is not None and block.number > number:
            block = self._by_id.get(block.previous)
        return block if block is not None and block.number == number else None

    def remove(self, block_id: bytes) -> None:
        """Remove a block that turned out to be invalid."""
        block = self._by_id.pop(block_id, None)
        if block is None:
            return
        self._by_number[block.number].remove(block)
        if not self._by_number[block.number]:
            del self._by_number[block.number]
        if self.head is block:
            # As in the reference, the head becomes the first block with the greatest number that is left, which may be on
            # another branch than the state's head; `Chain` sets it right.
            self.head = self._by_number[max(self._by_number)][0] if self._by_number else None

    def pop(self) -> None:
        """Make the parent of the head the head; the popped block stays in the tree."""
        assert self.head is not None
        parent = self._by_id.get(self.head.previous)
        require(parent is not None, "popping block would leave head block null", condition="prev")
        self.head = parent

    def branches(self, a: bytes, b: bytes) -> tuple[list[SignedBlock], list[SignedBlock]]:
        """Return the blocks from each of two back to their common parent, newest first; the parent itself is in neither."""
        first, second = self._by_id[a], self._by_id[b]
        ones, others = [first], [second]
        while ones[-1].number > others[-1].number:
            ones.append(self._by_id[ones[-1].previous])
        while others[-1].number > ones[-1].number:
            others.append(self._by_id[others[-1].previous])
        while ones[-1].previous != others[-1].previous:
            ones.append(self._by_id[ones[-1].previous])
            others.append(self._by_id[others[-1].previous])
        return ones, others

    def set_head(self, block: SignedBlock) -> None:
        """Make a known block the head."""
        assert block.id in self._by_id
        self.head = block

    def limit(self, size: int) -> None:
        """Remove the blocks that are further back than this from the head, and refuse such blocks from now on."""
        self.size_max = size
        if self.head is None:
            return
        oldest = max(0, self.head.number - size)
        for number in [n for n in self._by_number if n < oldest]:
            for block in self._by_number.pop(number):
                del self._by_id[block.id]
