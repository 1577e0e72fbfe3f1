"""Creates the parts of a replica. Only replicas import it."""

from collections.abc import Awaitable, Callable

from node.client.urls import BROKER
from node.processor.processor import Processor
from node.replicas.follow.forwarding import ForwardingProcessor
from node.replicas.follow.replica_applier import ReplicaApplier
from node.replicas.follow.replica_task import ReplicaTask
from node.replicas.follow.sources import NodeSource, Source
from node.runtime.clock import Clock
from node.runtime.errors import NodeError
from state.chain.chain import Chain
from state.protocol.spec import ChainSpec
from state.protocol.transaction import Wire


def open_source(url: str, spec: ChainSpec, wire: Wire) -> Source:
    """Return the source of blocks for a URL."""
    if url.startswith(BROKER):
        from node.replicas.follow.broker import BrokerSource

        return BrokerSource(url, spec)
    return NodeSource(url, spec, wire)


def new_following(
    url: str,
    chain: Chain,
    processor: Processor,
    *,
    begin_anew: Callable[[], None],
    failed: Callable[[NodeError], None],
    is_trusting: bool,
    clock: Clock,
    workers: int = 0,
) -> ReplicaTask:
    """Return the task that keeps a chain in sync with a node or a broker."""
    spec, wire = chain.state.spec, chain.state.wire
    applier = ReplicaApplier(chain, begin_anew=begin_anew if spec.is_test else None, is_trusting=is_trusting, workers=workers)
    return ReplicaTask(url, open_source(url, spec, wire), applier, processor, failed, clock)


def new_forwarding(
    followed: str, reached: Callable[[int], Awaitable[None]], processor: Processor, wire: Wire, broadcast_to: str
) -> ForwardingProcessor:
    """Return the processor for the methods of a replica."""
    url = broadcast_to or ("" if followed.startswith(BROKER) else followed)
    return ForwardingProcessor(processor, wire, followed, url, reached)
