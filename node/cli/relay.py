"""`coind relay`: puts the blocks of a node into a broker."""

import asyncio
import contextlib
import signal
from collections.abc import Coroutine
from typing import Annotated

from cyclopts import Parameter

from node.cli.parameters import Config
from node.client.urls import broker_url, node_url
from node.runtime.address import read_address
from node.runtime.errors import NodeError
from node.runtime.logs import configure_logs

GIB = 1 << 30


def relay_command(
    *,
    from_: Annotated[str, Parameter(name="--from", help="The node whose blocks are relayed, http://HOST:PORT.")],
    to: Annotated[str, Parameter(help="The broker, nats://HOST:PORT, with JetStream.")],
    operations: Annotated[bool, Parameter(help="Whether each operation is relayed, too, by its kind.")] = True,
    max_gib: Annotated[float, Parameter(help="How much each stream may hold, in GiB; the oldest is dropped first.")] = 1.0,
    metrics: Annotated[str, Parameter(help="Where to show metrics to Prometheus, as HOST:PORT; by default nowhere.")] = "",
    log_json: Annotated[bool, Parameter(help="Log JSON lines on a terminal, too.", negative="")] = False,
    config: Config = None,
) -> int:
    """Put the blocks of a node into a broker (NATS JetStream), for replicas and for others."""
    from node.replicas.relay.metrics import RelayCounters
    from node.replicas.relay.relay import Relay

    if max_gib <= 0:
        raise NodeError(f"--max-gib {max_gib}: expected more than 0")
    configure_logs("info", is_json=True if log_json else None)
    counters = RelayCounters()
    relay = Relay(node_url(from_), broker_url(to), bytes_max=int(max_gib * GIB), has_operations=operations, counters=counters)
    if metrics:
        counters.serve(read_address(metrics, "--metrics"))
    asyncio.run(run_until_signal(relay.run()))
    return 0


async def run_until_signal(work: Coroutine[None, None, None]) -> None:
    """Run until it ends or a signal comes."""
    task = asyncio.ensure_future(work)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task
