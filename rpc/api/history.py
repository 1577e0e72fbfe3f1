"""History of the chain: operations by account or block, and transactions by id. Source: rpc-api.md §3.2.3, §3.5, §6.1, §6.2."""

from collections.abc import Iterable
from typing import Annotated, Any, TypedDict

from msgspec import Raw

from rpc.declare.arguments import AccountName, Bool, Example, Hash160, MaxValue, UInt32, UInt64
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder, ShowsRecord
from rpc.json.encoding import encoded
from rpc.records.history import AppliedOperationRecord, StoredTransactionRecord, TransactionView
from state.chain.chain import Chain
from state.plugins import account_history
from state.plugins.account_history import ACCOUNT_HISTORY
from state.plugins.operation_log import ENTRY_SIZE, OperationRecord
from state.protocol.errors import Refused, require
from state.protocol.operation import SMT_TAGS
from state.protocol.values.integers import UINT32_MAX, UINT64_MAX
from state.tables import State

OFF = ("_account_history_api", "account_history_api_plugin not enabled.")
NEWEST = -1
START_MAX = UINT64_MAX
VIRTUAL_OPERATIONS_ENOUGH = 10_000
SEQUENCE_MAX = UINT32_MAX

OperationJson = Annotated[Json, ShowsRecord(AppliedOperationRecord)]
HistoryLimit = Annotated[UInt32, MaxValue(10_000, "limit of ${l} is greater than maxmimum allowed", key="l")]


class VirtualOperations(TypedDict):
    """Virtual operations of a range of blocks, and the number of the block at which to continue reading."""

    ops: list[OperationJson]
    next_block_range_begin: UInt32


@method("account_history_api.get_account_history", key="history", plugin=ACCOUNT_HISTORY)
@method("condenser_api.get_account_history", plugin=ACCOUNT_HISTORY, not_enabled=OFF, required=3)
def get_account_history(
    state: State, show: RecordEncoder, /, account: AccountName, start: Annotated[UInt64, Example(-1)] = NEWEST, limit: HistoryLimit = 1000
) -> list[Any]:
    """Return up to `limit` operations that affect an account, ending with operation number `start`, each with its number, oldest first.

    The first operation has the number 1. A `start` of -1 means the newest operation. Any other `start` must be at least `limit`.
    """
    require(start & START_MAX >= limit, "start must be greater than limit", condition="args.start >= args.limit")
    # Operation numbers have 32 bits. A larger `start` wraps, and -1 becomes the largest number.
    first, entries = account_history.newest_entries(state, account, start & SEQUENCE_MAX, limit)
    recorded = ACCOUNT_HISTORY.of(state).recorded
    known, read, spend = recorded.encoded[show.legacy], recorded.reader(), show.spender(AppliedOperationRecord)
    found: list[Any] = []
    for number, index in enumerate(entries, first):
        operation: Any = known.get(index)
        if operation is not None:
            spend()
        elif is_shown(show, record := read(index)):
            operation = show(AppliedOperationRecord, record)
            if recorded.is_irreversible(index):
                data = encoded(operation)
                operation = Raw(data)
                known.add(index, operation, len(data) + ENTRY_SIZE)
        else:
            continue
        found.append([number, operation])
    return found


@method("account_history_api.get_ops_in_block", key="ops", plugin=ACCOUNT_HISTORY)
@method("condenser_api.get_ops_in_block", plugin=ACCOUNT_HISTORY, not_enabled=OFF)
def get_ops_in_block(state: State, show: RecordEncoder, /, block_num: UInt32, only_virtual: Bool = False) -> list[OperationJson]:
    """Return the operations of a block, or only its virtual ones, in the order of its transactions. Operations outside of transactions come
    last.

    condenser_api omits operations on tokens.
    """
    return shown_operations(show, account_history.operations_in_block(state, block_num, only_virtual))


@method("account_history_api.enum_virtual_ops", plugin=ACCOUNT_HISTORY)
def enum_virtual_ops(state: State, show: RecordEncoder, /, block_range_begin: UInt32 = 1, block_range_end: UInt32 = 2) -> VirtualOperations:
    """Return the virtual operations of the blocks from `block_range_begin` up to, but not including, `block_range_end`.

    If there are 10,000 or more, the result ends with the block in which the 10,000th is found. `next_block_range_begin` is the number of
    the next block with virtual operations after the result, or 0 if there is none.
    """
    is_range = block_range_end > block_range_begin
    require(is_range, "Block range must be upward", condition="blockRangeEnd > blockRangeBegin")
    found, following = account_history.virtual_operations(state, block_range_begin, block_range_end, VIRTUAL_OPERATIONS_ENOUGH)
    return {"ops": shown_operations(show, found), "next_block_range_begin": following}


@method("account_history_api.get_transaction", plugin=ACCOUNT_HISTORY, record=StoredTransactionRecord)
@method("condenser_api.get_transaction", plugin=ACCOUNT_HISTORY, not_enabled=OFF, renamed="trx_id", record=StoredTransactionRecord)
def get_transaction(state: State, chain: Chain, show: RecordEncoder, /, id_: Hash160) -> Json:
    """Return a transaction of the main branch, with its block number and its index in the block. Pending transactions are refused as
    unknown.
    """
    place = account_history.locate_transaction(state, id_)
    if place is None:
        raise Refused("Unknown Transaction ${t}", condition="false", t=id_.hex())
    number, index = place
    block = chain.block_by_number(number)
    if block is None:  # before the chain's base
        raise Refused("Unknown Transaction ${t}", condition="false", t=id_.hex())
    return show(StoredTransactionRecord, TransactionView(block.transactions[index], number, index))


def shown_operations(show: RecordEncoder, records: Iterable[OperationRecord]) -> list[Json]:
    """Encode operations in the JSON form of the called method. Operations that this form can't represent are omitted."""
    dump = show.by(AppliedOperationRecord)
    return [dump(record) for record in records if is_shown(show, record)]


def is_shown(show: RecordEncoder, record: OperationRecord) -> bool:
    """Whether the method's JSON form can represent an operation. condenser_api can't represent operations on tokens."""
    return not show.legacy or record.operation.TAG not in SMT_TAGS
