"""The page /metrics/history: the node's counters and memory over the time since its start, for the charts of the explorer."""

import trio
from msgspec import Struct

from node.monitoring.health import Parts
from node.runtime.clock import Clock, system_clock
from node.runtime.process_memory import memory_size
from rpc.http.pages import PageReply
from rpc.json.encoding import encoded

INTERVAL_SECONDS = 5  # between the first samples
SAMPLES_MAX = 720  # an hour at the first interval


class Sample(Struct, frozen=True):
    """The node at `time`, in seconds since 1970. The counters are totals since its start. `memory` is the resident memory in bytes."""

    time: int
    blocks: int
    transactions: int
    calls: int
    refused: int
    memory: int


class NodeHistory:
    """Samples of a node. If there are more than `most`, every other sample is dropped and the interval is doubled, so that they still cover
    the whole time. `calls` includes the calls of reader processes, but `refused` doesn't include the calls that these refused.
    """

    def __init__(self, parts: Parts, clock: Clock = system_clock, most: int = SAMPLES_MAX) -> None:
        self.interval = INTERVAL_SECONDS
        self._parts, self._clock, self._most = parts, clock, most
        self._samples: list[Sample] = []

    async def run(self) -> None:
        """Take a sample at each interval until cancelled."""
        while True:
            self.sample()
            await trio.sleep(self.interval)

    def sample(self) -> None:
        """Take a sample. It reads only numbers, so this works at any time, also while the chain is restored."""
        counters, readers = self._parts.counters, self._parts.readers
        calls = sum(sum(durations.counts) for durations in counters.calls.values())
        sample = Sample(
            time=self._clock() // 1000,
            blocks=counters.blocks_applied,
            transactions=counters.transactions_applied,
            calls=calls + (0 if readers is None else sum(reader.report.calls for reader in readers.each)),
            refused=sum(counters.calls_refused.values()),
            memory=memory_size(),
        )
        self._samples.append(sample)
        if len(self._samples) > self._most:
            # The newest sample stays, so that the next one follows it after the doubled interval.
            del self._samples[-2::-2]
            self.interval *= 2

    def page(self) -> PageReply:
        """Return the reply to GET /metrics/history: the interval in seconds, and a list of the values of each field, oldest first."""
        columns = {name: [getattr(sample, name) for sample in self._samples] for name in Sample.__struct_fields__}
        return PageReply(encoded({"interval": self.interval, **columns}))
