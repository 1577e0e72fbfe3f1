"""Explains duplicate transactions, and operations that would create a duplicate object."""

from rpc.explain.case import Explanation, RefusalCase
from rpc.explain.values import fields_of_operation
from state.operations.accounts import AccountCreate, AccountCreateWithDelegation, CreateClaimedAccount
from state.operations.escrow import EscrowTransfer
from state.operations.market import LimitOrderCreate, LimitOrderCreate2
from state.operations.transfers import TransferFromSavings
from state.plugins.account_history import ACCOUNT_HISTORY, locate_transaction
from state.plugins.transaction_status import TRANSACTION_STATUS

BLOCKS_SEARCHED_MAX = 100  # from the head back, if no plugin knows the block of a transaction
TRANSACTIONS_FOR_A_TRY = 4  # unpacking this many takes about as long as a key recovery
OTHERWISE = "To do the same thing once more, change something (the expiration will do), and sign it again."
CREATIONS = (AccountCreate, AccountCreateWithDelegation, CreateClaimedAccount)


def duplicate(case: RefusalCase) -> Explanation:
    """Explain a transaction that is already in a block or pending."""
    trx_id = case.transaction.id
    values = {"id": trx_id.hex()}
    if any(trx.id == trx_id for trx in reversed(case.chain.pending)):
        why = "This very transaction waits for a block already: it was accepted before."
        return case.explained("duplicate_transaction", why, OTHERWISE, **values, block_num=None, cause="pending")
    number = block_of(case, trx_id)
    if number is None:
        why = "This very transaction was applied before, in a block that isn't known here any more."
        return case.explained("duplicate_transaction", why, OTHERWISE, **values, block_num=None, cause=None)
    why, to_do = f"This very transaction is in block {number} already: it was accepted before.", f"Nothing has to be done. {OTHERWISE}"
    return case.explained("duplicate_transaction", why, to_do, **values, block_num=number, cause="in_block")


def block_of(case: RefusalCase, trx_id: bytes) -> int | None:
    """Return the number of the block with a transaction; None if it isn't found within the limits."""
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
        # Reading the transactions may unpack the block, so it counts as tries.
        if block is not None and not case.budget.take(len(block.transactions) // TRANSACTIONS_FOR_A_TRY):
            return None
        if block is not None and any(trx.id == trx_id for trx in block.transactions):
            return block.number
    return None


def waited_for(case: RefusalCase) -> Explanation:
    """Explain a transaction that another call is waiting for."""
    why = "Another call of broadcast_transaction_synchronous waits for this very transaction."
    return case.explained("duplicate_transaction", why, "Wait for the answer to that call.", cause="waited_for")


def not_unique(case: RefusalCase) -> Explanation:
    """Explain an operation that would create an object whose key is taken."""
    operation = case.operation
    what, advice = "an object", "Choose another name or number for it."
    if isinstance(operation, CREATIONS):
        what, advice = f"the account {operation.new_account_name}", "Choose another name for the account."
    elif isinstance(operation, (LimitOrderCreate, LimitOrderCreate2)):
        what, advice = f"an order {operation.orderid} of {operation.owner}", "Choose an orderid that no open order of the account has."
    elif isinstance(operation, EscrowTransfer):
        what, advice = f"an escrow {operation.escrow_id} of {operation.from_}", "Choose an escrow_id that no escrow of the account has."
    elif isinstance(operation, TransferFromSavings):
        what = f"a request {operation.request_id} of {operation.from_} for savings"
        advice = "Choose a request_id that no open request of the account has."
    return case.explained("already_exists", f"There is {what} already.", advice, fields=fields_of_operation(case))
