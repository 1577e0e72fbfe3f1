"""Makes the JSON-RPC service of a node: all methods, bound to its chain and its processor. It must not know what they do."""

import rpc.api  # noqa: F401 - fills METHODS
from node.clock import Clock
from node.processor import Processor
from rpc.service.envelope import Observe, Service, unobserved
from rpc.service.method import METHODS
from state.chain.chain import Chain


def new_service(
    chain: Chain, processor: Processor, plugins: tuple[str, ...], clock: Clock, *, observe: Observe = unobserved, is_loopback: bool = True
) -> Service:
    """Return the service for a chain; unless `is_loopback`, without the methods that are for programs on this machine only.

    `observe` is called after each request.
    """
    return Service(
        [method for method in METHODS.values() if is_loopback or not method.loopback_only],
        wire=chain.state.wire,
        plugins=plugins,
        clock=lambda: clock() / 1000,
        observe=observe,
        state=chain.state,
        chain=chain,
        processor=processor,
    )
