"""A development chain in the caller's process, without sockets and with a stopped clock, for test suites in Python.

    chain = LocalChain()
    chain.broadcast(["transfer", {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": ""}])
    chain.call("condenser_api.get_accounts", ["bob"])

The same calls in the same order lead to the same chain, block for block.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from node.app.service import new_service
from node.client import in_process
from node.client.dev_api import CallRefused, DevApi
from node.client.errors import RefusedCall
from node.client.urls import is_url
from node.devchain.block_modes import Leap, block_mode
from node.devchain.devchain import DevChain
from node.devchain.direct_processor import DirectProcessor
from node.fork.file import read_fork
from node.runtime.clock import ChainClock
from node.snapshots.base import new_chain
from node.specs.builder import load_spec, with_accounts, with_witnesses
from node.specs.plugins import chosen_plugins
from rpc.declare.demand import CallGuard
from rpc.fork import Fork
from state.chain.chain import Chain
from state.protocol.keys.keys import secret_from_wif
from state.protocol.spec import ChainSpec

if TYPE_CHECKING:
    from node.app.live_fork import LiveFork

# The default start time: 2027-01-01, after every hardfork. It is constant, so that chains are reproducible.
START = 1_798_761_600


class LocalChain(DevApi):
    """An independent chain for tests, in this process. Its first blocks are in the last slots before `time`.

    `chain` is the name of a spec, its path, or a `ChainSpec`. If `fork` is given, the chain begins with this fork file instead, or, if it
    is a URL, at the head of this node. With `fetch` (the default for a URL), accounts and posts that calls name are fetched from the
    source, and stored beside a fork file. With `blocks="instant"` a block is made for each accepted transaction immediately; with
    `"manual"` the transaction stays pending until `mine`. `time` is the chain's start time in seconds since 1970, by default START, or for
    a fork the time of its block. Only new blocks and the methods that set the time advance the chain's time. `witnesses` is the number of
    witnesses, `accounts` the number of accounts with known keys; by default they are those of the spec. `plugins` replaces the spec's
    plugins.
    """

    def __init__(
        self,
        chain: str | ChainSpec = "dev",
        *,
        fork: str | Path | None = None,
        fetch: bool | None = None,
        blocks: str = "instant",
        time: int | None = None,
        leap: Leap = "missed",
        witnesses: int | None = None,
        accounts: int | None = None,
        plugins: Iterable[str] | None = None,
    ) -> None:
        live = None if fork is None else new_live_fork(str(fork), fetch)
        begun = None if fork is None else read_fork(Path(fork)) if live is None else live.file
        spec = begun.spec if begun is not None else load_spec(chain) if isinstance(chain, str) else chain
        spec = with_accounts(with_witnesses(spec, witnesses), accounts)
        enabled = chosen_plugins(spec) if plugins is None else tuple(plugins)
        start = time if time is not None else spec.base.time or START
        self.spec = spec
        self.chain = new_chain(spec, None if begun is None else begun.path, enabled)
        clock = ChainClock(lambda: start * 1000)
        secrets = [secret_from_wif(text) for text in spec.witness_keys]
        devchain = DevChain(self.chain, clock, secrets, mode=block_mode(blocks), leap=leap)
        devchain.fork = None if begun is None else Fork(begun.origin)
        devchain.make_first_blocks()
        processor = DirectProcessor(self.chain, devchain, clock)
        call_guard: CallGuard | None = None
        if devchain.fork is not None:
            call_guard = local_calls(self.chain) if live is None else live.calls(self.chain, devchain.fork, processor.in_turn)
        self._service = new_service(self.chain, processor, devchain, enabled, call_guard=call_guard)

    def call(self, method: str, params: Any = None) -> Any:
        """Call an RPC method as a client of a node would, and return the result. Raises CallRefused."""
        try:
            return in_process.call(self._service, method, {} if params is None else params)
        except RefusedCall as error:
            raise CallRefused(method, error.error) from None

    def push(self, trx: Any) -> None:
        """Push a signed transaction, given as bytes, or as JSON in the condenser's or the NAI form."""
        super().push(self._shown(trx))

    def explain(self, trx: Any) -> Any:
        """Explain why a signed transaction would be refused. The result also contains the transaction's bytes. `rule` is None if the
        transaction would be accepted.
        """
        return super().explain(self._shown(trx))

    def _shown(self, trx: Any) -> Any:
        wire = self.chain.state.wire
        return wire.transaction_to_json(wire.unpack_transaction(trx)) if isinstance(trx, bytes) else trx


def new_live_fork(fork: str, fetch: bool | None) -> "LiveFork | None":
    """Return a fork that fetches, or None if there is nothing to fetch. Raises NodeError."""
    # Imported here, since other chains don't need it. So is what follows.
    from node.fork.cache import cache_of

    if not (is_url(fork) or fetch or cache_of(Path(fork)).exists()):
        return None
    from node.app.live_fork import LiveFork as Live

    return Live(fork, is_fetching=is_url(fork) if fetch is None else fetch)


def local_calls(chain: Chain) -> CallGuard:
    """Return the calls of a fork without a source. Calls about blocks before the fork are refused."""
    from node.fork.calls import ForkCalls
    from node.fork.history import SourceHistory

    return ForkCalls(None, SourceHistory(chain, None, None))
