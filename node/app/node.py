"""The node: all tasks of one chain, in one nursery, from start to shutdown.

`run` starts a node from genesis or from a data folder. A replay (`node.replay`) reuses parts of this module.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import trio
from msgspec.structs import replace

from node.app.banner import Announcer
from node.app.context import NodeContext, date_text
from node.app.fork_summary import fork_summary
from node.app.service import chains_to_name, new_service
from node.app.settings import Settings
from node.devchain.producer import Producer
from node.history.apply import TRUST_OWN, BlockRefused, ChainCursor, replay
from node.history.resume import complete, resume
from node.monitoring.counters import Counters
from node.monitoring.disk_space import DiskSpace
from node.monitoring.event_loop import EventLoopMonitor
from node.monitoring.health import Parts, health, not_following
from node.monitoring.metrics import Metrics
from node.monitoring.node_history import NodeHistory
from node.monitoring.warm_up import warm_periodically
from node.processor.processor import Processor
from node.runtime.errors import DiskError, FileError, NodeError
from node.runtime.file_limit import room_for_connections
from node.runtime.logs import lines_lost
from node.runtime.memory import collect_in_portions, freeze_loaded_objects
from node.runtime.progress import Progress
from node.runtime.shutdown import first_error, run_to_end, stopped_by_signals
from node.snapshots.folder import LoadedSnapshot, folder_of
from node.snapshots.saver import SnapshotSaver
from node.storage.datafolder import DataFolder, fork_in
from node.storage.disk import SystemDisk
from node.storage.sync_policy import in_thread
from node.version import VERSION
from rpc.declare.demand import CallGuard
from rpc.explain.explainer import Explainer
from rpc.http.access import AccessPolicy
from rpc.http.connection_limits import ConnectionLimiter, limits_for
from rpc.http.listener import Listener, OpenAcceptor
from rpc.http.pages import PageReply
from rpc.jsonrpc.read_only import answer_read
from rpc.log import Log
from rpc.processor import Processor as ServiceProcessor
from rpc.push.hub import Hub
from state.chain.skip import Skip
from state.protocol.errors import ChainError
from state.protocol.transaction import block_number

if TYPE_CHECKING:
    from node.app.fork_parts import ForkParts
    from node.fork.demand import Edit
    from node.replicas.follow.replica_task import ReplicaTask
    from node.replicas.readers.pool import ReaderPool

GOODBYE_SECONDS_MAX = 1

DISK_ADVICE = "Every block acknowledged before this is in the data folder. Fix the cause, then start the node again."
DAMAGE_ADVICE = "Restore a good copy of the data folder, then start the node again."

_log = Log("node")


def run(settings: Settings) -> int:
    """Run a node until a signal stops it."""
    return run_to_end(partial(_run, settings))


# ------------------------------------------------------------------ the start


async def _run(settings: Settings) -> int:
    return await run_context(NodeContext(settings))


async def run_context(context: NodeContext) -> int:
    """Run a node, from loading its data folder to closing it. Return the exit status of the process."""
    settings, begin = context.settings, context.settings.stopwatch()
    with opened_folder(context) as (folder, saver):
        found = context.chain.base if folder is None else folder.log.head.number
        context.devchain.edit_log = None if folder is None else folder.edits
        async with stopped_by_signals(context.stop, context.interrupt) as nursery:
            loaded = None if folder is None else await load(context, folder)
            if not context.stop.is_set():
                if saver is not None:
                    saver.follow_moves()
                    nursery.start_soon(saver.run)
                if loaded is not None:
                    nursery.start_soon(complete, loaded, context.gate)
                await serve_chain(context, folder)
        # Read here, since saving rewinds the chain to its last irreversible block.
        number, block_id = context.chain.state.props.head_block_number, context.chain.state.props.head_block_id
    status = context.status()
    _log.info("stopped", head_block_number=number, head_block_id=block_id.hex())
    settings.announcer.goodbye(number, number - found, settings.stopwatch() - begin, settings.data)
    return status


@contextmanager
def opened_folder(context: NodeContext) -> Iterator[tuple[DataFolder, SnapshotSaver] | tuple[None, None]]:
    """Open the node's data folder, if it has one. After a graceful shutdown, sync the block log and save a snapshot. A failure stops the
    node.
    """
    settings = context.settings
    if settings.data is None:
        yield None, None
        return
    folder = DataFolder(settings.data, settings.spec, context.chain.state.wire, settings.disk, fork=settings.base)
    try:
        saver = SnapshotSaver(context.chain, folder_of(settings.data), settings.disk, settings.snapshot_every, gate=context.gate)
        yield folder, saver
        if context.failure is None and not context.is_interrupted:
            # A second signal can end the process while it saves, so the blocks come first.
            try:
                folder.log.sync()
            except OSError as error:
                context.fail(DiskError(f"{folder.path}: the last blocks may not survive a loss of power: {error.strerror}. {DISK_ADVICE}"))
            else:
                saver.save_at_stop()
    finally:
        try:
            folder.close()
        except DiskError as error:  # of the last sync, unless an earlier one stopped the node
            context.fail(DiskError(f"{error}. {DISK_ADVICE}"))


async def load(context: NodeContext, folder: DataFolder) -> LoadedSnapshot | None:
    """Load the newest usable snapshot of the data folder and apply the blocks after it. Return the snapshot."""
    log = folder.log
    for note in log.notes:
        _log.warning(note, head_block_number=log.head.number)
    context.chain.irreversible_blocks.attach_log(log.packed, lambda: log.head.number, log.part)
    loaded = resume(context.chain, folder_of(folder.path), context.settings.disk, log.packed) if folder.is_verified else None
    for block_id, edits in folder.edits.edits().items():
        context.chain.plan_edits(block_id, edits)
    first = context.chain.state.props.head_block_number + 1
    if first > log.head.number:
        folder.adopt()
        drop_edits(context, folder)
        return loaded
    blocks = log.blocks(first)
    progress = Progress(blocks.size, log.head.number)
    # A block log that a user placed there has not been checked by a node.
    skip = TRUST_OWN if folder.is_verified else Skip.NOTHING
    try:
        # Without a sync mark, only the signature proves that the last block is intact.
        signed = () if log.is_marked else (log.head.number,)
        cursor = ChainCursor(context.chain, blocks, skip_flags=skip, signed=signed, workers=context.settings.workers)
        if not await replay(cursor, progress, stop=context.stop):
            return loaded
    except BlockRefused as error:
        raise FileError(f"{log.path}: {error}. Restore a good copy, or use another folder.") from error
    folder.adopt()
    drop_edits(context, folder)
    _log.info("loaded", blocks=progress.blocks, transactions=progress.transactions, seconds=round(progress.seconds, 3))
    return loaded


def drop_edits(context: NodeContext, folder: DataFolder) -> None:
    """Drop the state edits of blocks that the folder doesn't have. Such a block can be produced again with the same id, but without the
    edits.
    """
    gone = [block_id for block_id in folder.edits.edits() if not is_held(context, folder, block_id)]
    context.chain.sidecars.forget(gone)
    folder.edits.drop(gone)
    if gone:
        _log.info("edits of removed blocks dropped", blocks=len(gone))


def is_held(context: NodeContext, folder: DataFolder, block_id: bytes) -> bool:
    """Whether the block log of the folder contains a block."""
    packed = folder.log.packed(block_number(block_id))
    return packed is not None and context.chain.state.wire.unpack_block(packed)[0].id == block_id


# ------------------------------------------------------------------ the tasks


async def serve_chain(context: NodeContext, folder: DataFolder | None = None) -> None:
    """Serve requests, produce blocks and write them until the node is stopped, or until writing the block log fails.

    The first blocks of a new chain are made before the service opens. All other tasks start after the service, and only if it can listen.
    """
    settings, log = context.settings, None if folder is None else folder.log
    counters, loop = Counters(context.chain, context.clock), EventLoopMonitor()

    async def timed(work: Callable[[], object]) -> None:
        start = trio.current_time()
        await in_thread(work)
        counters.sync_seconds.add(trio.current_time() - start)

    processor = Processor(
        context.chain,
        log=log,
        clock=context.clock,
        time_limit=context.time_limit,
        sync=settings.sync,
        in_thread=timed,
        workers=settings.workers,
        stopwatch=settings.stopwatch,
        gate=context.gate,
    )
    # Before the counters, so that the first blocks are not logged.
    start_clock(context, processor, folder)
    counters.attach()
    processor.on_pushed.append(counters.pushed)
    parts = Parts(
        chain=context.chain,
        clock=context.clock,
        counters=counters,
        processor=processor,
        clients=ConnectionLimiter(limits_for(room_for_connections())),
        ending=context.ending,
        log=log,
        loop=loop,
        fork=context.devchain.fork,
    )
    attach_devchain(context, processor, folder)
    if folder is not None:
        parts.disk_space = DiskSpace(folder.path, settings.disk)
    if settings.follow:
        parts.replica = new_following(context, processor, folder)
    if settings.is_producing:
        parts.producer = Producer(processor, context.devchain, is_stale_allowed=True)
    if settings.readers:
        parts.readers = new_readers(context, processor)
    fork = new_fork_parts(context, processor.in_turn)
    served = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(loop.run)
        addresses = await open_service(context, parts, nursery, served, None if fork is None else fork.calls)
        nursery.start_soon(processor.run)
        if fork is not None:
            await nursery.start(fork.run, processor)
        nursery.start_soon(end_on_failure, context, processor)
        if parts.disk_space is not None:
            nursery.start_soon(parts.disk_space.watch)
        if parts.producer is not None:
            nursery.start_soon(parts.producer.run)
        if parts.replica is not None:
            nursery.start_soon(parts.replica.run)
        nursery.start_soon(warm_periodically, context.chain.state, context.gate)
        if parts.readers is not None:
            nursery.start_soon(parts.readers.run)
            await parts.readers.ready()
        announce_start(context, addresses)
        await shut_down(context, parts, served)
        nursery.cancel_scope.cancel()


def announce_start(context: NodeContext, addresses: list[str]) -> None:
    """Announce that the node serves at these addresses, by the banner, the ready file and the log."""
    settings, chain = context.settings, context.chain
    # The folder keeps the file of a live source, which is temporary.
    file = None if settings.data is None else fork_in(settings.data, settings.disk)
    fork = None if settings.origin is None else fork_summary(settings.origin, file or settings.base, chain.state)
    settings.announcer.announce(settings.spec, addresses, str(settings.blocks) if settings.is_producing else "", fork=fork)
    head = chain.state.props.head_block_number
    _log.info("started", version=VERSION, chain=settings.spec.name, address=", ".join(addresses), head_block_number=head)


def attach_devchain(context: NodeContext, processor: Processor, folder: DataFolder | None) -> None:
    """Let the dev chain make blocks for accepted transactions, and store its edits."""
    processor.before_accepting.append(context.devchain.require_lasting)
    processor.on_accepted.append(context.devchain.automine)
    if folder is not None:
        attach_edits(context, processor, folder)


async def shut_down(context: NodeContext, parts: Parts, served: trio.Event) -> None:
    """Wait until the node is stopped, then at most GOODBYE_SECONDS_MAX for open requests, including those in reader processes."""
    await context.stop.wait()
    if parts.readers is not None:
        parts.readers.stop()
    with trio.move_on_after(GOODBYE_SECONDS_MAX):
        await served.wait()
        if parts.readers is not None:
            await parts.readers.stopped()


def attach_edits(context: NodeContext, processor: Processor, folder: DataFolder) -> None:
    """Write each state edit to the folder when it is made."""
    folder.edits.follow(lambda: bool(processor.failure), partial(processor.fail, what="the file of edits"))
    context.chain.sidecars.on_added.append(folder.edits.append)
    context.chain.sidecars.on_dropped.append(folder.edits.drop)


def start_clock(context: NodeContext, processor: Processor, folder: DataFolder | None) -> None:
    """Make the first blocks of a new chain. If the head of a test chain is ahead of the clock, advance the clock to the head's time.

    Raises NodeError if the chain's spec doesn't allow these blocks.
    """
    spec = context.settings.spec
    try:
        context.devchain.make_first_blocks()
        if folder is not None and not processor.failure:
            folder.log.sync()
    except ChainError as error:
        advice = f"Check witness_keys, genesis.witness_key, block_limit and the times of {spec.name}, or start with --no-produce"
        raise NodeError(f"the first blocks can't be made: {error.message(spec.spell)}. {advice}") from None
    except OSError as error:
        processor.fail(error)
    settings, head_time = context.settings, context.chain.state.head_time
    if settings.time is not None and head_time > settings.time:
        _log.warning(
            "--time is before the head; the chain continues from the head", time=date_text(settings.time), head=date_text(head_time)
        )
    if settings.spec.is_test:
        context.clock.resume_from(context.chain.state.head_time * 1000)


def new_following(context: NodeContext, processor: Processor, folder: DataFolder | None) -> "ReplicaTask":
    """Return the task that keeps the chain in sync with the followed node."""
    # Imported here, since other nodes don't need it.
    from node.replicas.follow import replica_task

    settings = context.settings

    def fail(error: NodeError) -> None:
        """Stop the node, because its chain isn't the chain of the followed node. The folder can then be used for another chain if it has no
        blocks.
        """
        context.fail(error)
        if folder is not None:
            with suppress(OSError):
                folder.disown()

    return replica_task.new_following(
        settings.follow,
        context.chain,
        processor,
        reset=context.devchain.reset,
        failed=fail,
        is_trusting=settings.is_trusting,
        clock=context.clock,
        workers=settings.workers,
        is_copied=settings.origin is not None and settings.origin.is_complete,
    )


def new_fork_parts(context: NodeContext, edit: "Edit") -> "ForkParts | None":
    """Return the parts of a node whose chain is a fork, or None for other chains. `edit` runs a function that changes the chain."""
    fork = context.devchain.fork
    if fork is None:
        return None
    # Imported here, since other nodes don't need it.
    from node.app.fork_parts import ForkParts as Owned

    return Owned(context.settings, context.chain, fork, edit)


def new_readers(context: NodeContext, processor: Processor) -> "ReaderPool":
    """Return the pool of reader processes."""
    # Imported here, since other nodes don't need it.
    from node.replicas.readers.pool import ReaderPool as Owned
    from node.replicas.readers.publisher import Publisher

    settings = context.settings
    # These can't be sent to a reader, or it doesn't use them.
    passed = replace(settings, announcer=Announcer(), disk=SystemDisk())
    return Owned(settings.readers, Publisher(context.chain, context.devchain, processor.fork), processor, passed)


def service_processor(context: NodeContext, parts: Parts) -> ServiceProcessor:
    """Return the processor for RPC methods. In a replica, that processor forwards broadcasts."""
    if parts.replica is None:
        return parts.processor
    from node.client.urls import BROKER
    from node.replicas.follow.forwarding import ForwardingProcessor

    replica, wire = parts.replica, context.chain.state.wire
    url = context.settings.broadcast_to or ("" if replica.url.startswith(BROKER) else replica.url)
    return ForwardingProcessor(parts.processor, wire, replica.url, url, replica.reached)


async def open_service(
    context: NodeContext, parts: Parts, nursery: trio.Nursery, served: trio.Event, call_guard: CallGuard | None = None
) -> list[str]:
    """Start the service and return its addresses. `served` is set after the node is stopped and the last request has been answered.

    `call_guard` makes the calls of a fork.
    """
    settings = context.settings
    assert settings.http is not None
    http = settings.http
    access = AccessPolicy(http.host, settings.origins, settings.is_debug_allowed, settings.has_explorer, http.hosts, settings.proxies)
    push = Hub(context.chain, context.clock, is_stale=lambda: bool(not_following(parts)))
    explainer = Explainer(context.chain, lambda: context.clock() / 1000, chains_to_name(settings.spec, context.devchain.fork))
    explainer.on_refused.append(push.refused)
    service = new_service(
        context.chain,
        service_processor(context, parts),
        context.devchain,
        settings.plugins,
        explainer=explainer,
        withheld=access.withheld,
        observe=parts.counters.observe,
        stopwatch=settings.stopwatch,
        foresee=parts.processor.prefetch_keys if settings.workers and parts.replica is None else None,
        gate=context.gate,
        allowances=parts.processor.allowances,
        memory=parts.memory,
        call_guard=call_guard,
        changes=lambda: parts.processor.job_count,
    )
    # Tests with a simulated disk start no other processes.
    if isinstance(settings.disk, SystemDisk):
        parts.processor.long_jobs.answer_read = partial(answer_read, service)
    history = NodeHistory(parts)
    nursery.start_soon(history.run)
    pages: dict[str, Callable[[], PageReply]] = {"/health": partial(health, parts), "/metrics": Metrics(parts, lines_lost)}
    pages["/metrics/history"] = history.page
    acceptor: OpenAcceptor = partial(Listener, hosts=http.hosts)
    if parts.readers is not None:
        parts.readers.serve(service, pages)
        push.on_refusal = parts.readers.refuse
        acceptor = partial(Listener, hosts=http.hosts, hand_off=parts.readers.hand_off)
    # Loaded blocks, methods and their compiled functions live as long as the process.
    freeze_loaded_objects()
    collect_in_portions()

    async def answer(*, task_status: trio.TaskStatus[list[str]]) -> None:
        await settings.transport(
            service,
            http.host,
            http.port,
            pages=pages,
            push=push,
            shutdown=context.stop.wait,
            access=access,
            is_http2=settings.is_http2,
            limiter=parts.clients,
            acceptor=acceptor,
            task_status=task_status,
        )
        served.set()

    try:
        addresses: list[str] = await nursery.start(answer)
    except* OSError as errors:
        reason = first_error(errors).strerror
        raise NodeError(f"can't listen on {http.host}:{http.port}: {reason}. Choose another address.") from None
    return addresses


async def end_on_failure(context: NodeContext, processor: Processor) -> None:
    """Stop the node when the block log can't be written, or when a block of it can't be read and another block needs it."""
    await processor.failed.wait()
    if processor.is_damaged:
        context.fail(FileError(f"{processor.failure}. {DAMAGE_ADVICE}"))
    else:
        context.fail(DiskError(f"{processor.failure}. {DISK_ADVICE}"))
