"""The node: all tasks that run around one chain, in one nursery, from start to end. It knows no rule.

A node is started by `run` (from genesis, or from a data folder) or by `replay_file`; both return the status of the process.
"""

import signal
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TypeVar

import structlog
import trio
from msgspec import Struct

from node.banner import show_banner
from node.clock import Clock, Patience, system_clock
from node.descriptors import room_for_connections
from node.failures import NodeError
from node.memory import keep_what_is_loaded, tune_collector
from node.processor import REAPPLY_MILLISECONDS_MAX, Processor
from node.producer import Producer
from node.progress import Progress
from node.replay import TRUST_OWN, BlockRefused, replay
from node.service import health, new_service
from node.snapshots.folder import Loaded
from node.snapshots.saving import EVERY, Saver
from node.snapshots.starting import complete, start_from_snapshot
from node.storage.blockfile import BlockFile
from node.storage.blocklog import BlockLog
from node.storage.datafolder import DataFolder
from node.storage.disk import SystemDisk
from node.storage.syncing import SyncPolicy
from rpc.service.transport.asgi import serve
from state.chain.chain import Chain, Move
from state.chain.digest import state_digest
from state.chain.genesis import new_state
from state.chain.invariants import InvariantBroken, validate_invariants
from state.chain.skip import Skip
from state.plugins.registry import enable
from state.protocol.keys.keys import secret_from_wif
from state.protocol.spec import ChainSpec

GOODBYE_SECONDS_MAX = 1
INTERRUPTED = 130

Failure = TypeVar("Failure", bound=Exception)

_log = structlog.get_logger("node")


class Address(Struct, frozen=True):
    """The host and the port to answer at."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only programs on this machine can connect."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


class Settings(Struct, frozen=True, kw_only=True):
    """The settings that a node is started with."""

    spec: ChainSpec
    plugins: tuple[str, ...]
    http: Address | None = None
    is_producing: bool = False
    data: Path | None = None
    snapshot_every: int = EVERY  # blocks; 0: never, at the end neither
    clock: Clock = system_clock
    sync: SyncPolicy = SyncPolicy()
    check_invariants: int = 0  # check after every so many blocks; 0: never


class Site:
    """A chain at its genesis with its plugins, and the objects that all parts of the node share.

    Setting `stop` ends the node in order. A broken invariant is kept until then: raising inside of the chain would look like a
    refusal of the block to whoever pushed it.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.patience = Patience(REAPPLY_MILLISECONDS_MAX)
        state = new_state(settings.spec, lambda fresh: enable(fresh, settings.plugins))
        self.chain = Chain(state, self.patience.is_over)
        self.stop = trio.Event()
        self._breach = ""
        if settings.check_invariants:
            self.chain.on_moved.append(self._check_invariants)

    def _check_invariants(self, move: Move) -> None:
        """Check the invariants if it is time, and stop the node when one is broken."""
        if self._breach or all(block.number % self.settings.check_invariants for block in move.applied):
            return
        try:
            validate_invariants(self.chain.state)
        except InvariantBroken as error:
            self._breach = f"after block {move.applied[-1].number} the state doesn't add up: {error}"
            self.stop.set()

    def require_sound(self) -> None:
        """Raise NodeError if an invariant was broken."""
        if self._breach:
            raise NodeError(self._breach)


def run(settings: Settings) -> int:
    """Run a node until a signal stops it."""
    return start(partial(_run, settings))


def replay_file(settings: Settings, file: Path, *, until: int | None = None, skip: int = Skip.NOTHING) -> int:
    """Apply a file of blocks; then answer requests if the settings have an address."""
    return start(partial(_replay_file, settings, file, until, skip))


def start(main: Callable[[], Awaitable[int]]) -> int:
    """Run an async function in trio. Of a group of errors that are all for the user, the first is raised alone."""
    tune_collector()
    try:
        return trio.run(main)
    except BaseExceptionGroup as group:
        expected, other = group.split(NodeError)
        if other is not None or expected is None:
            raise
        raise first_of(expected) from None


def first_of(group: BaseExceptionGroup[Failure]) -> Failure:
    """Return the first of the errors in a group of errors and groups."""
    error: BaseExceptionGroup[Failure] | Failure = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


# ------------------------------------------------------------------ the two kinds of start


async def _run(settings: Settings) -> int:
    site = Site(settings)
    folder = None if settings.data is None else DataFolder(settings.data, settings.spec, site.chain.state.wire)
    saver = None if settings.data is None else Saver(site.chain, settings.data, SystemDisk(), settings.snapshot_every)
    try:
        async with trio.open_nursery() as nursery:
            await nursery.start(watch_signals, site.stop, nursery.cancel_scope)
            loaded = None if folder is None else await load(site, folder)
            if not site.stop.is_set():
                if saver is not None:
                    nursery.start_soon(saver.run)
                if loaded is not None:
                    nursery.start_soon(complete, loaded)
                await serve_chain(site, None if folder is None else folder.log)
            nursery.cancel_scope.cancel()
        site.require_sound()
        if saver is not None:
            saver.save_at_stop()
    finally:
        if folder is not None:
            folder.close()
    return 0


async def load(site: Site, folder: DataFolder) -> Loaded | None:
    """Take up the newest good snapshot of the data folder, which is returned, and apply the blocks after it."""
    log = folder.log
    for note in log.notes:
        _log.warning(note, head_block_number=len(log))
    loaded = start_from_snapshot(site.chain, folder, SystemDisk()) if folder.is_verified else None
    first = 1 if loaded is None else loaded.head.number + 1
    if first > len(log):
        folder.adopt()
        return loaded
    blocks = log.blocks(first)
    progress = Progress(blocks.size, len(log))
    # A block log that a user has put there has not been checked by a node of ours.
    skip = TRUST_OWN if folder.is_verified else Skip.NOTHING
    try:
        # Without a mark nothing else vouches for the last block's signature.
        if not await replay(site.chain, blocks, progress, skip=skip, signed=0 if log.is_marked else len(log), stop=site.stop):
            return loaded
    except BlockRefused as error:
        raise NodeError(f"{log.path}: {error}; put a good copy in its place, or use another folder") from error
    folder.adopt()
    _log.info("loaded", blocks=progress.blocks, transactions=progress.transactions, seconds=round(progress.seconds, 3))
    return loaded


async def _replay_file(settings: Settings, file: Path, until: int | None, skip: int) -> int:
    site = Site(settings)
    blocks = BlockFile(file, site.chain.state.wire)
    progress = Progress(blocks.size, blocks.last)
    async with trio.open_nursery() as nursery:
        await nursery.start(watch_signals, site.stop, nursery.cancel_scope)
        try:
            is_done = await replay(site.chain, blocks, progress, skip=skip, until=until, stop=site.stop)
        finally:
            show_result(site.chain, progress)
        if is_done and settings.http is not None:
            await serve_chain(site)
        nursery.cancel_scope.cancel()
    site.require_sound()
    return 0 if is_done else INTERRUPTED


def show_result(chain: Chain, progress: Progress) -> None:
    """Print the head that a replay has reached, its speed, and the digest of the state."""
    props = chain.state.props
    done = f"{progress.blocks:,} blocks, {progress.transactions:,} transactions in {progress.seconds:.3f} s"
    sys.stdout.write(f"head block {props.head_block_number} {props.head_block_id.hex()}\n{done}: {progress.rate()}\n")
    sys.stdout.write(f"state digest: {state_digest(chain.state)}\n")
    sys.stdout.flush()


# ------------------------------------------------------------------ the tasks


async def serve_chain(site: Site, log: BlockLog | None = None) -> None:
    """Answer, produce and write until the node is stopped, or until the block log can't be written.

    The service starts first: when its address can't be had, nothing else has begun.
    """
    settings = site.settings
    assert settings.http is not None
    processor = Processor(site.chain, log=log, clock=settings.clock, patience=site.patience, sync=settings.sync)
    service = new_service(site.chain, processor, settings.plugins, settings.clock, is_loopback=settings.http.is_loopback)
    # Blocks that were loaded, the methods and their compiled functions stay.
    keep_what_is_loaded()
    served = trio.Event()

    async def answer(address: Address, *, task_status: trio.TaskStatus[list[str]]) -> None:
        shown = partial(health, site.chain)
        await serve(
            service,
            address.host,
            address.port,
            health=shown,
            shutdown=site.stop.wait,
            connections_max=room_for_connections(),
            task_status=task_status,
        )
        served.set()

    async with trio.open_nursery() as nursery:
        try:
            addresses: list[str] = await nursery.start(answer, settings.http)
        except* OSError as errors:
            where = f"{settings.http.host}:{settings.http.port}"
            raise NodeError(f"can't listen on {where}: {first_of(errors).strerror}") from None
        nursery.start_soon(processor.run)
        nursery.start_soon(end_when_broken, processor)
        if settings.is_producing:
            secrets = [secret_from_wif(text) for text in settings.spec.witness_keys]
            nursery.start_soon(Producer(processor, secrets, is_stale_allowed=True, clock=settings.clock).run)
        show_banner(settings.spec, addresses, is_producing=settings.is_producing)
        await site.stop.wait()
        # Open requests get a moment to end.
        with trio.move_on_after(GOODBYE_SECONDS_MAX):
            await served.wait()
        nursery.cancel_scope.cancel()


async def watch_signals(
    stop: trio.Event, everything: trio.CancelScope, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Set `stop` at the first SIGINT or SIGTERM, and cancel everything at the second."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            if stop.is_set():
                everything.cancel()
            stop.set()


async def end_when_broken(processor: Processor) -> None:
    """End the node when its block log can't be written any more."""
    await processor.broken.wait()
    raise NodeError(processor.failure)
