"""Explains transactions that were already accepted, and operations that would create an object that already exists."""

from rpc.explain.case import Explanation, RefusalCase
from rpc.explain.values import fields_of_operation
from state.operations.accounts import AccountCreate, AccountCreateWithDelegation, CreateClaimedAccount
from state.operations.escrow import EscrowTransfer
from state.operations.market import LimitOrderCreate, LimitOrderCreate2
from state.operations.transfers import TransferFromSavings
from state.plugins.account_history import ACCOUNT_HISTORY, locate_transaction
from state.plugins.transaction_status import TRANSACTION_STATUS

BLOCKS_SEARCHED_MAX = 100  # newest blocks to search if no plugin indexes transactions
TRANSACTIONS_FOR_A_TRY = 4  # transactions; unpacking them takes about as long as a key recovery
OTHERWISE = "To repeat the operations, change the transaction (for example its expiration), and sign it again."
CREATIONS = (AccountCreate, AccountCreateWithDelegation, CreateClaimedAccount)


def duplicate(case: RefusalCase) -> Explanation:
    """Explain a transaction that is already in a block or pending."""
    trx_id = case.transaction.id
    values = {"id": trx_id.hex()}
    if any(trx.id == trx_id for trx in reversed(case.chain.pending)):
        why = "This transaction was already accepted and is pending."
        return case.explained("duplicate_transaction", why, OTHERWISE, **values, block_num=None, cause="pending")
    number = block_of(case, trx_id)
    if number is None:
        why = "This transaction was already included in a block that this node can no longer find."
        return case.explained("duplicate_transaction", why, OTHERWISE, **values, block_num=None, cause=None)
    why, to_do = f"This transaction was already accepted and is in block {number}.", f"Nothing has to be done. {OTHERWISE}"
    return case.explained("duplicate_transaction", why, to_do, **values, block_num=number, cause="in_block")


def block_of(case: RefusalCase, trx_id: bytes) -> int | None:
    """Return the number of the block that contains a transaction, or None if the limited search doesn't find it."""
    status = TRANSACTION_STATUS.find(case.state)
    number = status.block_of.get(trx_id) if status is not None else None
    if number is not None:
        return number
    place = locate_transaction(case.state, trx_id) if ACCOUNT_HISTORY.is_on(case.state) else None
    if place is not None:
        return place[0]
    head = case.state.props.head_block_number
    for back in range(min(head, BLOCKS_SEARCHED_MAX)):
        if not case.budget.take():
            return None
        block = case.chain.block_by_number(head - back)
        # Reading the transactions can require unpacking the block, so it costs tries.
        if block is not None and not case.budget.take(len(block.transactions) // TRANSACTIONS_FOR_A_TRY):
            return None
        if block is not None and any(trx.id == trx_id for trx in block.transactions):
            return block.number
    return None


def waited_for(case: RefusalCase) -> Explanation:
    """Explain that another call is already waiting for the same transaction."""
    why = "Another call of broadcast_transaction_synchronous is already waiting for this transaction."
    return case.explained("duplicate_transaction", why, "Wait for the answer to that call.", cause="waited_for")


def not_unique(case: RefusalCase) -> Explanation:
    """Explain that an object with the same key already exists."""
    operation = case.operation
    kind, advice = "an object", "Choose another name or number for it."
    if isinstance(operation, CREATIONS):
        kind, advice = f"the account {operation.new_account_name}", "Choose another name for the account."
    elif isinstance(operation, (LimitOrderCreate, LimitOrderCreate2)):
        kind, advice = f"an order {operation.orderid} of {operation.owner}", "Choose an orderid that no open order of the account has."
    elif isinstance(operation, EscrowTransfer):
        kind, advice = f"an escrow {operation.escrow_id} of {operation.from_}", "Choose an escrow_id that no escrow of the account has."
    elif isinstance(operation, TransferFromSavings):
        kind = f"a request {operation.request_id} of {operation.from_} for savings"
        advice = "Choose a request_id that no open request of the account has."
    return case.explained("already_exists", f"There is {kind} already.", advice, fields=fields_of_operation(case))
