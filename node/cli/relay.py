"""`coind relay`: copies the blocks of a node to a broker."""

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
    from_: Annotated[str, Parameter(name="--from", help="The node to relay from, http://HOST:PORT.")],
    to: Annotated[str, Parameter(help="The broker, nats://HOST:PORT, with JetStream.")],
    operations: Annotated[bool, Parameter(help="Relay operations in addition to blocks, with a subject for each kind.")] = True,
    max_gib: Annotated[float, Parameter(help="The size limit of each stream, in GiB; the oldest messages are dropped.")] = 1.0,
    metrics: Annotated[str, Parameter(help="The address of the metrics page for Prometheus, HOST:PORT; by default none.")] = "",
    log_json: Annotated[bool, Parameter(help="Log JSON lines even on a terminal.", negative="")] = False,
    config: Config = None,
) -> int:
    """Relay the blocks of a node to a broker (NATS JetStream), for replicas and other programs."""
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
    """Run `work` until it ends or a signal arrives."""
    task = asyncio.ensure_future(work)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task
