"""The parts of a node whose chain is a fork: they fetch from the source for calls, and mirror its later blocks."""

import trio

from node.app.settings import Settings
from node.fork.cache import FetchCache
from node.fork.calls import new_calls
from node.fork.demand import Edit
from node.fork.limits import PATIENCE_SECONDS
from node.fork.mirror import Mirror
from node.fork.source import Source
from rpc.fork import Fork
from rpc.processor import Processor
from state.chain.chain import Chain

MIRROR_NAME = "mirror"  # the file in the data folder with the number of the next block to apply


class ForkParts:
    """The calls of a node with a fork (`calls`), and its tasks. `edit` runs a function that changes the chain, as a job."""

    def __init__(self, settings: Settings, chain: Chain, fork: Fork, edit: Edit) -> None:
        self._source = Source(settings.source or fork.origin.source, settings.requests_per_second, patience_seconds=PATIENCE_SECONDS)
        cache = None if settings.cache is None else FetchCache(settings.cache, chain.state.spec.base.digest, settings.disk)
        self.calls, self.demand = new_calls(
            chain,
            fork,
            self._source,
            edit,
            lambda: settings.clock() / 1000,
            cache,
            is_fetching=settings.is_fetching,
            asks_history=settings.history == "source",
        )
        self._settings, self._chain, self._fork = settings, chain, fork

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
