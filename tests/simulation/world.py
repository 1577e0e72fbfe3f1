"""A simulated world: a sequence of nodes on one disk, with clients, a clock and a network, all from one seed, and the checks of the node's
guarantees. `scenes` contains the events.
"""

import gc
import io
import logging
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from hashlib import blake2b
from pathlib import Path
from signal import SIGTERM
from typing import Any, Literal

import trio

from node.app.context import NodeContext
from node.app.node import run_context
from node.app.settings import Settings
from node.history.apply import TRUST_OWN
from node.processor.processor import Processor
from node.runtime.address import Address
from node.runtime.errors import NodeError
from node.runtime.shutdown import first_error
from node.snapshots.base import new_chain, read_base
from node.snapshots.saver import EVERY
from node.specs.builder import load_spec
from node.storage.blocklog import LOG_NAME
from node.storage.datafolder import fork_in
from node.storage.sync_policy import SyncPolicy
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.head_change import HeadChange
from state.protocol.constants import COIN_BLOCK_INTERVAL
from state.protocol.spec import ChainSpec
from state.protocol.transaction import SignedBlock
from state.snapshot.image import parts_of
from state.tables import State
from tests.helpers.based import base_file, put_file
from tests.helpers.log_capture import log_caught
from tests.helpers.nodes import START
from tests.helpers.simulated_disk import SimulatedDisk, Stopped
from tests.simulation.clients import Client
from tests.simulation.clockwork import Clockwork, Signals, dice, run, simulated_threads
from tests.simulation.ledger import Branch, Broken, Counts, Figures, Ledger, demand
from tests.simulation.network import HOST, PORT, Network

SPEC = load_spec("dev")
FOLDER, FORK = Path("/data"), Path("/fork")
START_SECONDS_MAX = 600.0  # until a node answers
STOP_SECONDS_MAX = 60.0
LATE_SECONDS_MAX = 0.5  # of a block after the start of its slot
SLOTS_TO_START = 2
SYNC_SLACK_SECONDS = 1.0
POLICIES = (SyncPolicy(0), SyncPolicy(0), SyncPolicy(0.5), SyncPolicy(10), SyncPolicy(None))
TROUBLE = ("warning", "error", "critical", "exception")
SWITCHED = "switched to another branch"
# Log messages that are allowed while the world delays the node: it can't make a block then.
HELD_UP = (
    "slot missed", "not producing", "the machine's clock was set back; the chain's time goes on", "the machine's clock was corrected"
)  # fmt: skip

End = Literal["killed", "cut", "stopped", "failed", "died", "died in a cut"]


@cache
def fork_file() -> Path:
    """Return a fork file of a chain whose head is one slot before the start of the simulation."""
    folder = Path(tempfile.mkdtemp(prefix="coind-simulation-"))
    return base_file(folder, plugins=SPEC.plugins, time=START - COIN_BLOCK_INTERVAL)


class Life:
    """A run of the node, from its start to its end, with the observations of the simulation in it."""

    def __init__(self, number: int, site: NodeContext, disk: SimulatedDisk, branch: Branch) -> None:
        self.number = number
        self.context = site
        self.disk = disk
        self.branch = branch
        self.scope = trio.CancelScope()
        self.ended = trio.Event()
        self.decided = trio.Event()  # set once the node answers or has ended
        self.status: int | None = None
        self.error: BaseException | None = None
        self.loaded = 0
        self.acknowledged: set[bytes] = set()  # blocks that the node has acknowledged
        self.sync_seconds: float | None = 0
        self.processor: Processor | None = None
        self.ended_at = 0.0
        self.end: End = "stopped"
        self.digest = ""  # of its state without pending transactions, at the last `look`
        self._rewind = site.chain.rewind
        vars(site.chain)["rewind"] = self._looked_at

    def _looked_at(self) -> int:
        """Record the digest of the state now, because the snapshot that follows rewinds the chain. Then rewind it."""
        self.look()
        return self._rewind()

    def look(self) -> None:
        """Record the digest of the state without pending transactions. Afterwards the chain can only be used for snapshots."""
        chain = self.context.chain
        chain.on_head_change.clear()
        chain.clear_pending()
        self.digest = state_digest(chain.state)

    def take_up(self) -> None:
        """Add the blocks up to the snapshot with which the node has started to the record of the main branch."""
        chain = self.context.chain
        for number in range(self.branch.height + 1, chain.started_at + 1):
            block = chain.block_by_number(number)
            demand(block is not None, f"block {number} is missing after a start from a snapshot of block {chain.started_at}")
            assert block is not None
            self.branch.move(HeadChange((), (block,)))

    def move(self, move: HeadChange) -> None:
        """Record a change of the head that occurs while the node loads the blocks of its folder."""
        self.take_up()
        self.branch.move(move)

    def acknowledge(self, trx_id: bytes, number: int) -> None:
        """Record that the node acknowledged a block. Under `--sync block` a power loss must not remove it."""
        found = self.branch.where.get(trx_id)
        demand(found == number or self.branch.switches, f"{trx_id.hex()} is said to be in block {number}, and is in {found}")
        if found is not None:
            self.acknowledged.add(self.branch.block(found).id)

    def promised(self, delay: float) -> int:
        """Return the number of blocks that must survive a power loss at the end of this life, on a disk whose syncs take at most `delay`
        seconds.
        """
        seen = self.branch.seen
        answered = max((place for place, each in enumerate(seen, 1) if each.block.id in self.acknowledged), default=0)
        if self.sync_seconds is None:
            return self.loaded if self.branch.switched_at < 0 else 0
        if self.sync_seconds == 0:
            return answered
        # A block that arrives during a sync is covered by the next one, which waits for its interval and takes as long again.
        long_ago = self.ended_at - 2 * (self.sync_seconds + delay) - SYNC_SLACK_SECONDS
        return sum(each.at <= long_ago for each in seen)

    @property
    def state(self) -> State:
        """The state of the life's chain."""
        return self.context.chain.state


class World:
    """The simulated environment of one node, derived from a seed. Until the time `disturbed_until`, late blocks are accepted, because the
    simulation has delayed the node. With `is_based` the chain begins with a fork file.
    """

    def __init__(self, seed: int, *, is_based: bool = False) -> None:
        self.seed = seed
        self.is_based = is_based
        self.spec = read_base(fork_file()) if is_based else SPEC
        self.draw = dice(seed, "scenes")
        self.clockwork = Clockwork(START)
        self.disk = SimulatedDisk(dice(seed, "disk").getrandbits(64))
        if is_based:
            put_file(self.disk, FORK, fork_file().read_bytes())
        self.delay = 0.0  # duration of thread work, in seconds
        self.network = Network(dice(seed, "network"), self._is_up, self._app_raised)
        self.signals = Signals()
        self.ledger = Ledger()
        self.figures = Figures()
        self.life: Life | None = None
        self.forbidden: set[bytes] = set()  # blocks that must never be on the main branch
        self.rivals: set[bytes] = set()  # valid blocks that the node didn't make
        self.disturbed_until = 0.0
        self.trouble: list[str] = []
        self.is_disk_failing = False
        self._lives = 0
        self._trace = blake2b(digest_size=16)
        self._nursery: trio.Nursery | None = None
        self._checks_every = self.draw.choice((0, 0, 0, 50))
        self._sync = self.draw.choice(POLICIES)
        self._plugins = self.draw.choice((SPEC.plugins, (), (), ()))  # all or none; a block takes half the time without
        self.delay_max = 0.0  # longest sync so far, in seconds
        self._is_rough = False  # the last end was not graceful, so a start may have to repair files
        self._snapshot_every = self.draw.choice((0, EVERY))  # in blocks; in practice only at the end, or never
        self._replayed: Chain | None = None  # a chain that replays the whole log, for nodes that start from snapshots
        self._switches_said: list[tuple[int, str]] = []

    # -------------------------------------------------------------- running

    def run(self, story: Callable[["World"], Any]) -> Figures:
        """Run a story: a function that makes things happen. Start the node before it, and stop the node after it. Return the totals. Raises
        Broken.
        """

        async def main() -> None:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                nursery.start_soon(self._watch_slots)
                await story(self)
                nursery.cancel_scope.cancel()

        with (
            simulated_threads(lambda: self.delay, self.signals),
            log_caught(self._logged, logging.WARNING),
            redirect_stdout(io.StringIO()),
        ):
            try:
                run(self.clockwork, self.seed, main)
            except BaseExceptionGroup as group:
                broken, others = group.split(Broken)
                if broken is None or others is not None:
                    raise
                raise first_error(broken) from None
            finally:
                # A node's start freezes all existing objects for the garbage collector. Without this unfreeze each life would stay in
                # memory.
                gc.unfreeze()
        self.figures.minutes += self.clockwork.mock.current_time() / 60
        self.figures.runs += 1
        self.figures.requests += self.network.requests
        for name in Counts.__struct_fields__:
            setattr(self.figures, name, getattr(self.ledger.counts, name))
        return self.figures

    @property
    def trace(self) -> str:
        """A digest of all events in their order."""
        return self._trace.hexdigest()

    def note(self, *facts: object) -> None:
        """Append an event to the trace."""
        self._trace.update(repr((trio.current_time(), *facts)).encode())

    def client(self, name: str) -> Client:
        """Return a new client with its own random generator."""
        return Client(self.network, self.ledger, dice(self.seed, f"client {name}"), lambda: self._lives, self._acknowledged)

    def _acknowledged(self, trx_id: bytes, number: int) -> None:
        """Record the block that the node reported for a transaction."""
        if self.life is not None:
            self.life.acknowledge(trx_id, number)

    def spawn(self, work: Callable[..., Any], *args: Any) -> None:
        assert self._nursery is not None
        self._nursery.start_soon(work, *args)

    def disturb(self, seconds: float) -> None:
        """Don't report late blocks for the next `seconds`."""
        self.disturbed_until = max(self.disturbed_until, trio.current_time() + seconds)

    # -------------------------------------------------------------- the life of the node

    async def start(self) -> Life:
        """Start a node on the disk. Return once it answers or has ended."""
        assert self.life is None
        self._lives += 1
        self.figures.lives += 1
        settings = Settings(
            spec=self.spec,
            base=self._fork() if self.is_based else None,
            plugins=self._plugins,
            http=Address(HOST, PORT),
            is_producing=True,
            data=FOLDER,
            clock=self.clockwork.milliseconds,
            steady=self.clockwork.steady,
            stopwatch=self.clockwork.stopwatch,
            snapshot_every=self._snapshot_every,
            check_invariants=self._checks_every,
            disk=self.disk,
            sync=self._sync,
            transport=self.network.transport,
        )
        context = NodeContext(settings)
        life = Life(self._lives, context, self.disk, Branch(trio.current_time, self.rivals, self.spec.base))
        life.sync_seconds = self._sync.seconds
        context.chain.on_head_change.append(life.move)
        self.life = life
        self.spawn(self._live, life)
        with trio.move_on_after(START_SECONDS_MAX) as patience:
            await life.decided.wait()
        demand(not patience.cancelled_caught, "the node doesn't start")
        self.disturb(SLOTS_TO_START * COIN_BLOCK_INTERVAL)
        self.note("start", life.number, life.loaded, life.branch.head_id)
        return life

    def _fork(self) -> Path:
        """Return the fork file for a start: that of the data folder once the folder has blocks, as `coind run --data` takes it."""
        log, own = self.disk.nodes.get(FOLDER / LOG_NAME), fork_in(FOLDER, self.disk)
        demand(own is not None or log is None or not log.data, "the folder has blocks and no fork file")
        return own or FORK

    async def _live(self, life: Life) -> None:
        try:
            with life.scope:
                life.status = await run_context(life.context)
        except (OSError, NodeError, Stopped) as error:
            life.error = error
        except BaseExceptionGroup as group:
            ours, others = group.split((OSError, NodeError, Stopped))
            if others is not None or ours is None:
                raise
            life.error = leaf(ours)
        finally:
            life.ended.set()
            life.decided.set()

    def _is_up(self) -> None:
        """Record that the node has loaded its blocks and starts to answer. From now on blocks are recorded after the processor, which
        listens to the chain first, has written them.
        """
        life = self.life
        assert life is not None
        moved = life.context.chain.on_head_change
        life.take_up()
        moved.remove(life.move)
        owners = [getattr(listener, "__self__", None) for listener in moved]
        life.processor = next(owner for owner in owners if isinstance(owner, Processor))
        moved.append(self._moved)
        life.loaded = len(life.branch.seen)
        life.decided.set()

    async def end(self, end: End) -> Life:
        """End the node, or wait until it ends by itself. Leave the disk in the state in which this kind of end leaves it."""
        life = self.life
        assert life is not None
        self._is_rough = end != "stopped"
        if end == "stopped":
            self.signals.send(SIGTERM)
        elif end == "killed" or end == "cut":
            life.ended_at = trio.current_time()
            self.disk = life.disk.kill() if end == "killed" else life.disk.crash()
            life.scope.cancel()
        with trio.move_on_after(STOP_SECONDS_MAX) as patience:
            await life.ended.wait()
        demand(not patience.cancelled_caught, f"the node has not ended {STOP_SECONDS_MAX} s after it was {end}")
        if end == "stopped":
            demand(life.status == 0 and life.error is None, f"the node ends with {life.status}, {life.error!r} when it is stopped")
        if end == "failed":
            demand(isinstance(life.error, NodeError), f"the node ends with {life.status}, {life.error!r} when its disk fails")
        if end in ("stopped", "failed", "died"):
            life.ended_at = trio.current_time()
            is_cut = end == "died" and self.draw.random() < 0.5
            end = "died in a cut" if is_cut else end
            self.disk = life.disk.crash() if is_cut else life.disk.kill()
        life.end = end
        self.life = None
        self._collect(life)
        self.note("end", end, len(life.branch.seen), life.branch.head_id)
        self.figures.count(end)
        return life

    async def restart(self, before: Life) -> None:
        """Start the node again. Compare its state with the state before the end, except for what may be lost at this kind of end."""
        after = await self.start()
        demand(after.error is None, f"the node doesn't start after it was {before.end}: {after.error!r}")
        had, has = [seen.block.id for seen in before.branch.seen], [seen.block.id for seen in after.branch.seen[: after.loaded]]
        common = common_prefix_length(had, has)
        what = f"{before.end}: {len(had)} blocks before, {len(has)} after the restart, of which the first {common} are the same"
        if before.end in ("stopped", "killed"):
            demand(has == had, what)
        elif before.end in ("died", "failed"):
            self._require_whole(had, has, common, what)
        else:
            promised = before.promised(self.delay_max)
            demand(common >= promised or self._is_other_branch(before, has), f"{what}; {promised} were promised")
            demand(len(has) <= len(had) + 1 or has[-1] in self.rivals, what)
        if before.end not in ("died", "died in a cut", "failed"):
            self._compare_digests(before, after, common)
        self._compare_replay(after)

    def _require_whole(self, had: list[bytes], has: list[bytes], common: int, what: str) -> None:
        """Assert that a write interrupted by a kill happened completely or not at all, and that nothing else is missing."""
        if common < len(had):
            demand(has[-1] in self.rivals and len(has) >= len(had), what)
        else:
            demand(len(has) <= len(had) + 1 or has[-1] in self.rivals, what)

    def _is_other_branch(self, before: Life, has: list[bytes]) -> bool:
        """Return whether the head belongs to another branch because of a fork switch that was unfinished or not synced at the end."""
        return bool(has) and (has[-1] in self.rivals or has[-1] in before.branch.popped)

    def _compare_digests(self, before: Life, after: Life, common: int) -> None:
        """Assert that the new run of the node has computed the same state from the log as the run before it, without pending
        transactions.
        """
        chain = before.context.chain
        if not before.digest:
            chain.on_head_change.clear()
            chain.clear_pending()
            props = chain.state.props
            last = self.spec.base.number + common
            if common != after.loaded or chain.irreversible >= last:
                return
            with before.disk.powered():  # the texts of posts are in the block log
                while props.head_block_number > last:
                    chain.pop_block()
                before.look()
        demand(before.digest == state_digest(after.state), f"the state after the restart at block {common} is another")
        self.figures.restarts_compared += 1

    def _compare_replay(self, after: Life) -> None:
        """Assert that a start from a snapshot leads to the same state and plugin data as a replay of all blocks."""
        if after.context.chain.started_at == self.spec.base.number:
            return
        blocks = [each.block for each in after.branch.seen]
        replayed = self._replayed = replayed_chain(self._replayed, blocks, self._plugins, self.spec)
        ours, theirs = image(replayed.state), image(after.state)
        for name in ours:
            demand(ours[name] == theirs[name], f"{name} is another after a start from a snapshot than after a replay")
        self.figures.snapshots_compared += 1

    # -------------------------------------------------------------- checks

    def check(self) -> None:
        """Check the invariants of a running node."""
        demand(not self.trouble, f"the node reports {self.trouble[:3]}")
        if self.life is None or self.life.ended.is_set() or self.life.processor is None or self.life.processor.failure:
            return
        chain, branch = self.life.context.chain, self.life.branch
        props = chain.state.props
        demand(props.head_block_id == branch.head_id, "the head is another than the last block that was seen")
        pending = {trx.id for trx in chain.pending}
        self.ledger.check(branch, pending, props.time, props.last_irreversible_block_num, self.life.number)
        self.note("check", branch.head_id, len(pending), repr(self.ledger.counts))

    def _collect(self, life: Life) -> None:
        """Add the observations of a run to the totals."""
        self.figures.blocks += len(life.branch.seen) - life.loaded
        self.figures.switches += life.branch.switches

    def _moved(self, move: HeadChange) -> None:
        """Check each block that joins the main branch. Blocks that could not be written to the log are left out."""
        life = self.life
        said, self._switches_said = self._switches_said, []
        if life is None or life.processor is None or life.processor.failure:
            return
        expected = [(len(move.popped), move.applied[-1].id.hex())] if move.popped and move.applied else []
        demand(said == expected, f"the log says that the node has switched as {said}, which has switched as {expected}")
        life.branch.move(move)
        now = life.context.clock()
        for block in move.applied:
            demand(block.id not in self.forbidden, f"block {block.number}, which is damaged, is on the main branch")
            self.note("block", block.number, block.id)
            if block.id in self.rivals or trio.current_time() <= self.disturbed_until:
                continue
            late = now / 1000 - block.timestamp
            demand(
                -LATE_SECONDS_MAX <= late <= LATE_SECONDS_MAX, f"block {block.number} is made {late:.3f} s after the beginning of its slot"
            )

    async def _watch_slots(self) -> None:
        """In the middle of each slot, assert that the slot's block exists, unless the simulation has delayed the node."""
        while True:
            past = self._chain_time() % (COIN_BLOCK_INTERVAL * 1000) / 1000
            await trio.sleep((COIN_BLOCK_INTERVAL * 1.5 - past) % COIN_BLOCK_INTERVAL or COIN_BLOCK_INTERVAL)
            if self.life is None or self.network.asgi_app is None or trio.current_time() <= self.disturbed_until:
                continue
            slot = self._chain_time() // 1000 // COIN_BLOCK_INTERVAL * COIN_BLOCK_INTERVAL
            head = self.life.state.head_time
            demand(head >= slot, f"no block was made for {slot - head} s, at {trio.current_time():.1f} s")

    def _chain_time(self) -> int:
        """Return the time of the node's chain in milliseconds since 1970, or the machine's time if no node runs."""
        return self.clockwork.milliseconds() if self.life is None else self.life.context.clock()

    def _logged(self, event: dict[str, Any]) -> None:
        """Keep unexpected warnings and errors of the node's log for later checks."""
        if event["log_level"] not in TROUBLE:
            return
        if event["event"] == SWITCHED:
            # The log entry precedes the call of `_moved`, which compares it with the actual switch.
            self._switches_said.append((event["blocks_undone"], event["head"]))
            return
        if event["event"] in HELD_UP and trio.current_time() <= self.disturbed_until:
            self.note("log", event["event"])
            return
        is_starting = self.life is not None and not self.life.decided.is_set()
        if (self._is_rough and is_starting) or self.is_disk_failing:
            self.note("log", event.get("event"))
        else:
            self.trouble.append(str(event))

    def _app_raised(self, error: Exception) -> None:
        self.trouble.append(f"a request ends in {error!r}")


def leaf(error: BaseException) -> BaseException:
    """Return the first leaf error of nested exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def common_prefix_length(ones: list[bytes], others: list[bytes]) -> int:
    """Return the length of the common prefix of two lists."""
    count = 0
    for one, other in zip(ones, others, strict=False):
        if one != other:
            break
        count += 1
    return count


def replayed_chain(chain: Chain | None, blocks: list[SignedBlock], plugins: tuple[str, ...], spec: ChainSpec) -> Chain:
    """Return a chain that has replayed these blocks. It is `chain`, advanced, unless `chain` is None or on another branch."""
    base = spec.base.number
    if chain is not None:
        while chain.state.props.head_block_number > base and (head := chain.head) is not None:
            if head.number <= base + len(blocks) and blocks[head.number - base - 1].id == head.id:
                break
            if chain.irreversible >= head.number:
                chain = None
                break
            chain.pop_block()
            chain.clear_pending()
    chain = chain or new_chain(spec, fork_file() if base else None, plugins)
    for block in blocks[chain.state.props.head_block_number - base :]:
        chain.push_block(block, TRUST_OWN)
    return chain


def image(state: State) -> dict[str, bytes]:
    """Return the snapshot data of a state and its plugins, keyed by the name of the section."""
    return {name: b"".join(part.dump()) for name, part in parts_of(state).items()}
