"""A fork in the caller's process that fetches accounts and posts that calls name."""

import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from node.client.urls import is_url
from node.fork.cache import FetchCache, cache_of
from node.fork.calls import new_calls
from node.fork.demand import Edit
from node.fork.fetch import ForkRequest, write_new_fork
from node.fork.file import read_fork
from node.fork.limits import PATIENCE_SECONDS
from node.fork.source import Source
from node.fork.threaded import LoopThread, ThreadedCalls
from rpc.fork import Fork
from state.chain.chain import Chain


class LiveFork:
    """A fork in the caller's process whose fetches run in a thread. `file` is its fork file.

    `fork` is a fork file, or the URL of a node, at whose head the chain then begins. Without `is_fetching`, only rows in the cache of the
    fork file are fetched. Raises NodeError.
    """

    def __init__(self, fork: str, *, is_fetching: bool) -> None:
        self._is_fetching, self._thread = is_fetching, LoopThread()
        if is_url(fork):
            self._folder = TemporaryDirectory(prefix="coind-fork-")
            path = Path(self._folder.name) / "fork"
            self._source = self._thread.run(partial(_new_source, fork))
            self._thread.run(partial(write_new_fork, self._source, ForkRequest(), path, lambda text: None))
            self.file = read_fork(path)
        else:
            self.file = read_fork(Path(fork))
            self._source = self._thread.run(partial(_new_source, self.file.origin.source))

    def calls(self, chain: Chain, fork: Fork, edit: Edit) -> ThreadedCalls:
        """Return the calls of the chain's service. `edit` runs a function that changes the chain."""
        cache = FetchCache(cache_of(self.file.path), chain.state.spec.base.digest)
        is_fetching = self._is_fetching
        calls, demand = new_calls(chain, fork, self._source, edit, time.time, cache, is_fetching=is_fetching, asks_history=is_fetching)
        if demand is not None:
            self._thread.start(demand.run)
        return ThreadedCalls(calls, self._thread)


async def _new_source(url: str) -> Source:
    return Source(url, patience_seconds=PATIENCE_SECONDS)
