"""What users of a node with readers do, over each way in, whichever process their connection leads to."""

from contextlib import AsyncExitStack

from tests.helpers.users import broadcasts, sends_a_batch, waits
from tests.helpers.ways import WAYS, Socket, node_here, result


async def test_what_users_do() -> None:
    async with node_here(readers=1) as owner, AsyncExitStack() as stack:
        # The two processes get connections in turns.
        ways = [await stack.enter_async_context(open_(owner.port)) for open_ in WAYS for _ in range(2)]
        subscribed = [way for way in ways if isinstance(way, Socket)]
        for listening in subscribed:
            await result(listening, "dev_api.subscribe", {"kind": "blocks"})
        for way in ways:
            await broadcasts(owner, way)
            await waits(owner, way)
            await sends_a_batch(owner, way)
        for listening in subscribed:
            assert (await listening.notice())["kind"] == "blocks"
