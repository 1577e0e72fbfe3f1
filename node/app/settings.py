"""The settings that a node is started with."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter

from msgspec import Struct

from node.app.banner import Announcer
from node.devchain.block_modes import BlockMode, Leap
from node.runtime.address import Address
from node.runtime.clock import Clock, steady_clock, system_clock
from node.snapshots.saver import EVERY
from node.storage.disk import Disk, SystemDisk
from node.storage.sync_policy import SyncPolicy
from rpc.http.access import Network
from rpc.http.asgi_app import serve
from rpc.jsonrpc.scheduler import Stopwatch
from state.protocol.spec import ChainSpec

Transport = Callable[..., Awaitable[None]]


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
