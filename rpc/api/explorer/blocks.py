"""The subscription of blocks that everybody may have, so that a page needs no stream of its own."""

from rpc.declare.arguments import UInt32
from rpc.declare.method import method
from rpc.push.session import Session


@method("explorer_api.subscribe_blocks", key="subscription")
def subscribe_blocks(session: Session, /) -> UInt32:
    """Begin to send the blocks that are part of the main branch from now on over this WebSocket, and return the number of the subscription.

    There is one for each WebSocket: who asks again gets the same number. A notice is
    `{"method": "explorer_api.notice", "params": {"subscription", "kind": "blocks", "block": ...}}`, with `"undone": {"first", "last"}` in
    place of the block when a fork or a return undoes blocks. A reader that is too slow is let go: the WebSocket is closed with code 1013
    and a reason.
    """
    return session.subscribe_blocks()
