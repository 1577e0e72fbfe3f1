"""The fork tree: blocks that are not yet irreversible, on all branches. Source: block-processing.md §2.5."""

from state.protocol.errors import UnlinkableBlock, require
from state.protocol.transaction import ZERO_ID, SignedBlock

SIZE_AT_START = 1024


class ForkTree:
    """Blocks by id and by number; the head is the first block that reached the greatest number."""

    def __init__(self) -> None:
        self.head: SignedBlock | None = None
        self.size_max = SIZE_AT_START
        self._by_id: dict[bytes, SignedBlock] = {}
        self._by_number: dict[int, list[SignedBlock]] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def push(self, block: SignedBlock) -> SignedBlock:
        """Add a block; returns the head. One whose parent isn't here, or that is too old, is refused."""
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

    def get(self, block_id: bytes) -> SignedBlock | None:
        """The block with this id, on whatever branch."""
        return self._by_id.get(block_id)

    def on_main_branch(self, number: int) -> SignedBlock | None:
        """The block with this number on the branch of the head."""
        found = self._by_number.get(number, [])
        if len(found) <= 1:
            return found[0] if found else None
        block = self.head
        while block is not None and block.number > number:
            block = self._by_id.get(block.previous)
        return block if block is not None and block.number == number else None

    def remove(self, block_id: bytes) -> None:
        """Forget a block that turned out to be invalid."""
        block = self._by_id.pop(block_id, None)
        if block is None:
            return
        self._by_number[block.number].remove(block)
        if not self._by_number[block.number]:
            del self._by_number[block.number]
        if self.head is block:
            # As in the reference, the head goes back to the greatest number that is left.
            self.head = self._by_number[max(self._by_number)][0] if self._by_number else None

    def pop(self) -> None:
        """The parent of the head is the head again; the popped block stays known."""
        assert self.head is not None
        parent = self._by_id.get(self.head.previous)
        require(parent is not None, "popping block would leave head block null", condition="prev")
        self.head = parent

    def branches(self, a: bytes, b: bytes) -> tuple[list[SignedBlock], list[SignedBlock]]:
        """The blocks from each of two back to their common parent, newest first; the parent itself is in neither."""
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
        """Forget blocks that lie further back than this from the head."""
        self.size_max = size
        if self.head is None:
            return
        oldest = max(0, self.head.number - size)
        for number in [n for n in self._by_number if n < oldest]:
            for block in self._by_number.pop(number):
                del self._by_id[block.id]
