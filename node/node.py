"""The node: all tasks that run around one chain, in one nursery, from start to end. It knows no rule.

A node is started by `run`, from genesis or from a data folder; a replay uses its parts (`node.replay`).
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter

import trio
from msgspec import Struct
from msgspec.structs import replace

from node.address import Address
from node.ahead import keep_ahead
from node.banner import Announcer
from node.clock import ChainClock, Clock, Patience, steady_clock, system_clock
from node.descriptors import room_for_connections
from node.driving.driver import Driver
from node.driving.modes import BlockMode, Leap
from node.driving.producer import Producer
from node.ending import first_of, run_to_end, stopped_by_signals
from node.failures import DiskError, FileError, NodeError, StateError, Status
from node.history.apply import TRUST_OWN, BlockRefused, ChainCursor, replay
from node.history.resume import complete, resume
from node.known_chains import known_chains
from node.logs import lines_lost
from node.memory import collect_in_portions, keep_what_is_loaded
from node.processor import REAPPLY_MILLISECONDS_MAX, Processor
from node.progress import Progress
from node.service import new_service
from node.snapshots.folder import LoadedSnapshot, folder_of
from node.snapshots.saver import EVERY, SnapshotSaver
from node.specs import with_accounts, with_witnesses
from node.storage.datafolder import DataFolder
from node.storage.disk import Disk, SystemDisk
from node.storage.syncing import SyncPolicy, in_thread
from node.version import VERSION
from node.watch.counters import Counters
from node.watch.health import Following, Parts, Readers, health, not_following
from node.watch.loop import LoopTurns
from node.watch.metrics import Metrics
from node.watch.room import Room
from rpc.explain.explainer import Explainer
from rpc.log import Log
from rpc.processor import Processor as ServiceProcessor
from rpc.push.hub import Hub
from rpc.service.standing_in import answer_read
from rpc.service.transport.asgi import PageReply, serve
from rpc.service.transport.guests import Guests, bounds_for
from rpc.service.transport.listening import Listener, OpenDoors
from rpc.service.transport.rights import Access, Network
from rpc.service.turns import Gate, Stopwatch
from state.chain.chain import Chain
from state.chain.debug import GENERATED_TIME_MAX
from state.chain.genesis import new_state
from state.chain.invariants import InvariantBroken, validate_invariants
from state.chain.moves import Move
from state.chain.skip import Skip
from state.plugins.registry import enable
from state.protocol.keys.keys import secret_from_wif
from state.protocol.spec import ChainSpec
from state.protocol.transaction import block_number
from state.protocol.values.integers import WORD32

GOODBYE_SECONDS_MAX = 1

DISK_ADVICE = "Every block that was answered for before is in the data folder; put right what is said here, then start the node again"
BREACH_ADVICE = "With --data the blocks are kept; please report it with them (coind replay DIR/block_log --check-invariants 1 shows it)"

Transport = Callable[..., Awaitable[None]]

_log = Log("node")


class Settings(Struct, frozen=True, kw_only=True):
    """The settings that a node is started with."""

    spec: ChainSpec
    plugins: tuple[str, ...]
    http: Address | None = None
    is_http2: bool = False
    has_explorer: bool = True
    origins: tuple[str, ...] | None = None  # whose pages are let in; None: all
    proxies: tuple[Network, ...] = ()  # on other machines, which say for whom they ask
    is_debug_allowed: bool = False  # also on addresses that other machines can reach
    is_producing: bool = False
    follow: str = ""  # the node, or the broker, whose blocks are taken; "" for none
    broadcast_to: str = ""  # where broadcasts go then; "" for the followed node
    is_trusting: bool = False  # whether its blocks are taken unchecked
    blocks: BlockMode = BlockMode()  # when they are made
    time: int | None = None  # the chain's time at the start, in seconds since 1970; None: the clock's
    leap: Leap = "missed"
    witnesses: int = 1  # that the spec's genesis has
    accounts: int | None = None  # funded ones that it has; None: as the spec says
    data: Path | None = None
    snapshot_every: int = EVERY  # blocks; 0: never, at the end neither
    clock: Clock = system_clock
    steady: Clock = steady_clock  # by which leaps of the clock are told from time that passes
    sync: SyncPolicy = SyncPolicy()
    readers: int = 0  # processes more that answer reads
    workers: int = 0  # processes that recover keys ahead where blocks are checked
    check_invariants: int = 0  # check after every so many blocks; 0: never
    stopwatch: Stopwatch = perf_counter  # what limits of work are measured with
    disk: Disk = SystemDisk()
    transport: Transport = serve  # how requests arrive; called like `serve`
    announcer: Announcer = Announcer()  # says that the node answers


class Site:
    """A chain at its genesis with its plugins, and the objects that all parts of the node share.

    Setting `stop` ends the node in order, and `fail` does so with an error, which is kept until then: raising inside of the chain
    would look like a refusal of the block to whoever pushed it.
    """

    def __init__(self, settings: Settings) -> None:
        spec = with_accounts(with_witnesses(settings.spec, settings.witnesses), settings.accounts)
        self.settings = settings = replace(settings, spec=spec)
        require_time(settings)
        self.clock = ChainClock(settings.clock, None if settings.time is None else settings.time * 1000, settings.steady)
        self.patience = Patience(REAPPLY_MILLISECONDS_MAX, lambda: int(settings.stopwatch() * 1000))
        state = new_state(settings.spec, lambda fresh: enable(fresh, settings.plugins))
        self.chain = Chain(state, self.patience.is_over)
        self.driver = Driver(
            self.chain,
            self.clock,
            [secret_from_wif(text) for text in settings.spec.witness_keys],
            mode=settings.blocks,
            leap=settings.leap,
            is_producing=settings.is_producing,
            disk=settings.disk,
        )
        # Shut while a job of the processor is interrupted.
        self.gate = Gate()
        self.stop = trio.Event()
        self.is_interrupted = False
        self.failure: NodeError | None = None
        if settings.check_invariants:
            self.chain.on_moved.append(self._check_invariants)

    def _check_invariants(self, move: Move) -> None:
        """Check the invariants if it is time, and end the node when one is broken."""
        if self.failure or all(block.number % self.settings.check_invariants for block in move.applied):
            return
        try:
            validate_invariants(self.chain.state)
        except InvariantBroken as error:
            number = move.applied[-1].number
            self.fail(StateError(f"after block {number} the state doesn't add up: {error}. {BREACH_ADVICE}"))

    def fail(self, error: NodeError) -> None:
        """End the node in order with an error; the first one counts."""
        self.failure = self.failure or error
        self.stop.set()

    def interrupt(self) -> None:
        """Note that the node doesn't end in order."""
        self.is_interrupted = True

    def ending(self) -> str:
        """Return why the node is about to end; empty as long as it isn't."""
        return str(self.failure or "the node is stopping") if self.stop.is_set() else ""

    def require_sound(self) -> None:
        """Raise the error that has ended the node, if there is one."""
        if self.failure is not None:
            raise self.failure

    def status(self) -> Status:
        """Return the status of the process after the end; raises the error that has ended the node."""
        self.require_sound()
        return Status.INTERRUPTED if self.is_interrupted else Status.DONE


def require_time(settings: Settings) -> None:
    """Raise NodeError for a time of the start that the chain can't have."""
    first, last = settings.spec.constants.COIN_GENESIS_TIME, GENERATED_TIME_MAX
    if settings.time is not None and not first <= settings.time <= last:
        given = date_text(settings.time) if 0 <= settings.time < WORD32 else f"{settings.time} s after 1970"
        what = f"expected a time from {date_text(first)}, the genesis of {settings.spec.name}, to {date_text(last)}"
        raise NodeError(f"--time {given}: {what}")


def date_text(seconds: int) -> str:
    """Return a time as people read it: the chain's texts of times show those after 2038 as dates before 1970."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def run(settings: Settings) -> int:
    """Run a node until a signal stops it."""
    return run_to_end(partial(_run, settings))


# ------------------------------------------------------------------ the start


async def _run(settings: Settings) -> int:
    return await run_site(Site(settings))


async def run_site(site: Site) -> int:
    """Run the node of a site, from loading its data folder to closing it; returns the status of the process."""
    settings, begin = site.settings, site.settings.stopwatch()
    with opened_folder(site) as (folder, saver):
        found = 0 if folder is None else len(folder.log)
        site.driver.edit_log = None if folder is None else folder.edits
        async with stopped_by_signals(site.stop, site.interrupt) as nursery:
            loaded = None if folder is None else await load(site, folder)
            if not site.stop.is_set():
                if saver is not None:
                    saver.follow_moves()
                    nursery.start_soon(saver.run)
                if loaded is not None:
                    nursery.start_soon(complete, loaded, site.gate)
                await serve_chain(site, folder)
        # Saving rewinds the chain to its last irreversible block.
        number, block_id = site.chain.state.props.head_block_number, site.chain.state.props.head_block_id
    status = site.status()
    _log.info("stopped", head_block_number=number, head_block_id=block_id.hex())
    settings.announcer.goodbye(number, number - found, settings.stopwatch() - begin, settings.data)
    return status


@contextmanager
def opened_folder(site: Site) -> Iterator[tuple[DataFolder, SnapshotSaver] | tuple[None, None]]:
    """Open the data folder of a site, if it has one; at an end in order, sync its log and save a snapshot. Failures end the node."""
    settings = site.settings
    if settings.data is None:
        yield None, None
        return
    folder = DataFolder(settings.data, settings.spec, site.chain.state.wire, settings.disk)
    try:
        saver = SnapshotSaver(site.chain, folder_of(settings.data), settings.disk, settings.snapshot_every, gate=site.gate)
        yield folder, saver
        if site.failure is None and not site.is_interrupted:
            # Saving takes a while, in which a second signal ends the process: the blocks come first.
            try:
                folder.log.sync()
            except OSError as error:
                site.fail(DiskError(f"{folder.path}: the last blocks may not survive a loss of power: {error.strerror}. {DISK_ADVICE}"))
            else:
                saver.save_at_stop()
    finally:
        try:
            folder.close()
        except DiskError as error:  # that of the last sync, unless another one has ended the node
            site.fail(DiskError(f"{error}. {DISK_ADVICE}"))


async def load(site: Site, folder: DataFolder) -> LoadedSnapshot | None:
    """Put the chain where the newest good snapshot of the data folder was taken, and apply the blocks after it; returns the snapshot."""
    log = folder.log
    for note in log.notes:
        _log.warning(note, head_block_number=len(log))
    site.chain.settled.keep_in(log.packed, log.__len__)
    loaded = resume(site.chain, folder_of(folder.path), site.settings.disk, log.packed) if folder.is_verified else None
    for block_id, edits in folder.edits.edits().items():
        site.chain.plan_edits(block_id, edits)
    first = 1 if loaded is None else loaded.head.number + 1
    if first > len(log):
        folder.adopt()
        drop_edits(site, folder)
        return loaded
    blocks = log.blocks(first)
    progress = Progress(blocks.size, len(log))
    # A block log that a user has put there has not been checked by a node of ours.
    skip = TRUST_OWN if folder.is_verified else Skip.NOTHING
    try:
        # Without a mark nothing else vouches for the last block's signature.
        signed = () if log.is_marked else (len(log),)
        cursor = ChainCursor(site.chain, blocks, skip=skip, signed=signed, workers=site.settings.workers)
        if not await replay(cursor, progress, stop=site.stop):
            return loaded
    except BlockRefused as error:
        raise FileError(f"{log.path}: {error}; put a good copy in its place, or use another folder") from error
    folder.adopt()
    drop_edits(site, folder)
    _log.info("loaded", blocks=progress.blocks, transactions=progress.transactions, seconds=round(progress.seconds, 3))
    return loaded


def drop_edits(site: Site, folder: DataFolder) -> None:
    """Forget the edits of blocks that the folder doesn't hold: a block that is made anew can be the very same one, without its edits."""
    gone = [block_id for block_id in folder.edits.edits() if not is_held(site, folder, block_id)]
    site.chain.sidecars.forget(gone)
    folder.edits.drop(gone)
    if gone:
        _log.info("edits by hand of blocks that are not on the chain any more are dropped", blocks=len(gone))


def is_held(site: Site, folder: DataFolder, block_id: bytes) -> bool:
    """Return whether the block log of a folder has a block."""
    packed = folder.log.packed(block_number(block_id))
    return packed is not None and site.chain.state.wire.unpack_block(packed)[0].id == block_id


# ------------------------------------------------------------------ the tasks


async def serve_chain(site: Site, folder: DataFolder | None = None) -> None:
    """Answer, produce and write until the node is stopped, or until the block log can't be written.

    The first blocks of a fresh chain come before the service. Everything else begins after it, and not at all when its address is in use.
    """
    settings, log = site.settings, None if folder is None else folder.log
    counters, loop = Counters(site.chain, site.clock), LoopTurns()

    async def timed(work: Callable[[], object]) -> None:
        start = trio.current_time()
        await in_thread(work)
        counters.sync_seconds.add(trio.current_time() - start)

    processor = Processor(
        site.chain,
        log=log,
        clock=site.clock,
        patience=site.patience,
        sync=settings.sync,
        in_thread=timed,
        workers=settings.workers,
        stopwatch=settings.stopwatch,
        gate=site.gate,
    )
    # Before the counters: nobody needs a line of the log for each of the first blocks.
    start_at_present(site, processor, folder)
    counters.attach()
    processor.on_pushed.append(counters.pushed)
    parts = Parts(
        chain=site.chain,
        clock=site.clock,
        counters=counters,
        processor=processor,
        guests=Guests(bounds_for(room_for_connections())),
        ending=site.ending,
        log=log,
        loop=loop,
    )
    processor.before_accepting.append(site.driver.require_lasting)
    processor.on_accepted.append(site.driver.make_instantly)
    if folder is not None:
        attach_edits(site, processor, folder)
        parts.room = Room(folder.path, settings.disk)
    if settings.follow:
        parts.following = new_following(site, processor, folder)
    if settings.is_producing:
        parts.producer = Producer(processor, site.driver, is_stale_allowed=True)
    if settings.readers:
        parts.readers = new_readers(site, processor)
    served = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(loop.run)
        addresses = await open_service(site, parts, nursery, served)
        nursery.start_soon(processor.run)
        nursery.start_soon(end_when_broken, site, processor)
        if parts.room is not None:
            nursery.start_soon(parts.room.watch)
        if parts.producer is not None:
            nursery.start_soon(parts.producer.run)
        if parts.following is not None:
            nursery.start_soon(parts.following.run)
        nursery.start_soon(keep_ahead, site.chain.state, site.gate)
        if parts.readers is not None:
            nursery.start_soon(parts.readers.run)
            await parts.readers.ready()
        settings.announcer.announce(settings.spec, addresses, str(settings.blocks) if settings.is_producing else "")
        head = site.chain.state.props.head_block_number
        _log.info("started", version=VERSION, chain=settings.spec.name, address=", ".join(addresses), head_block_number=head)
        await end_in_order(site, parts, served)
        nursery.cancel_scope.cancel()


async def end_in_order(site: Site, parts: Parts, served: trio.Event) -> None:
    """Wait until the node is stopped; then give open requests a moment to end, those of readers too."""
    await site.stop.wait()
    if parts.readers is not None:
        parts.readers.stop()
    with trio.move_on_after(GOODBYE_SECONDS_MAX):
        await served.wait()
        if parts.readers is not None:
            await parts.readers.stopped()


def attach_edits(site: Site, processor: Processor, folder: DataFolder) -> None:
    """Have edits by hand written as they are made."""
    folder.edits.follow(lambda: bool(processor.failure), partial(processor.fail, what="the file of edits"))
    site.chain.sidecars.on_added.append(folder.edits.append)
    site.chain.sidecars.on_dropped.append(folder.edits.drop)


def start_at_present(site: Site, processor: Processor, folder: DataFolder | None) -> None:
    """Have a fresh chain begin with blocks that clients can use, and the clock go on from the head where that is later."""
    try:
        site.driver.make_first_blocks()
        if folder is not None and not processor.failure:
            folder.log.sync()
    except OSError as error:
        processor.fail(error)
    settings, head_time = site.settings, site.chain.state.head_time
    if settings.time is not None and head_time > settings.time:
        _log.warning("--time is before the head, from which the chain goes on", time=date_text(settings.time), head=date_text(head_time))
    if settings.spec.is_test:
        site.clock.go_on_from(site.chain.state.head_time * 1000)


def new_following(site: Site, processor: Processor, folder: DataFolder | None) -> Following:
    """Return the task that keeps the chain where the followed one is."""
    # Imported here, since other nodes start without it.
    from node.following import starting

    settings = site.settings

    def fail(error: NodeError) -> None:
        """End the node, whose chain isn't the followed one; with the right options it may begin in the same folder."""
        site.fail(error)
        if folder is not None:
            with suppress(OSError):
                folder.disown()

    return starting.new_following(
        settings.follow,
        site.chain,
        processor,
        begin_anew=site.driver.reset,
        failed=fail,
        is_trusting=settings.is_trusting,
        clock=site.clock,
        workers=settings.workers,
    )


def new_readers(site: Site, processor: Processor) -> Readers:
    """Return the processes that answer reads beside this one."""
    # Imported here, since other nodes start without them.
    from node.readers.owner import Readers as Owned
    from node.readers.publishing import Publisher

    settings = site.settings
    # What a reader can't be given, or has no use for.
    passed = replace(settings, announcer=Announcer(), disk=SystemDisk())
    return Owned(settings.readers, Publisher(site.chain, site.driver), processor, passed)


def for_clients(site: Site, parts: Parts) -> ServiceProcessor:
    """Return the processor as methods see it."""
    if parts.following is None:
        return parts.processor
    from node.following.starting import new_passing

    following = parts.following
    return new_passing(following.url, following.reached, parts.processor, site.chain.state.wire, site.settings.broadcast_to)


async def open_service(site: Site, parts: Parts, nursery: trio.Nursery, served: trio.Event) -> list[str]:
    """Start to answer requests; returns the addresses. `served` is set when the last request has been answered after a stop."""
    settings = site.settings
    assert settings.http is not None
    where = settings.http
    access = Access(where.host, settings.origins, settings.is_debug_allowed, settings.has_explorer, where.hosts, settings.proxies)
    push = Hub(site.chain, site.clock, is_stale=lambda: bool(not_following(parts)))
    explainer = Explainer(site.chain, lambda: site.clock() / 1000, known_chains)
    explainer.on_refused.append(push.refused)
    service = new_service(
        site.chain,
        for_clients(site, parts),
        site.driver,
        settings.plugins,
        explainer=explainer,
        withheld=access.withheld,
        observe=parts.counters.observe,
        stopwatch=settings.stopwatch,
        foresee=parts.processor.foresee if settings.workers and parts.following is None else None,
        gate=site.gate,
        allowances=parts.processor.allowances,
    )
    # On a simulated disk there are no other processes.
    if isinstance(settings.disk, SystemDisk):
        parts.processor.long_jobs.answer_read = partial(answer_read, service)
    pages: dict[str, Callable[[], PageReply]] = {"/health": partial(health, parts), "/metrics": Metrics(parts, lines_lost)}
    doors: OpenDoors = partial(Listener, hosts=where.hosts)
    if parts.readers is not None:
        parts.readers.serve(service, pages)
        push.on_refusal = parts.readers.refuse
        doors = partial(Listener, hosts=where.hosts, hand_on=parts.readers.hand_on)
    # Blocks that were loaded, the methods and their compiled functions stay.
    keep_what_is_loaded()
    collect_in_portions()

    async def answer(*, task_status: trio.TaskStatus[list[str]]) -> None:
        await settings.transport(
            service,
            where.host,
            where.port,
            pages=pages,
            push=push,
            shutdown=site.stop.wait,
            access=access,
            is_http2=settings.is_http2,
            guests=parts.guests,
            doors=doors,
            task_status=task_status,
        )
        served.set()

    try:
        addresses: list[str] = await nursery.start(answer)
    except* OSError as errors:
        reason = first_of(errors).strerror
        raise NodeError(f"can't listen on {where.host}:{where.port}: {reason}; choose another address") from None
    return addresses


async def end_when_broken(site: Site, processor: Processor) -> None:
    """End the node when its block log can't be written any more."""
    await processor.broken.wait()
    site.fail(DiskError(f"{processor.failure}. {DISK_ADVICE}"))
