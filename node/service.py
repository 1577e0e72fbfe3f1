"""Makes the JSON-RPC service of a node: all methods, bound to its chain and its processor. It must not know what they do."""

from typing import Any

import msgspec

import rpc.api  # noqa: F401 - fills METHODS
from node.clock import Clock
from node.processor import Processor
from rpc.service.envelope import Service
from rpc.service.method import METHODS
from rpc.service.transport.asgi import PageReply
from state.chain.chain import Chain
from state.protocol.values.text import time_text


def new_service(chain: Chain, processor: Processor, plugins: tuple[str, ...], clock: Clock, *, withheld: str = "") -> Service:
    """Return the service for a chain; `withheld` says why the methods that are for programs on this machine only are not served."""
    return Service(
        METHODS.values(),
        wire=chain.state.wire,
        plugins=plugins,
        clock=lambda: clock() / 1000,
        withheld=withheld,
        state=chain.state,
        chain=chain,
        processor=processor,
    )


def health(chain: Chain) -> PageReply:
    """Return the reply to GET /health."""
    state = chain.state
    props = state.props
    shown: dict[str, Any] = {
        "status": "ok",
        "chain": state.spec.name,
        "chain_id": state.spec.chain_id.hex(),
        "head_block_number": props.head_block_number,
        "head_block_id": props.head_block_id.hex(),
        "head_block_time": time_text(props.time),
        "pending_transactions": len(chain.pending),
    }
    return PageReply(msgspec.json.encode(shown))
