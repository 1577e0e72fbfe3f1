"""Settings of a node."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter
from typing import Literal

from msgspec import Struct

from node.app.banner import Announcer
from node.devchain.block_modes import BlockMode, Leap
from node.runtime.address import Address
from node.runtime.clock import Clock, steady_clock, system_clock
from node.snapshots.saver import EVERY
from node.storage.disk import Disk, SystemDisk
from node.storage.sync_policy import SyncPolicy
from rpc.fork import ForkOrigin
from rpc.http.access import Network
from rpc.http.server import serve
from rpc.jsonrpc.scheduler import Stopwatch
from state.protocol.spec import ChainSpec

Transport = Callable[..., Awaitable[None]]


class Settings(Struct, frozen=True, kw_only=True):
    """Settings of a node, fixed at its start."""

    spec: ChainSpec
    origin: ForkOrigin | None = None  # of a fork
    source: str = ""  # URL of the source of a fork
    is_fetching: bool = False  # fetch accounts and posts from the source when they are named
    cache: Path | None = None  # the file with the fetched rows
    requests_per_second: float | None = None  # to the source; None: no limit
    history: Literal["source", "local"] = "local"  # calls about blocks before the fork: asks the source, or refuses them
    is_mirroring: bool = False  # apply the source's later transactions
    base: Path | None = None  # the fork file with which the chain begins (`spec.base`); None: at genesis
    plugins: tuple[str, ...]
    http: Address | None = None
    is_http2: bool = False
    has_explorer: bool = True
    origins: tuple[str, ...] | None = None  # allowed origins of web pages; None: all
    proxies: tuple[Network, ...] = ()  # trusted proxies on other machines, which report the client's address
    is_debug_allowed: bool = False  # even on addresses that other machines can reach
    is_producing: bool = False
    follow: str = ""  # URL of the followed node or broker; "": none
    broadcast_to: str = ""  # where a replica forwards broadcasts; "": to the followed node
    is_trusting: bool = False  # apply the followed node's blocks unchecked
    blocks: BlockMode = BlockMode()
    time: int | None = None  # the chain's time at the start, in seconds since 1970; None: the clock's
    leap: Leap = "missed"
    witnesses: int | None = None  # at genesis (None: those of the spec)
    accounts: int | None = None  # funded accounts at genesis; None: those of the spec
    data: Path | None = None
    snapshot_every: int = EVERY  # blocks; 0: never, not even at shutdown
    clock: Clock = system_clock
    steady: Clock = steady_clock  # monotonic; detects jumps of `clock`
    sync: SyncPolicy = SyncPolicy()
    readers: int = 0  # additional processes that answer reads
    workers: int = 0  # processes that recover the keys of blocks in advance
    query_memory: int | None = None  # bytes of what only reads need; None: no limit
    check_invariants: int = 0  # interval in blocks; 0: never
    stopwatch: Stopwatch = perf_counter  # measures time limits
    disk: Disk = SystemDisk()
    transport: Transport = serve  # called like `serve`
    announcer: Announcer = Announcer()
