"""Finds the positions of comments' texts in the chain when a block becomes irreversible, and reads the texts from there."""

from collections.abc import Iterator
from functools import lru_cache

from state.chain.irreversible import FindPart, IrreversibleBlocks, check_of, missing
from state.effects.body_patch import WorkBudget, edited
from state.operations.content import Comment
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedBlock
from state.tables import State
from state.tables.texts import OPERATION_MAX, POSITION, CommentContent, CommentContents, ReadTexts, Texts

Found = tuple[Comment, bytes]  # an operation and its position
PATCH_STEPS_MAX = 300  # some 0.1 ms: the body after a patch that takes more is packed
BLOCKS_CACHED = 4
PART_BYTES = 4096  # of a block that are read first: most transactions are shorter


class BlockTexts:
    """Reads texts from the irreversible blocks of a chain, and finds their positions there."""

    def __init__(self, state: State, blocks: IrreversibleBlocks) -> None:
        self._state, self._blocks = state, blocks
        self._contents: CommentContents = state.comment_contents
        self._contents.read_texts = lambda comment, positions: self._read(comment, positions, blocks.part)
        self._contents.new_reader = self._new_reader

    def store(self, block: SignedBlock, begin: int, end: int) -> None:
        """Store the positions of the texts in a block that has become irreversible. `begin` and `end` are the journal positions before and
        after the block.
        """
        contents = self._contents
        if contents.is_loading:
            return
        if contents.writes and contents.writes[0][0] <= end:
            operations = comments_of(block) if self._blocks.has_all else iter(())
            for position, row, before, texts in contents.take_writes(end):
                # The first writes of the block are those of its operations, and then come those of its state edits.
                found = next(operations, None) if position > begin else None
                if not contents.is_object(row):
                    continue
                if texts is None:
                    self._store_new(row, found)
                else:
                    self._store_edit(row, before or "", texts, found)
        contents.release_rows()

    def _store_new(self, row: CommentContent, found: Found | None) -> None:
        """Store the position of the operation that wrote a new comment."""
        if found is not None and (self._contents.is_edited_later(row) or texts_of(found[0]) == (row.title, row.body, row.json_metadata)):
            self._contents.set_position(row, found[1])
        else:
            self._contents.pack_later(row)

    def _store_edit(self, row: CommentContent, before: str, texts: Texts, found: Found | None) -> None:
        """Store the position of an operation that edited a comment. `before` is the old body, and `texts` are those after the edit."""
        contents = self._contents
        if found is not None:
            operation, position = found
            if texts_of(operation) == texts:
                contents.set_position(row, position)
                return
            if is_followed(before, operation.body, texts[1]) and contents.add_position(row, position):
                return
        contents.pack(row, texts)

    def _new_reader(self) -> ReadTexts:
        """Return a function that reads texts, and caches some blocks."""
        packed = lru_cache(BLOCKS_CACHED)(self._blocks.packed)

        def part(number: int, left: int, size: int) -> bytes | None:
            block = packed(number)
            return None if block is None else block[-left:]

        return lambda comment, positions: self._read(comment, positions, part)

    def _read(self, comment: int, positions: bytes, part: FindPart) -> Texts:
        """Return the texts of a comment after the operations at these positions. Raises UnreadableBlock."""
        title = body = metadata = ""
        is_first = True
        for number, left, index, check in POSITION.iter_unpack(positions):
            row = self._state.comments.peek(comment)
            operation = self._operation(number, left, index, check, part)
            if row is not None and (row.author != operation.author or row.permlink != operation.permlink):
                raise missing(number)
            body = operation.body if is_first else edited(body, operation.body, WorkBudget(PATCH_STEPS_MAX))
            title, metadata = operation.title or title, operation.json_metadata or metadata
            is_first = False
        return title, body, metadata

    def _operation(self, number: int, left: int, index: int, check: int, part: FindPart) -> Comment:
        """Return the operation at a position. Raises UnreadableBlock."""
        unpack = self._state.wire.unpack_operations
        if number > len(self._blocks):
            raise missing(number)
        for size in (PART_BYTES, left):
            data = part(number, left, size)
            if data is None:
                break
            try:
                trx_id, operations = unpack(data)
            except ChainError:
                continue
            if check_of(trx_id) == check and index < len(operations) and type(operation := operations[index]) is Comment:
                return operation
        return self._found(number, index, check)

    def _found(self, number: int, index: int, check: int) -> Comment:
        """Search a whole block for an operation. In the file of another program, transactions can be longer than necessary."""
        for trx in self._blocks.transactions(number):
            if check_of(trx.id) == check and index < len(trx.operations) and type(operation := trx.operations[index]) is Comment:
                return operation
        raise missing(number)


def comments_of(block: SignedBlock) -> Iterator[Found | None]:
    """Yield the operations of a block that write comments, with their positions. Yield None for an operation whose number is too large."""
    left = sum([trx.size for trx in block.transactions])
    for trx in block.transactions:
        for index, operation in enumerate(trx.operations):
            if type(operation) is Comment:
                position = block.number, left, index, check_of(trx.id)
                yield None if index > OPERATION_MAX else (operation, POSITION.pack(*position))
        left -= trx.size


def texts_of(operation: Comment) -> Texts:
    """Return the texts in an operation."""
    return operation.title, operation.body, operation.json_metadata


def is_followed(before: str, edit: str, after: str) -> bool:
    """Whether an edit of a body leads to another one in few steps. The result then doesn't depend on the budget of its transaction."""
    budget = WorkBudget(PATCH_STEPS_MAX)
    return edited(before, edit, budget) == after and budget.left > 0
