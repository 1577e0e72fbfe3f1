"""The parts of a node whose chain is a fork: what asks the source for what calls need, and what goes along with the source."""

import trio

from node.app.settings import Settings
from node.fork.cache import FetchCache
from node.fork.calls import ForkCalls
from node.fork.demand import Demand, Edit
from node.fork.history import SourceHistory
from node.fork.limits import PATIENCE_SECONDS, SourceLimits
from node.fork.mirror import Mirror
from node.fork.reader import SourceReader
from node.fork.source import Source
from rpc.fork import Fork
from rpc.processor import Processor
from state.chain.chain import Chain

MIRROR_NAME = "mirror"  # the file in the data folder with the number of the next block to apply


class ForkParts:
    """What a node of a fork does for calls (`calls`), and its tasks. `edit` runs a function that changes the chain, as a job."""

    def __init__(self, settings: Settings, chain: Chain, fork: Fork, edit: Edit) -> None:
        url = settings.source or fork.source
        self._source = Source(url, settings.requests_per_second, patience_seconds=PATIENCE_SECONDS)
        limits = SourceLimits(url, trio.current_time)
        reader = SourceReader(self._source, chain.state.spec, fork.chain_id) if settings.is_fetching else None
        cache = None if settings.cache is None else FetchCache(settings.cache, chain.state.spec.base.digest, settings.disk)
        demand = Demand(chain, reader, edit, limits, lambda: settings.clock() / 1000, fork.record, cache)
        self.demand = demand if demand.is_needed else None
        asked = settings.history == "source"
        self.calls = ForkCalls(self.demand, SourceHistory(chain, self._source if asked else None, limits if asked else None))
        self._settings, self._chain, self._fork = settings, chain, fork
        fork.is_on_demand = settings.is_fetching

    async def run(self, processor: Processor, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run the tasks until cancelled. The processor has to run by then."""
        settings = self._settings
        try:
            async with trio.open_nursery() as nursery:
                if self.demand is not None:
                    await nursery.start(self.demand.run)
                if settings.is_mirroring:
                    position = None if settings.data is None else settings.data / MIRROR_NAME
                    mirror = Mirror(self._chain, self._source, processor, self._fork, position, settings.disk)
                    nursery.start_soon(mirror.run)
                task_status.started()
                await trio.sleep_forever()
        finally:
            await self._source.close()
