"""A connection to a broker for some work, which ends with it: the library has questions that wait go on to wait for their time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from node.runtime.errors import NodeError


async def run_connected(nats: Any, url: str, name: str, work: Callable[[Any], Awaitable[None]]) -> None:
    """Connect to a broker and do some work. Raises NodeError when the connection ends before, and the errors of the library."""
    ended = asyncio.Event()

    async def end() -> None:
        ended.set()

    connection = await nats.connect(url, name=name, allow_reconnect=False, connect_timeout=5, closed_cb=end)
    tasks = working, _ = asyncio.ensure_future(work(connection)), asyncio.ensure_future(ended.wait())
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise NodeError(f"{url} has ended the connection")
        working.result()
    finally:
        left = {*tasks}
        while left:
            # Once may not do: a wait of the library whose answer comes in the same moment goes on.
            for task in left:
                task.cancel()
            _, left = await asyncio.wait(left, timeout=0.1)
        await asyncio.gather(*tasks, return_exceptions=True)
        await connection.close()
