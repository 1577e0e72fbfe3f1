"""Runs work that uses a connection to a broker, and cancels the work when the connection ends.

Otherwise the library's pending requests would block until their timeouts.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from node.runtime.errors import NodeError


async def run_connected(nats: Any, url: str, name: str, work: Callable[[Any], Awaitable[None]]) -> None:
    """Connect to a broker and run `work`. Raises NodeError if the connection ends first, and the errors of the library."""
    ended = asyncio.Event()

    async def end() -> None:
        ended.set()

    connection = await nats.connect(url, name=name, allow_reconnect=False, connect_timeout=5, closed_cb=end)
    tasks = working, _ = asyncio.ensure_future(work(connection)), asyncio.ensure_future(ended.wait())
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise NodeError(f"{url} closed the connection")
        working.result()
    finally:
        left = {*tasks}
        while left:
            # One cancellation can be lost if the awaited reply arrives in the same loop iteration.
            for task in left:
                task.cancel()
            _, left = await asyncio.wait(left, timeout=0.1)
        await asyncio.gather(*tasks, return_exceptions=True)
        await connection.close()
