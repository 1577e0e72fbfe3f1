"""What a relay has done, in plain numbers, and the page that shows them to Prometheus, served by a thread of its own."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from node.runtime.address import Address
from node.runtime.errors import NodeError
from node.runtime.metric_families import counter, gauge, items
from rpc.log import Log

if TYPE_CHECKING:
    from prometheus_client import Metric


_log = Log("relay")


class RelayCounters:
    """Counts what a relay does. `head` and `head_time` are those of the last block in the broker, `node_head` is the node's last word.

    `succeeded` is when a block was written last, or nothing was to be written, by a monotonic clock.
    """

    def __init__(self, clock: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._monotonic = clock, monotonic
        self.blocks = self.parts = self.operations = self.repeats = 0
        self.head = self.head_time = self.node_head = 0
        self.errors: Counter[str] = Counter()
        self.succeeded = monotonic()
        self._tried = ""

    def begin(self, block_id: str) -> None:
        """Count a block that is about to be written; the same one as the last time is a repetition."""
        self.repeats += block_id == self._tried
        self._tried = block_id

    def succeed(self) -> None:
        """Note that all is well."""
        self.succeeded = self._monotonic()

    def collect(self) -> "Iterator[Metric]":
        """Yield all families; the registry asks for them."""
        yield counter("coind_relay_blocks", "Blocks written into the broker", self.blocks)
        yield counter("coind_relay_parts", "Parts of blocks and operations that are too large for a message", self.parts)
        yield counter("coind_relay_operations", "Operations written into the broker", self.operations)
        yield counter("coind_relay_repeats", "Times that a block was begun which was begun last before, too", self.repeats)
        failed = items(((name,), count) for name, count in self.errors.items())
        yield counter("coind_relay_errors", "Failures after which it began again, by their class", labels=("error",), values=failed)
        yield gauge("coind_relay_head_block_number", "Number of the last block in the broker", self.head)
        yield gauge("coind_relay_head_block_age_seconds", "How old that block is", self._clock() - self.head_time)
        yield gauge("coind_relay_node_head_block_number", "Number of the node's head, when it was heard of last", self.node_head)
        since = self._monotonic() - self.succeeded
        yield gauge("coind_relay_success_seconds", "How long ago a block was written, or the node had no newer one", since)

    def serve(self, address: Address) -> Callable[[], None]:
        """Answer every GET request at an address with these numbers, until the returned function is called. Raises NodeError."""
        from prometheus_client import CollectorRegistry, start_http_server

        registry: Any = CollectorRegistry()
        registry.register(self)
        try:
            server, _ = start_http_server(address.port, address.host, registry)
        except OSError as error:
            raise NodeError(f"can't listen on {address.host}:{address.port}: {error.strerror}; choose another address") from None
        _log.info("metrics are served", url=f"http://{address.host}:{server.server_port}/metrics")

        def stop() -> None:
            server.shutdown()
            server.server_close()

        return stop
