"""A public subscription to blocks. With it, a page of the explorer doesn't need a separate block stream."""

from rpc.declare.arguments import UInt32
from rpc.declare.method import method
from rpc.push.session import Session


@method("explorer_api.subscribe_blocks", key="subscription")
def subscribe_blocks(session: Session, /) -> UInt32:
    """Subscribe this WebSocket to new blocks of the main branch, and return the number of the subscription.

    A WebSocket can have only one such subscription: another call returns the same number. A notice is `{"method": "explorer_api.notice",
    "params": {"subscription", "kind": "blocks", "block": ...}}`. When a fork or a revert undoes blocks, the notice has `"undone": {"first",
    "last"}` instead of the block. If a client reads too slowly, its WebSocket is closed with code 1013 and a reason.
    """
    return session.subscribe_blocks()
