"""Fetches for a caller without an event loop: another thread runs one, and the caller's thread waits for it."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from threading import Event, Thread
from typing import Any, TypeVar

import trio

from node.fork.calls import ForkCalls
from rpc.caller import Caller
from rpc.declare.demand import Key, NotHere
from rpc.declare.method import Method

Result = TypeVar("Result")


class LoopThread:
    """A thread with an event loop. The thread and its tasks end with the process."""

    def __init__(self) -> None:
        self._started = Event()
        self._token: trio.lowlevel.TrioToken
        self._nursery: trio.Nursery
        Thread(target=trio.run, args=(self._run,), daemon=True, name="source").start()
        self._started.wait()

    async def _run(self) -> None:
        async with trio.open_nursery() as self._nursery:
            self._token = trio.lowlevel.current_trio_token()
            self._started.set()
            await trio.sleep_forever()

    def run(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Run an async function in the event loop, wait for its end, and return its result. Its exceptions propagate."""
        future: Future[Result] = Future()

        async def main() -> None:
            try:
                future.set_result(await work())
            except BaseException as error:
                future.set_exception(error)
                if not isinstance(error, Exception):
                    raise

        self._token.run_sync_soon(self._nursery.start_soon, main)
        return future.result()

    def start(self, work: Callable[..., Awaitable[Any]]) -> None:
        """Start a task, and wait until it calls `task_status.started()`."""
        self.run(partial(self._nursery.start, work))


class ThreadedCalls:
    """Calls of a fork whose fetches run in a thread with an event loop, while the caller's thread waits.

    The fetch then changes the chain in that thread, so the caller's thread must not use it meanwhile.
    """

    def __init__(self, calls: ForkCalls, thread: LoopThread) -> None:
        self._calls, self._thread = calls, thread

    def call(self, method: Method, values: Sequence[Any], keys: Iterable[Key], function: Callable[..., Any]) -> Any:
        """Return the result of a call. Raises NotHere if it needs something of the source; its fetch never yields to an event loop."""
        try:
            return self._calls.call(method, values, keys, function)
        except NotHere as not_here:
            raise NotHere(partial(self._fetch, not_here.fetch)) from None

    async def _fetch(self, fetch: Callable[[Caller], Awaitable[None]], caller: Caller) -> None:
        self._thread.run(partial(fetch, caller))
