"""Records of the history: operations and transactions with their positions in the chain. Source: rpc-api.md §2.1."""

from typing import Annotated, ClassVar

from msgspec import Struct

from rpc.declare.record_fields import FieldPath
from rpc.records.blocks import TransactionRecord
from state.protocol.codec.kinds import Hash160, Time, UInt32
from state.protocol.operation import Operation, OperationKind
from state.protocol.transaction import SignedTransaction


class AppliedOperationRecord(Struct):
    """An operation with its position in the chain (R-op-item), read from an entry of the plugin account_history."""

    trx_id: Hash160
    block: UInt32
    trx_in_block: UInt32
    op_in_trx: UInt32
    virtual_op: UInt32
    timestamp: Time
    op: Annotated[Operation, FieldPath("operation", OperationKind())]


class TransactionView(Struct):
    """A transaction of the main branch with its block and its index in the block."""

    trx: SignedTransaction
    block_num: int
    transaction_num: int


class StoredTransactionRecord(TransactionRecord):
    """A transaction of a block with its id and position, in both JSON formats (R-trx-stored), read from a `TransactionView`."""

    ROOT: ClassVar[str] = "trx"
    APPBASE_ABSENT: ClassVar[tuple[str, ...]] = ()

    transaction_id: Annotated[bytes, FieldPath("trx.id", Hash160)]
    block_num: Annotated[int, FieldPath("block_num", UInt32)]
    transaction_num: Annotated[int, FieldPath("transaction_num", UInt32)]
