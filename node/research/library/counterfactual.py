"""Applies blocks without some of their operations, to compare a chain with how it would have been without them."""

from collections.abc import Callable

from msgspec.structs import replace

from node.research.errors import RefusedBlock
from node.research.library.blocks import Operation, Transaction
from node.research.library.cursor import DataCursor
from state.protocol.transaction import SignedBlock, SignedTransaction


class Counterfactual:
    """Applies the blocks of a cursor without the operations for which `without` returns true.

    Transactions that the chain then refuses are left out as well. `refused` contains their ids with the reasons.
    """

    def __init__(self, cursor: DataCursor, without: Callable[[Operation], bool]) -> None:
        self._cursor, self._without, self._wire = cursor, without, cursor.chain.state.wire
        self.refused: dict[str, str] = {}

    def apply(self, block: SignedBlock) -> SignedBlock:
        """Apply what remains of the next block, and return it. Raises RefusedBlock if its transactions aren't the reason of a refusal."""
        block = self._with(block, [left for index in range(len(block.transactions)) if (left := self._remaining(block, index))])
        while True:
            try:
                self._cursor.apply(block)
                return block
            except RefusedBlock:
                trx = self._refused_transaction(block)
                if trx is None:
                    raise
                block = self._with(block, [each for each in block.transactions if each is not trx])

    def _remaining(self, block: SignedBlock, index: int) -> SignedTransaction | None:
        """Return a transaction with the remaining operations and its id, or None if no operation remains."""
        trx = block.transactions[index]
        left = tuple(each.value for each in Transaction(self._wire, block, index).operations if not self._without(each))
        if len(left) == len(trx.operations):
            return trx
        if not left:
            return None
        changed = self._wire.seal(replace(trx, operations=left))
        changed.id = trx.id
        return changed

    def _with(self, block: SignedBlock, transactions: list[SignedTransaction]) -> SignedBlock:
        """Return a block with the same header and other transactions."""
        return self._wire.seal_block(replace(block, transactions=tuple(transactions)))

    def _refused_transaction(self, block: SignedBlock) -> SignedTransaction | None:
        """Return the first transaction that the chain refuses, and remember the reason. None if it refuses no transaction."""
        applicable, refused = -1, len(block.transactions) + 1  # numbers of transactions
        reason = ""
        while refused - applicable > 1:
            count = (applicable + refused) // 2
            try:
                self._cursor.apply(block, count)
                applicable = count
            except RefusedBlock as error:
                refused, reason = count, error.reason
        self._cursor.chain.clear_pending()
        if not 0 < refused <= len(block.transactions):
            return None
        trx = block.transactions[refused - 1]
        self.refused[trx.id.hex()] = reason
        return trx
