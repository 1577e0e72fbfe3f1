"""Digest of the state, for comparing nodes."""

from collections.abc import Generator
from typing import TypedDict

from rpc.declare.arguments import Text, UInt32
from rpc.declare.method import method
from rpc.processor import Processor
from state.chain.chain import Chain
from state.chain.digest import state_digest


class StateDigest(TypedDict):
    """The head, the number of pending transactions, and the digest of the state with their effects."""

    head_block_number: UInt32
    head_block_id: Text
    pending: UInt32
    digest: Text


@method("dev_api.get_state_digest", loopback_only=True, of_process=True)
async def get_state_digest(chain: Chain, processor: Processor, /) -> StateDigest:
    """Return a hash over all tables of the chain. It is equal on nodes with the same head and no pending transactions.

    It takes a second for some 100,000 rows. No other request is answered in that time.
    """

    def steps() -> Generator[None, None, StateDigest]:
        yield
        props = chain.state.props
        return {
            "head_block_number": props.head_block_number,
            "head_block_id": props.head_block_id.hex(),
            "pending": len(chain.pending),
            "digest": state_digest(chain.state),
        }

    return await processor.in_steps(steps)
