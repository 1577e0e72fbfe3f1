"""A fork in the caller's process that begins where a node stands, and fetches what calls name."""

import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import trio

from node.client.urls import is_url
from node.fork.cache import FetchCache, cache_of
from node.fork.calls import ForkCalls
from node.fork.demand import Demand, Edit
from node.fork.fetch import ForkRequest, write_new_fork
from node.fork.file import read_fork
from node.fork.history import SourceHistory
from node.fork.limits import PATIENCE_SECONDS, SourceLimits
from node.fork.reader import SourceReader
from node.fork.source import Source
from node.fork.threaded import LoopThread, ThreadedCalls
from rpc.fork import Fork
from state.chain.chain import Chain


class LiveFork:
    """A fork in the caller's process whose fetches run in a thread. `file` is its fork file.

    `fork` is a fork file, or the URL of a node, where the chain then begins. Without `is_fetching`, only what is in the cache of the fork
    file is fetched. Raises NodeError.
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
        """Return what the service of the chain does for calls. `edit` runs a function that changes the chain."""
        fork.is_on_demand = self._is_fetching
        limits = SourceLimits(self._source.url, trio.current_time)
        reader = SourceReader(self._source, chain.state.spec, fork.chain_id) if self._is_fetching else None
        demand = Demand(
            chain, reader, edit, limits, time.time, fork.record, FetchCache(cache_of(self.file.path), chain.state.spec.base.digest)
        )
        self._thread.start(demand.run)
        asked = (self._source, limits) if self._is_fetching else (None, None)
        return ThreadedCalls(ForkCalls(demand, SourceHistory(chain, *asked)), self._thread)


async def _new_source(url: str) -> Source:
    return Source(url, patience_seconds=PATIENCE_SECONDS)
