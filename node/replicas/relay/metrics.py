"""Counters of a relay, and a page that shows them to Prometheus. A separate thread serves the page."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from node.runtime.address import Address
from node.runtime.errors import NodeError
from node.runtime.metric_families import counter, gauge
from rpc.log import Log

if TYPE_CHECKING:
    from prometheus_client import Metric


_log = Log("relay")


class RelayCounters:
    """Counters of a relay. `head` and `head_time` are the number and time of the last block in the broker. `node_head` is the last head
    that the node reported.

    `succeeded` is the monotonic time at which a block was last written, or at which the broker was last found to be up to date.
    """

    def __init__(self, clock: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._monotonic = clock, monotonic
        self.blocks = self.parts = self.operations = self.repeats = 0
        self.head = self.head_time = self.node_head = 0
        self.errors: Counter[str] = Counter()
        self.succeeded = monotonic()
        self._tried = ""

    def begin(self, block_id: str) -> None:
        """Record an attempt to write a block. If the last attempt was for the same block, count a repetition."""
        self.repeats += block_id == self._tried
        self._tried = block_id

    def succeed(self) -> None:
        """Record the current time as the time of the last success."""
        self.succeeded = self._monotonic()

    def collect(self) -> "Iterator[Metric]":
        """Yield all metric families for the registry."""
        yield counter("coind_relay_blocks", "Blocks written into the broker", self.blocks)
        yield counter("coind_relay_parts", "Parts of blocks and operations too large for one message", self.parts)
        yield counter("coind_relay_operations", "Operations written into the broker", self.operations)
        yield counter("coind_relay_repeats", "Repeated attempts to write the same block", self.repeats)
        failed = (((name,), count) for name, count in self.errors.items())
        yield counter("coind_relay_errors", "Failures after which the relay reconnected, by class", labels=("error",), values=failed)
        yield gauge("coind_relay_head_block_number", "Number of the last block in the broker", self.head)
        yield gauge("coind_relay_head_block_age_seconds", "Age of the last block in the broker", self._clock() - self.head_time)
        yield gauge("coind_relay_node_head_block_number", "Number of the node's head in its last message", self.node_head)
        since = self._monotonic() - self.succeeded
        yield gauge("coind_relay_success_seconds", "Time since a block was written or the broker was up to date", since)

    def serve(self, address: Address) -> Callable[[], None]:
        """Serve the counters at an address until the returned function is called. Raises NodeError."""
        from prometheus_client import CollectorRegistry, start_http_server

        registry: Any = CollectorRegistry()
        registry.register(self)
        try:
            server, _ = start_http_server(address.port, address.host, registry)
        except OSError as error:
            raise NodeError(f"can't listen on {address.host}:{address.port}: {error.strerror}. Choose another address.") from None
        _log.info("serving metrics", url=f"http://{address.host}:{server.server_port}/metrics")

        def stop() -> None:
            server.shutdown()
            server.server_close()

        return stop
