"""Methods that broadcast a transaction or a block. Source: rpc-api.md §3.2.1, §3.11, §7."""

from rpc.caller import Caller
from rpc.declare.arguments import Int32
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder
from rpc.jsonrpc.dispatch import Service
from rpc.processor import Processor
from rpc.records.blocks import InclusionRecord
from state.protocol.errors import Refused
from state.protocol.transaction import SignedBlock, SignedTransaction
from state.tables import State

ANY_AGE = -1


@method("condenser_api.broadcast_block", needs_local=True)
@method("network_broadcast_api.broadcast_block", needs_local=True)
async def broadcast_block(processor: Processor, block: SignedBlock) -> Json:
    """Push a block. The result is an empty object if it was accepted, possibly on a fork instead of the main branch."""
    await processor.push_block(block)
    return {}


@method("condenser_api.broadcast_transaction")
async def broadcast_transaction(processor: Processor, caller: Caller, /, trx: SignedTransaction) -> Json:
    """Push a transaction. The result is an empty object if it was accepted and is pending."""
    await processor.push_transaction(trx, caller)
    return {}


@method("network_broadcast_api.broadcast_transaction")
async def broadcast_young_transaction(
    service: Service, state: State, processor: Processor, caller: Caller, /, trx: SignedTransaction, max_block_age: Int32 = ANY_AGE
) -> Json:
    """Push a transaction, unless the head block is older than `max_block_age` seconds (negative: no limit)."""
    require_young_head(service, state, max_block_age)
    await processor.push_transaction(trx, caller)
    return {}


@method("condenser_api.broadcast_transaction_synchronous", record=InclusionRecord)
async def broadcast_and_wait(processor: Processor, show: RecordEncoder, caller: Caller, /, trx: SignedTransaction) -> Json:
    """Push a transaction and wait for the block that includes it, or for the first block after its expiration."""
    return show(InclusionRecord, await processor.wait_for(trx, caller))


@method("network_broadcast_api.broadcast_transaction_synchronous", record=InclusionRecord)
async def broadcast_young_and_wait(
    service: Service,
    state: State,
    processor: Processor,
    show: RecordEncoder,
    caller: Caller,
    /,
    trx: SignedTransaction,
    max_block_age: Int32 = ANY_AGE,
) -> Json:
    """Push a transaction, unless the head block is older than `max_block_age` seconds, and wait for the block that includes it."""
    require_young_head(service, state, max_block_age)
    return await broadcast_and_wait(processor, show, caller, trx)


def require_young_head(service: Service, state: State, age_max: int) -> None:
    """Refuse if the head block is older than `age_max` seconds (negative: no limit)."""
    if age_max >= 0 and state.head_time < int(service.clock()) - age_max:
        raise Refused(condition="!check_max_block_age( args.max_block_age )")
