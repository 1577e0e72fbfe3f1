"""explorer_api.subscribe_blocks notifies any WebSocket client, including remote ones, of new and undone blocks."""

import json
from typing import Any

from rpc.caller import Caller
from rpc.push.session import Session
from tests.helpers.push import PushClients, notices


def ask_as_a_stranger(world: PushClients, session: Session | None) -> Any:
    """Return the reply to a subscription by a remote client, which has no local rights."""
    body = b'{"jsonrpc":"2.0","id":1,"method":"explorer_api.subscribe_blocks"}'
    reply = world.service.answer(body, Caller("192.0.2.1", "this is for programs on the machine of the node only", session))
    assert isinstance(reply, bytes)
    return json.loads(reply)


async def test_remote_clients_are_notified_of_blocks() -> None:
    world = PushClients()
    session = world.session()
    assert ask_as_a_stranger(world, session)["result"] == {"subscription": 1}
    [block] = world.make(1)
    shown = world.call(None, "block_api.get_block", {"block_num": 1})["result"]["block"]
    notice = await session.next()
    assert notice is not None
    assert json.loads(b"".join(notice)) == {
        "jsonrpc": "2.0",
        "method": "explorer_api.notice",
        "params": {"subscription": 1, "kind": "blocks", "block": {"block_num": 1, **shown}},
    }
    session.sent()
    branch = world.switch(behind=1)
    received = await notices(session, 3)
    assert received[0]["undone"] == {"first": 1, "last": 1}
    assert [one["block"]["block_id"] for one in received[1:]] == [each.id.hex() for each in branch]
    assert block.id not in {each.id for each in branch}


def test_subscribing_needs_a_websocket() -> None:
    assert ask_as_a_stranger(PushClients(), None)["error"]["data"]["hint"] == "this needs a WebSocket"
