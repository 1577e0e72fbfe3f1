"""`coind run` and `coind replay`: their options, with the checks of each, and the settings of the node that follow from them.

Options that both have are declared once, in `Common`.
"""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from node.app.banner import Announcer
from node.app.node import run
from node.app.settings import Settings
from node.cli.parameters import Config, Flag, Natural, Repeated, data_folder
from node.devchain.block_modes import BlockMode, Leap, block_mode
from node.key_recovery.pool import default_workers
from node.runtime.address import DEFAULT_HOST, DEFAULT_PORT, PORT_MAX, Address, read_address
from node.runtime.errors import NodeError
from node.runtime.logs import Level, configure_logs
from node.snapshots.saver import EVERY
from node.specs.builder import ACCOUNTS_MAX, DEFAULT_CHAIN, SpecError, load_spec
from node.specs.plugins import chosen_plugins
from node.storage.sync_policy import sync_policy
from rpc.http.access import Network, read_networks, read_origins
from state.chain.skip import TRUSTED, Skip
from state.protocol.constants import COIN_MAX_WITNESSES
from state.protocol.spec import ChainSpec

DEFAULT_HTTP = f"{DEFAULT_HOST}:{DEFAULT_PORT}"
WORKERS_MAX = 64
READERS_MAX = 64
TIME_DIGITS_MAX = 20

# In the order in which the help shows them.
GROUP_NAMES = ("Chain", "Blocks and time", "Following", "Data", "Access", "Output", "Checks")
THE_CHAIN, BLOCKS, FOLLOWING, DATA, ACCESS, OUTPUT, CHECKS = map(Group.create_ordered, GROUP_NAMES)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Common:
    """The options that `run` and `replay` share."""

    chain: Annotated[
        str | None,
        Parameter(
            help=f"A chain spec: a name, or a TOML file; by default {DEFAULT_CHAIN}, of a replay that of its blocks.", group=THE_CHAIN
        ),
    ] = None
    config: Annotated[Config, Parameter(group=THE_CHAIN)] = None
    cors: Annotated[
        tuple[str, ...],
        Repeated,
        Parameter(help="Let in pages of this origin only, as http://localhost:3000; off: no pages; can be repeated.", group=ACCESS),
    ] = ()
    proxy: Annotated[
        tuple[str, ...],
        Repeated,
        Parameter(
            help="Believe the X-Forwarded-For of this address, or network, as of proxies on this machine; can be repeated.", group=ACCESS
        ),
    ] = ()
    no_explorer: Annotated[bool, Flag, Parameter(help="Show no pages to browsers.", group=ACCESS)] = False
    http2: Annotated[bool, Flag, Parameter(help="Speak HTTP/2 as well, with clients that begin with it.", group=ACCESS)] = False
    allow_debug: Annotated[
        bool,
        Flag,
        Parameter(help="Serve the debug methods on an address that other machines can reach, and to everyone there.", group=ACCESS),
    ] = False
    ready_file: Annotated[
        Path | None,
        Parameter(help="Write a JSON file once requests are answered: address, chain, chain_id, pid. Removed at the end.", group=OUTPUT),
    ] = None
    show_keys: Annotated[bool, Flag, Parameter(help="Show the keys of all roles of the funded accounts.", group=OUTPUT)] = False
    quiet: Annotated[bool, Flag, Parameter(help="Print no banner, and only warnings and errors.", group=OUTPUT)] = False
    verbose: Annotated[bool, Flag, Parameter(help="Log everything: on a terminal, empty blocks and all values too.", group=OUTPUT)] = False
    log_json: Annotated[bool, Flag, Parameter(help="Log JSON lines on a terminal, too.", group=OUTPUT)] = False
    log_level: Annotated[
        Level | None, Parameter(help="The lines of the log that are written: these and more serious ones; by default info.", group=OUTPUT)
    ] = None
    signature_workers: Annotated[
        int | None,
        Parameter(
            name=("--signature-workers", "--workers"),
            help=(
                "Processes that recover keys ahead of the chain, once there are many to recover; by default one for each further core,"
                " up to 3; 0: none."
            ),
            group=CHECKS,
            validator=Number(gte=0, lte=WORKERS_MAX),
        ),
    ] = None
    check_invariants: Annotated[
        int, Natural, Parameter(help="Check every N blocks whether everything in the state adds up; 0: never.", group=CHECKS)
    ] = 0

    def begin(self) -> None:
        """Set up the log. Raises NodeError when two options contradict each other."""
        if self.quiet and self.verbose:
            raise NodeError("--quiet and --verbose contradict each other; give one of them")
        if self.log_level is not None and (self.quiet or self.verbose):
            raise NodeError(f"--log-level and --{'quiet' if self.quiet else 'verbose'} set the same; give one of them")
        level: Level = self.log_level or ("warning" if self.quiet else "debug" if self.verbose else "info")
        configure_logs(level, is_json=True if self.log_json else None)

    def settings(self, spec: ChainSpec, http: Address | None, **own: Any) -> Settings:
        """Return the settings of these options and of a command's `own`."""
        return Settings(
            spec=spec,
            http=http,
            workers=default_workers() if self.signature_workers is None else self.signature_workers,
            check_invariants=self.check_invariants,
            origins=origins(self.cors),
            proxies=proxies(self.proxy),
            is_http2=self.http2,
            has_explorer=not self.no_explorer,
            is_debug_allowed=self.allow_debug,
            announcer=Announcer(
                ready_file=self.ready_file, shows_keys=self.show_keys, is_quiet=self.quiet, command=shlex.join(["bin/coind", *sys.argv[1:]])
            ),
            **own,
        )


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Run(Common):
    """The options of `run`."""

    witnesses: Annotated[
        int,
        Parameter(help="Witnesses of the chain: 21 make real rounds.", group=THE_CHAIN, validator=Number(gte=1, lte=COIN_MAX_WITNESSES)),
    ] = 1
    accounts: Annotated[
        int | None,
        Parameter(
            help="Accounts with funds, whose keys are known; by default the spec's.",
            group=THE_CHAIN,
            validator=Number(gte=1, lte=ACCOUNTS_MAX),
        ),
    ] = None
    enable: Annotated[tuple[str, ...], Repeated, Parameter(help="A plugin to run in addition; can be repeated.", group=THE_CHAIN)] = ()
    disable: Annotated[tuple[str, ...], Repeated, Parameter(help="A plugin not to run; can be repeated.", group=THE_CHAIN)] = ()
    produce: Annotated[bool | None, Parameter(help="Whether to produce blocks; by default with the spec's keys.", group=BLOCKS)] = None
    blocks: Annotated[
        str,
        Parameter(
            help="When: interval[:SECONDS], by the clock; instant, one for each transaction; manual, when asked; mixed:SECONDS.",
            group=BLOCKS,
        ),
    ] = "interval"
    time: Annotated[
        str | None, Parameter(help="The chain's time at the start, as 2026-03-01T12:00:00 (UTC) or in seconds since 1970.", group=BLOCKS)
    ] = None
    leap: Annotated[Leap, Parameter(help="What a leap of the time makes of the slots in between.", group=BLOCKS)] = "missed"
    follow: Annotated[
        str | None,
        Parameter(help="Take blocks from another node, http://HOST:PORT, or a broker, nats://HOST, and serve them.", group=FOLLOWING),
    ] = None
    broadcast_to: Annotated[
        str | None,
        Parameter(help="The node to which broadcasts are passed on, http://HOST:PORT; by default the followed one.", group=FOLLOWING),
    ] = None
    trust: Annotated[bool, Flag, Parameter(help="Take the followed node's blocks without checking signatures.", group=FOLLOWING)] = False
    data: Annotated[str | None, Parameter(help="Keep the blocks in this folder; a restart goes on from them.", group=DATA)] = None
    sync: Annotated[str, Parameter(help="When blocks must survive a loss of power: block, never, or a number of SECONDS.", group=DATA)] = (
        "block"
    )
    snapshot_every: Annotated[
        int, Natural, Parameter(help="Save a snapshot in the folder after every N blocks and at the end; 0: never.", group=DATA)
    ] = EVERY
    http: Annotated[str, Parameter(help="Where to answer: a port, a host, or HOST:PORT.", group=ACCESS)] = DEFAULT_HTTP
    readers: Annotated[
        int,
        Parameter(
            help="Processes that answer reads beside the one that owns the chain, each with a chain of its own.",
            group=ACCESS,
            validator=Number(gte=0, lte=READERS_MAX),
        ),
    ] = 0
    port: Annotated[
        int | None,
        Parameter(
            help="The port alone, in place of that of --http; 0: any that is free.",
            group=ACCESS,
            validator=Number(gte=0, lte=PORT_MAX),
        ),
    ] = None

    def address(self) -> Address:
        """Return where to answer. Raises NodeError."""
        return read_address(self.http, "--http", self.port)

    def mode(self) -> BlockMode:
        """Return when blocks are made. Raises NodeError."""
        with named("--blocks"):
            return block_mode(self.blocks)

    def plugins(self, spec: ChainSpec) -> tuple[str, ...]:
        """Return the plugins that run. Raises NodeError."""
        for word, names in (("--enable", self.enable), ("--disable", self.disable)):
            with named(word):
                chosen_plugins(spec, names)
        with named("--enable, --disable"):
            return chosen_plugins(spec, self.enable, self.disable)


@contextmanager
def named(option: str) -> Iterator[None]:
    """Name the option whose value an error is about, in front of its text."""
    try:
        yield
    except NodeError as error:
        raise NodeError(f"{option}: {error}") from None


def spec_of(common: Common) -> ChainSpec:
    """Return the spec of a chain. Raises NodeError, which names the option where the chain itself is wrong, and else the file."""
    try:
        return load_spec(common.chain or DEFAULT_CHAIN)
    except SpecError as error:
        raise error if error.key else NodeError(f"--chain: {error}") from None


def run_command(*, options: Run = Run()) -> int:
    """Start a node."""
    options.begin()
    spec = spec_of(options)
    if options.produce and not spec.witness_keys:
        raise NodeError(f"the chain {spec.name} has no witness_keys to produce blocks with")
    settings = options.settings(
        spec,
        options.address(),
        plugins=options.plugins(spec),
        is_producing=options.follow is None and (bool(spec.witness_keys) if options.produce is None else options.produce),
        **following(options),
        blocks=options.mode(),
        time=None if options.time is None else start_time(options.time),
        leap=options.leap,
        witnesses=options.witnesses,
        accounts=options.accounts,
        data=None if options.data is None else data_folder(options.data),
        sync=sync_policy(options.sync),
        snapshot_every=options.snapshot_every,
        readers=options.readers,
    )
    with settings.announcer:
        return run(settings)


def following(options: Run) -> dict[str, Any]:
    """Return the settings of a node that follows another one. Raises NodeError."""
    if options.follow is None:
        given = "--broadcast-to" if options.broadcast_to is not None else "--trust" if options.trust else ""
        if given:
            raise NodeError(f"{given} is for a node that follows another one; name that with --follow")
        return {}
    if options.produce:
        raise NodeError("--produce and --follow contradict each other: a node that follows another one takes its blocks, and makes none")
    if options.time is not None:
        raise NodeError("--time and --follow contradict each other: the followed chain has its own time")
    # Imported here, since other nodes start without it.
    from node.client.urls import followed_url, node_url

    return {
        "follow": read("--follow", followed_url, options.follow),
        "broadcast_to": "" if options.broadcast_to is None else read("--broadcast-to", node_url, options.broadcast_to),
        "is_trusting": options.trust,
    }


def read(option: str, reader: Callable[[str], str], text: str) -> str:
    """Return what a reader makes of an option's text. Raises NodeError, which names the option."""
    with named(option):
        return reader(text)


def replay_command(
    file: Annotated[
        Path,
        Parameter(
            help="A block log, or JSON lines of blocks; plain, gzip or zstd; a folder of such files; -: standard input.",
            allow_leading_hyphen=True,
        ),
    ],
    /,
    *,
    until: Annotated[str | None, Parameter(help="Stop after block N, or N:T inside of it, after T transactions.", group=BLOCKS)] = None,
    from_: Annotated[Path | None, Parameter(help="Begin at this snapshot, with the blocks after it.", group=BLOCKS)] = None,
    verify: Annotated[Literal["all", "none"], Parameter(help="Check everything in the blocks, or trust them.", group=BLOCKS)] = "all",
    checkpoint: Annotated[
        tuple[str, ...],
        Repeated,
        Parameter(help="N:ID: refuse a block N with another id; leaves out no checks; can be repeated.", group=BLOCKS),
    ] = (),
    data: Annotated[str | None, Parameter(help="Keep the blocks in this folder, and go on from those in it.", group=DATA)] = None,
    snapshot_every: Annotated[
        int, Natural, Parameter(help="With --data or --snapshots, save a snapshot after every N blocks; 0: never.", group=DATA)
    ] = EVERY,
    snapshots: Annotated[
        Path | None, Parameter(help="Save all snapshots in this folder, or take the ranges of --parallel from it.", group=DATA)
    ] = None,
    parallel: Annotated[
        str | None,
        Parameter(
            help="Check the blocks in ranges between the snapshots, so many at a time (N), or on a cluster (ray://HOST:PORT, ray:N).",
            group=CHECKS,
        ),
    ] = None,
    serve: Annotated[str | None, Parameter(help="Then answer from there: a port, a host, or HOST:PORT.", group=ACCESS)] = None,
    common: Common = Common(),
) -> int:
    """Apply a file of blocks."""
    from node.cli.chain_of_blocks import spec_of_blocks
    from node.replay.options import read_checkpoints, read_point, require_together
    from node.replay.parallel.command import verify_in_parallel
    from node.replay.run import Replay, replay_file

    common.begin()
    spec = spec_of_blocks(file, common.chain)
    alone = {"--data": data, "--from": from_, "--until": until, "--checkpoint": checkpoint, "--serve": serve}
    require_together(alone, parallel, snapshots)
    if parallel is not None:
        assert snapshots is not None
        return verify_in_parallel(file, common.chain or spec.name, snapshots, parallel, is_trusted=verify == "none")
    settings = common.settings(
        spec,
        None if serve is None else read_address(serve, "--serve"),
        plugins=chosen_plugins(spec),
        data=None if data is None else data_folder(data),
        snapshot_every=snapshot_every,
    )
    task = Replay(
        source=file,
        until=None if until is None else read_point(until),
        skip=TRUSTED if verify == "none" else Skip.NOTHING,
        start=from_,
        checkpoints=read_checkpoints(checkpoint),
        snapshots=snapshots,
    )
    with settings.announcer:
        return replay_file(settings, task)


def origins(texts: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the origins whose pages are let in; None for all."""
    try:
        return read_origins(texts)
    except ValueError as error:
        raise NodeError(f"--cors {error}") from None


def proxies(texts: tuple[str, ...]) -> tuple[Network, ...]:
    """Return the networks of proxies on other machines."""
    try:
        return read_networks(texts)
    except ValueError as error:
        raise NodeError(f"--proxy {error}") from None


def start_time(text: str) -> int:
    """Return the seconds since 1970 of a `--time`. Raises NodeError; whether the chain has room for it is asked at the start."""
    try:
        if text.isascii() and text.isdigit():
            return int(text[:TIME_DIGITS_MAX])
        moment = datetime.fromisoformat(text)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except ValueError:
        raise NodeError(f"--time {text!r} is no time; expected one as 2026-03-01T12:00:00 (UTC), or seconds since 1970") from None
