"""transaction_status_api: whether a transaction is pending, in a block, or expired. Source: rpc-api.md §5.3, §6.9."""

from typing import Annotated, NotRequired, TypedDict

from rpc.declare.arguments import Hash160, OneOfNames, Timestamp, UInt32
from rpc.declare.method import method
from state.plugins import transaction_status
from state.plugins.transaction_status import TRANSACTION_STATUS
from state.tables import State

Known = Annotated[str, OneOfNames(tuple(status.value for status in transaction_status.Status))]


class Found(TypedDict):
    """Status of a transaction, and the number of its block if it is in one."""

    status: Known
    block_num: NotRequired[UInt32]


@method("transaction_status_api.find_transaction", plugin=TRANSACTION_STATUS)
def find_transaction(state: State, transaction_id: Hash160, expiration: Timestamp | None = None) -> Found:
    """Return the status of a transaction: whether it is pending or in a block, and the number of the block. For an unknown transaction,
    return whether its expiration has passed.
    """

    def time_of_block(number: int) -> int:
        time = state.time_of_block(number)
        assert time is not None, f"block {number} isn't there"
        return time

    status, block = transaction_status.find_transaction(state, transaction_id, expiration, time_of_block)
    return {"status": status.value} if block is None else {"status": status.value, "block_num": block}
