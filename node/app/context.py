"""Objects that all parts of a node share: the chain with its plugins, its clock, its `DevChain`, and the request to stop."""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import trio
from msgspec.structs import replace

from node.app.settings import Settings
from node.devchain.devchain import DevChain
from node.history.chain_detection import fitted
from node.processor.processor import REAPPLY_MILLISECONDS_MAX
from node.runtime.clock import ChainClock, TimeLimit
from node.runtime.errors import NodeError, StateError, Status
from node.snapshots.base import new_chain
from node.specs.builder import with_accounts, with_witnesses
from node.storage.datafolder import as_marked, read_chain
from node.storage.disk import Disk
from rpc.fork import Fork
from rpc.jsonrpc.scheduler import ReadGate
from state.chain.debug import GENERATED_TIME_MAX
from state.chain.head_change import HeadChange
from state.chain.invariants import InvariantBroken, validate_invariants
from state.protocol.keys.keys import secret_from_wif
from state.protocol.spec import ChainSpec
from state.protocol.values.integers import WORD32

BREACH_ADVICE = "Please report this with the blocks, which --data stores (coind replay DIR/block_log --check-invariants 1 shows it)"


class NodeContext:
    """A chain at its start with its plugins, and the objects that all parts of the node share.

    Setting `stop` shuts the node down gracefully. `fail` does the same and stores an error, which is raised after the shutdown. Code inside
    the chain must call `fail` instead of raising: an exception there would look like a refused block to the block's sender.
    """

    def __init__(self, settings: Settings) -> None:
        spec = with_accounts(with_witnesses(settings.spec, settings.witnesses), settings.accounts)
        if settings.data is not None:
            spec = stored_spec(spec, settings.data, settings.disk)
        self.settings = settings = replace(settings, spec=spec)
        require_time(settings)
        self.clock = ChainClock(settings.clock, None if settings.time is None else settings.time * 1000, settings.steady)
        self.time_limit = TimeLimit(REAPPLY_MILLISECONDS_MAX, lambda: int(settings.stopwatch() * 1000))
        self.chain = new_chain(settings.spec, settings.base, settings.plugins, settings.disk, self.time_limit.is_over)
        self.chain.state.journal.read_mode.memory.limit = settings.query_memory
        self.devchain = DevChain(
            self.chain,
            self.clock,
            [secret_from_wif(text) for text in settings.spec.witness_keys],
            mode=settings.blocks,
            leap=settings.leap,
            is_producing=settings.is_producing,
            disk=settings.disk,
        )
        if settings.origin is not None:
            self.devchain.fork = Fork(settings.origin)
        # Closed while a job of the processor is interrupted.
        self.gate = ReadGate()
        self.stop = trio.Event()
        self.is_interrupted = False
        self.failure: NodeError | None = None
        if settings.check_invariants:
            self.chain.on_head_change.append(self._check_invariants)

    def _check_invariants(self, change: HeadChange) -> None:
        """Check the invariants if a check is due, and stop the node if one is violated."""
        if self.failure or all(block.number % self.settings.check_invariants for block in change.applied):
            return
        try:
            validate_invariants(self.chain.state)
        except InvariantBroken as error:
            number = change.applied[-1].number
            self.fail(StateError(f"after block {number} the state doesn't add up: {error}. {BREACH_ADVICE}"))

    def fail(self, error: NodeError) -> None:
        """Shut the node down gracefully and report this error at the end. Later errors are ignored."""
        self.failure = self.failure or error
        self.stop.set()

    def interrupt(self) -> None:
        """Record that the shutdown is not graceful."""
        self.is_interrupted = True

    def ending(self) -> str:
        """Return the reason for the shutdown, or "" while the node isn't stopping."""
        return str(self.failure or "the node is stopping") if self.stop.is_set() else ""

    def require_sound(self) -> None:
        """Raise the error that stopped the node, if there is one."""
        if self.failure is not None:
            raise self.failure

    def status(self) -> Status:
        """Return the exit status of the process. Raises the error that stopped the node."""
        self.require_sound()
        return Status.INTERRUPTED if self.is_interrupted else Status.DONE


def stored_spec(spec: ChainSpec, folder: Path, disk: Disk) -> ChainSpec:
    """Return the variant of the spec that fits the data folder: its accounts are created at genesis, or by the first blocks. If the folder
    can't be read or belongs to another chain, return the spec as it is.
    """
    with suppress(NodeError, OSError):  # opening the folder fails for the same reason, and reports it
        mark = read_chain(disk, folder)
        if mark is None:
            return spec.with_accounts_in_blocks(fitted(spec, folder).genesis.accounts_in_blocks)
        found = as_marked(spec, mark)
        # Only the option gives a chain the id of the public network.
        return found if found.chain_id == spec.chain_id else spec
    return spec


def require_time(settings: Settings) -> None:
    """Raise NodeError if `settings` has a start time outside the range that the chain allows."""
    first, last = settings.spec.constants.COIN_GENESIS_TIME, GENERATED_TIME_MAX
    if settings.time is not None and not first <= settings.time <= last:
        given = date_text(settings.time) if 0 <= settings.time < WORD32 else f"{settings.time} s after 1970"
        what = f"expected a time from {date_text(first)}, the genesis of {settings.spec.name}, to {date_text(last)}"
        raise NodeError(f"--time {given}: {what}")


def date_text(seconds: int) -> str:
    """Format a time in seconds since 1970. The chain itself prints times after 2038 as dates before 1970."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
