"""A fork in the caller's process that begins where a node stands, and fetches what calls name."""

import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import trio

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
    """A source of a fork, and the fork file (`file`) with the state in which it was first read. Raises NodeError."""

    def __init__(self, url: str) -> None:
        self._thread = LoopThread()
        self._source = self._thread.run(partial(_new_source, url))
        self._folder = TemporaryDirectory(prefix="coind-fork-")
        path = Path(self._folder.name) / "fork"
        self._thread.run(partial(write_new_fork, self._source, ForkRequest(), path, lambda text: None))
        self.file = read_fork(path)

    def calls(self, chain: Chain, fork: Fork, edit: Edit) -> ThreadedCalls:
        """Return what the service of the chain does for calls. `edit` runs a function that changes the chain."""
        fork.is_on_demand = True
        limits = SourceLimits(self._source.url, trio.current_time)
        reader = SourceReader(self._source, chain.state.spec, fork.chain_id)
        demand = Demand(chain, reader, edit, limits, time.time, fork.record)
        self._thread.start(demand.run)
        return ThreadedCalls(ForkCalls(demand, SourceHistory(chain, self._source, limits)), self._thread)


async def _new_source(url: str) -> Source:
    return Source(url, patience_seconds=PATIENCE_SECONDS)
