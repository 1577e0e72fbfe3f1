"""chain_api: pushes transactions and blocks. A refusal is returned as a result, not as an error. Source: rpc-api.md §5.3."""

from typing import Annotated, NotRequired, TypedDict

from rpc.caller import Caller
from rpc.declare.arguments import Timestamp, UInt16, UInt32
from rpc.declare.errors import PushFailed
from rpc.declare.method import method
from rpc.processor import Processor
from state.protocol.codec.kinds import Bool, Extensions, Hash, Many, Text
from state.protocol.errors import ChainError
from state.protocol.operation import Operations
from state.protocol.transaction import SIGNATURE_BYTES, SignedBlock, SignedTransaction, Wire

Signatures = Annotated[tuple[bytes, ...], Many(Hash(SIGNATURE_BYTES))]


class Outcome(TypedDict):
    """Whether a block or transaction was accepted. If not, `error` contains the reason."""

    success: bool
    error: NotRequired[Text]


@method("chain_api.push_block")
async def push_block(processor: Processor, wire: Wire, caller: Caller, /, block: SignedBlock, currently_syncing: Bool = False) -> Outcome:
    """Push a block. `currently_syncing` has no effect. A refused block is charged to the sender's allowance, like a refused transaction."""
    try:
        await processor.push_block(block, caller)
    except (PushFailed, ChainError) as error:
        return failure(error, wire)
    return {"success": True}


@method("chain_api.push_transaction")
async def push_transaction(
    processor: Processor,
    wire: Wire,
    caller: Caller,
    /,
    ref_block_num: UInt16,
    ref_block_prefix: UInt32,
    expiration: Timestamp,
    operations: Operations,
    extensions: Extensions,
    signatures: Signatures,
) -> Outcome:
    """Push a transaction. The arguments of the call are the transaction's fields."""
    trx = SignedTransaction(ref_block_num, ref_block_prefix, expiration, operations, extensions, signatures)
    try:
        await processor.push_transaction(wire.seal(trx), caller)
    except (PushFailed, ChainError) as error:
        return failure(error, wire)
    return {"success": True}


def failure(error: PushFailed | ChainError, wire: Wire) -> Outcome:
    """Return the outcome for a refused block or transaction, with the message of the refusal."""
    refused = error.error if isinstance(error, PushFailed) else error
    return {"success": False, "error": refused.message(wire.spec.spell)}
