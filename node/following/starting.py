"""Makes the parts of a node that follows another one. It is loaded by such nodes only."""

from collections.abc import Awaitable, Callable

from node.client.urls import BROKER
from node.clock import Clock
from node.failures import NodeError
from node.following.follower import Follower
from node.following.following import Following
from node.following.passing import Passing
from node.following.sources import NodeSource, Source
from node.processor import Processor
from state.chain.chain import Chain
from state.protocol.spec import ChainSpec
from state.protocol.transaction import Wire


def open_source(url: str, spec: ChainSpec, wire: Wire) -> Source:
    """Return where blocks come from."""
    if url.startswith(BROKER):
        from node.following.broker import BrokerSource

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
) -> Following:
    """Return the task that keeps a chain where the one of a node, or of a broker, is."""
    spec, wire = chain.state.spec, chain.state.wire
    follower = Follower(chain, begin_anew=begin_anew if spec.is_test else None, is_trusting=is_trusting, workers=workers)
    return Following(url, open_source(url, spec, wire), follower, processor, failed, clock)


def new_passing(followed: str, reached: Callable[[int], Awaitable[None]], processor: Processor, wire: Wire, broadcast_to: str) -> Passing:
    """Return the processor as the methods of a replica see it."""
    url = broadcast_to or ("" if followed.startswith(BROKER) else followed)
    return Passing(processor, wire, followed, url, reached)
