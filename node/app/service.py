"""Creates the JSON-RPC service of a node: all methods, bound to its chain and its processor."""

from collections.abc import Callable
from time import perf_counter

import rpc.api  # noqa: F401 - fills METHODS
from node.devchain.devchain import DevChain
from node.specs.known_chains import known_chains
from rpc.declare.demand import CallGuard
from rpc.declare.method import METHODS
from rpc.explain.case import KnownChain, KnownChains
from rpc.explain.explainer import Explainer
from rpc.explorer.supply_history import SupplyHistory
from rpc.fork import Fork
from rpc.jsonrpc.allowance import Allowances
from rpc.jsonrpc.dispatch import Service, ignore_call
from rpc.jsonrpc.error_replies import Observe
from rpc.jsonrpc.memory import MemoryLimiter
from rpc.jsonrpc.result_cache import ResultCache
from rpc.jsonrpc.scheduler import AnswerElsewhere, ReadGate, Stopwatch
from rpc.processor import Processor
from state.chain.chain import Chain
from state.protocol.spec import ChainSpec
from state.protocol.transaction import SignedTransaction


def chains_to_name(spec: ChainSpec, fork: Fork | None) -> KnownChains:
    """Return a function that lists the chains that explanations can name. For a fork they include its source."""
    chain_id = spec.chain_id if fork is None else bytes.fromhex(fork.origin.chain_id)
    if chain_id == spec.chain_id:
        return known_chains
    source = KnownChain("the source of this fork", chain_id, spec.coin_symbol, spec.debt_symbol, spec.vests_symbol)
    return lambda: (source, *known_chains())


def new_service(
    chain: Chain,
    processor: Processor,
    devchain: DevChain,
    plugins: tuple[str, ...],
    *,
    explainer: Explainer | None = None,
    withheld: str = "",
    observe: Observe = ignore_call,
    stopwatch: Stopwatch = perf_counter,
    foresee: Callable[[list[SignedTransaction]], None] | None = None,
    elsewhere: AnswerElsewhere | None = None,
    gate: ReadGate | None = None,
    allowances: Allowances | None = None,
    memory: MemoryLimiter | None = None,
    call_guard: CallGuard | None = None,
    changes: Callable[[], int] | None = None,
) -> Service:
    """Return the service for a chain. `withheld` is the reason why methods for local programs are not served, or "" if they are served.

    `observe` is called after each request, `foresee` with the transactions that a batch will broadcast. If another process owns the chain,
    `elsewhere` forwards the calls that need the owner. No read runs while `gate` is closed. `allowances` limit the work for refused
    requests that a client can cause. `memory` limits the memory that requests occupy. `call_guard` makes the calls of a fork.

    `changes` returns a number that increases before each change of the chain. With it, results of reads are cached between changes.
    """
    return Service(
        METHODS.values(),
        wire=chain.state.wire,
        plugins=plugins,
        clock=lambda: devchain.clock() / 1000,
        stopwatch=stopwatch,
        withheld=withheld,
        observe=observe,
        read_mode=chain.state.journal.read_mode,
        foresee=foresee,
        elsewhere=elsewhere,
        gate=gate,
        work=chain.state.work,
        allowances=allowances,
        memory=memory,
        call_guard=call_guard,
        result_cache=None if changes is None else ResultCache(changes),
        state=chain.state,
        chain=chain,
        processor=processor,
        devchain=devchain,
        explainer=explainer or Explainer(chain, lambda: devchain.clock() / 1000, chains_to_name(chain.state.spec, devchain.fork)),
        series=SupplyHistory(chain).attach(),
    )
