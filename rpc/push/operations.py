"""Collects the operations of blocks, including virtual ones, while the blocks are applied."""

from state.plugins.account_history import OF_TREASURY
from state.plugins.operation_log import OperationRecord
from state.protocol.operation import Operation
from state.protocol.transaction import SignedBlock
from state.protocol.virtual import ProposalPay
from state.tables import State


class OperationCollector:
    """Collects the operations of each block between `attach` and `detach`. Call `take` after each head change.

    Operations of reapplied pending transactions, and of a block that is still being assembled, are not collected. If a block is refused, or
    reapplied after a failed fork switch, its operations remain collected until the next block with that number, or the next `take`, drops
    them.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._blocks: dict[int, list[OperationRecord]] = {}
        self._number = 0  # number of the block being applied; 0 between blocks

    def attach(self) -> None:
        """Start collecting."""
        listeners = self._state.listeners
        listeners.before_block.append(self._begin)
        listeners.after_block.append(self._end)
        # Inserted first, because a listener that raises Refused prevents later listeners from being called.
        listeners.watch_operations(self._note)

    def detach(self) -> None:
        """Stop collecting, and drop the collected operations."""
        listeners = self._state.listeners
        listeners.before_block.remove(self._begin)
        listeners.after_block.remove(self._end)
        listeners.unwatch_operations(self._note)
        self._blocks.clear()
        self._number = 0

    def take(self) -> dict[int, list[OperationRecord]]:
        """Return the operations collected since the last call, grouped by block number."""
        taken, self._blocks = self._blocks, {}
        return taken

    def _begin(self, state: State, block: SignedBlock) -> None:
        for number in [number for number in self._blocks if number >= block.number]:
            del self._blocks[number]
        self._number = block.number
        self._blocks[block.number] = []

    def _end(self, state: State, block: SignedBlock) -> None:
        self._number = 0

    def _note(self, state: State, operation: Operation) -> None:
        here = state.position
        # After a block has been refused, the position is again that of the head block.
        if not self._number or here.block != self._number:
            return
        virtual_op = here.virtual_op if operation.VIRTUAL else 0
        record = OperationRecord(here.trx_id, here.block, here.trx_in_block, here.op_in_trx, virtual_op, state.props.time, operation)
        self._blocks[self._number].append(record)


def impacted(state: State, operation: Operation) -> set[str]:
    """Return the accounts that an operation affects. The treasury is included under the name that it has on this chain."""
    if not isinstance(operation, OF_TREASURY):
        return operation.impacted()
    return {state.spec.treasury, operation.receiver} if isinstance(operation, ProposalPay) else {state.spec.treasury}
