"""Makes the JSON-RPC service of a node: all methods, bound to its chain and its processor. It must not know what they do."""

from collections.abc import Callable
from time import perf_counter

import rpc.api  # noqa: F401 - fills METHODS
from node.driving.driver import Driver
from node.known_chains import known_chains
from rpc.explain.explainer import Explainer
from rpc.explorer.series import Series
from rpc.processor import Processor
from rpc.service.allowance import Allowances
from rpc.service.envelope import Elsewhere, Observe, Service, unobserved
from rpc.service.method import METHODS
from rpc.service.turns import Gate, Stopwatch
from state.chain.chain import Chain
from state.protocol.transaction import SignedTransaction


def new_service(
    chain: Chain,
    processor: Processor,
    driver: Driver,
    plugins: tuple[str, ...],
    *,
    explainer: Explainer | None = None,
    withheld: str = "",
    observe: Observe = unobserved,
    stopwatch: Stopwatch = perf_counter,
    foresee: Callable[[list[SignedTransaction]], None] | None = None,
    elsewhere: Elsewhere | None = None,
    gate: Gate | None = None,
    allowances: Allowances | None = None,
) -> Service:
    """Return the service for a chain; `withheld` says why the methods that are for programs on this machine only are not served.

    `observe` is called after each request, `foresee` with transactions that a batch is going to broadcast. `elsewhere` answers
    what needs the owner of the chain, if that is another process. Nothing is read while the `gate` is shut. `allowances` are how much
    refused work clients may cause.
    """
    return Service(
        METHODS.values(),
        wire=chain.state.wire,
        plugins=plugins,
        clock=lambda: driver.clock() / 1000,
        stopwatch=stopwatch,
        withheld=withheld,
        observe=observe,
        reads=chain.state.journal.reads,
        foresee=foresee,
        elsewhere=elsewhere,
        gate=gate,
        work=chain.state.work,
        allowances=allowances,
        state=chain.state,
        chain=chain,
        processor=processor,
        driver=driver,
        explainer=explainer or Explainer(chain, lambda: driver.clock() / 1000, known_chains),
        series=Series(chain).attach(),
    )
