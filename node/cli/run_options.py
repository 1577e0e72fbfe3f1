"""`coind run` and `coind replay`: their options, the checks of these options, and the node settings that result from them.

`Common` declares the options that both commands have.
"""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from cyclopts import Group, Parameter

from node.app.banner import Announcer
from node.app.node import run
from node.app.settings import Settings
from node.cli.parameters import Bounds, Config, Flag, Natural, Repeated, data_folder
from node.client.urls import followed_url, is_url, node_url
from node.devchain.block_modes import BlockMode, Leap, block_mode
from node.fork.file import read_fork
from node.key_recovery.pool import default_workers
from node.runtime.address import DEFAULT_HOST, DEFAULT_PORT, PORT_MAX, Address, read_address
from node.runtime.errors import NodeError
from node.runtime.logs import Level, configure_logs
from node.snapshots.saver import EVERY
from node.specs.builder import ACCOUNTS_MAX, DEFAULT_CHAIN, SpecError, load_spec, with_main_chain_id
from node.specs.plugins import chosen_plugins
from node.storage.datafolder import FORK_NAME, fork_in
from node.storage.sync_policy import sync_policy
from rpc.http.access import read_networks, read_origins
from state.chain.skip import TRUSTED, Skip
from state.protocol.constants import COIN_BLOCK_INTERVAL, COIN_MAX_WITNESSES, MAIN_CHAIN_ID
from state.protocol.spec import ChainSpec

DEFAULT_HTTP = f"{DEFAULT_HOST}:{DEFAULT_PORT}"
WORKERS_MAX = 64
READERS_MAX = 64
TIME_DIGITS_MAX = 20
MEGABYTE = 1_000_000
# All orders of a chain with 10^6 accounts and posts take about 200 MB, so only chains of several million rows reach the limit.
QUERY_MEGABYTES = 1000

Parsed = TypeVar("Parsed")

# The groups of the help, in its order, each with a function for the parameters in it.
GROUP_NAMES = ("Chain", "Blocks and time", "Following", "Data", "Access", "Output", "Checks")
THE_CHAIN, BLOCKS, FOLLOWING, DATA, ACCESS, OUTPUT, CHECKS = (partial(Parameter, group=Group.create_ordered(name)) for name in GROUP_NAMES)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Common:
    """Options that both `run` and `replay` have."""

    chain: Annotated[
        str | None, THE_CHAIN(help=f"A chain spec: a name, or a TOML file; by default {DEFAULT_CHAIN}, for a replay that of its blocks.")
    ] = None
    config: Annotated[Config, THE_CHAIN()] = None
    enable: Annotated[Repeated, THE_CHAIN(help="A plugin to enable (all: every one but those disabled); can be repeated.")] = ()
    disable: Annotated[Repeated, THE_CHAIN(help="A plugin to disable (all: every one but those enabled); can be repeated.")] = ()
    cors: Annotated[
        Repeated, ACCESS(help="An allowed origin of web pages, for example http://localhost:3000 (off: none); can be repeated.")
    ] = ()
    proxy: Annotated[
        Repeated, ACCESS(help="An address or network of proxies whose X-Forwarded-For is trusted, as on this machine; can be repeated.")
    ] = ()
    no_explorer: Annotated[Flag, ACCESS(help="Disable the explorer's pages.")] = False
    http2: Annotated[Flag, ACCESS(help="Accept HTTP/2 from clients that start with it.")] = False
    allow_debug: Annotated[
        Flag, ACCESS(help="Serve the debug methods to every client, even on an address that other machines can reach.")
    ] = False
    query_memory: Annotated[
        Natural, ACCESS(help="The maximum memory in MB of what only reads need, for example sorted lists, in each process (0: no limit).")
    ] = QUERY_MEGABYTES
    ready_file: Annotated[Path | None, OUTPUT(help="A JSON file that exists while the node serves: address, chain, chain_id, pid.")] = None
    show_keys: Annotated[Flag, OUTPUT(help="Show the keys of all roles of the funded accounts.")] = False
    quiet: Annotated[Flag, OUTPUT(help="Print only warnings and errors, without the banner.")] = False
    verbose: Annotated[Flag, OUTPUT(help="Log everything, on a terminal also empty blocks and all values.")] = False
    log_json: Annotated[Flag, OUTPUT(help="Log JSON lines even on a terminal.")] = False
    log_level: Annotated[Level | None, OUTPUT(help="The lowest level to log; by default info.")] = None
    signature_workers: Annotated[
        int | None,
        CHECKS(
            name=("--signature-workers", "--workers"),
            help=(
                "Processes that recover the keys of signatures in advance, when there are many; by default one per additional core,"
                " up to 3 (0: none)."
            ),
            validator=Bounds(0, WORKERS_MAX),
        ),
    ] = None
    check_invariants: Annotated[Natural, CHECKS(help="The interval in blocks for checking the invariants of the state (0: never).")] = 0

    def begin(self) -> None:
        """Set up the log. Raises NodeError for options that contradict each other."""
        if self.quiet and self.verbose:
            raise NodeError("--quiet and --verbose contradict each other. Give one of them.")
        if self.log_level is not None and (self.quiet or self.verbose):
            raise NodeError(f"--log-level and --{'quiet' if self.quiet else 'verbose'} both set the log level. Give one of them.")
        level: Level = self.log_level or ("warning" if self.quiet else "debug" if self.verbose else "info")
        configure_logs(level, is_json=True if self.log_json else None)

    def plugins(self, spec: ChainSpec) -> tuple[str, ...]:
        """Return the enabled plugins. Raises NodeError."""
        for word, names in (("--enable", self.enable), ("--disable", self.disable)):
            with named(word):
                chosen_plugins(spec, names)
        with named("--enable, --disable"):
            return chosen_plugins(spec, self.enable, self.disable)

    def settings(self, spec: ChainSpec, http: Address | None, **own: Any) -> Settings:
        """Return the settings of the node: those from the common options, and `own`, those from the command's own options."""
        return Settings(
            spec=spec,
            http=http,
            plugins=self.plugins(spec),
            workers=default_workers() if self.signature_workers is None else self.signature_workers,
            check_invariants=self.check_invariants,
            origins=parsed("--cors", read_origins, self.cors),
            proxies=parsed("--proxy", read_networks, self.proxy),
            is_http2=self.http2,
            has_explorer=not self.no_explorer,
            is_debug_allowed=self.allow_debug,
            query_memory=self.query_memory * MEGABYTE or None,
            announcer=Announcer(
                ready_file=self.ready_file, shows_keys=self.show_keys, is_quiet=self.quiet, command=shlex.join(["bin/coind", *sys.argv[1:]])
            ),
            **own,
        )


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Run(Common):
    """Options of `run`, including the common ones."""

    witnesses: Annotated[
        int | None,
        THE_CHAIN(
            help="The number of witnesses (21: as on the public chain); by default that of the spec.",
            validator=Bounds(1, COIN_MAX_WITNESSES),
        ),
    ] = None
    accounts: Annotated[
        int | None,
        THE_CHAIN(help="The number of funded accounts with known keys; by default that of the spec.", validator=Bounds(1, ACCOUNTS_MAX)),
    ] = None
    main_chain_id: Annotated[
        Flag,
        THE_CHAIN(
            help="Use the chain id of the public network (zeros), for clients that have it built in, with a chain such as mainnet-like."
            " Danger: signatures for this chain are valid on the real network too. Anyone can replay your transactions there, if an account"
            " of the same name has the same key. Never sign with the key of a real account."
        ),
    ] = False
    fork: Annotated[
        str | None,
        THE_CHAIN(
            help="The URL of a node, or a fork file made by coind fork. The chain begins where that node stands, or where the file's source"
            " stood."
        ),
    ] = None
    fetch: Annotated[
        bool | None,
        THE_CHAIN(help="Whether to fetch accounts and posts from the source when they are named; by default if --fork is a URL."),
    ] = None
    history: Annotated[
        Literal["source", "local"] | None,
        THE_CHAIN(
            help="Whether the source answers calls about blocks before the fork, or none does; by default the source if --fork is a URL."
        ),
    ] = None
    mirror: Annotated[Flag, THE_CHAIN(help="Apply the source's later transactions that name only accounts and posts on this chain.")] = (
        False
    )
    requests_per_second: Annotated[
        float | None, THE_CHAIN(help="The maximum number of requests per second to the source; by default no limit.")
    ] = None
    produce: Annotated[bool | None, BLOCKS(help="Whether to produce blocks; by default if the spec has keys for it.")] = None
    blocks: Annotated[
        str, BLOCKS(help="The block mode: interval[:SECONDS], instant (one per transaction), manual (on request), or mixed:SECONDS.")
    ] = "interval"
    time: Annotated[
        str | None, BLOCKS(help="The chain's time at the start, for example 2026-03-01T12:00:00 (UTC), or seconds since 1970.")
    ] = None
    leap: Annotated[Leap, BLOCKS(help="Slots skipped by a time jump: missed (no blocks) or produced (one block each).")] = "missed"
    follow: Annotated[str | None, FOLLOWING(help="The node, http://HOST:PORT, or broker, nats://HOST, to follow as a replica.")] = None
    broadcast_to: Annotated[
        str | None, FOLLOWING(help="The node for forwarded broadcasts, http://HOST:PORT; by default the followed node.")
    ] = None
    trust: Annotated[Flag, FOLLOWING(help="Apply the followed node's blocks without checking signatures.")] = False
    data: Annotated[str | None, DATA(help="The folder for the blocks; a restart resumes from them.")] = None
    sync: Annotated[str, DATA(help="When to sync blocks to the disk: block (each one), never, or every SECONDS.")] = "block"
    snapshot_every: Annotated[Natural, DATA(help="The number of blocks between snapshots; one is also saved at shutdown (0: never).")] = (
        EVERY
    )
    http: Annotated[str, ACCESS(help="The address to listen on: a port, a host, or HOST:PORT.")] = DEFAULT_HTTP
    readers: Annotated[
        int,
        ACCESS(
            help="The number of additional processes that answer reads. Each holds a full copy of the chain.",
            validator=Bounds(0, READERS_MAX),
        ),
    ] = 0
    port: Annotated[int | None, ACCESS(help="The port, instead of that of --http (0: any free port).", validator=Bounds(0, PORT_MAX))] = (
        None
    )

    def address(self) -> Address:
        """Return the address to listen on. Raises NodeError."""
        return read_address(self.http, "--http", self.port)

    def mode(self) -> BlockMode:
        """Return the block mode. Raises NodeError."""
        with named("--blocks"):
            return block_mode(self.blocks)


@contextmanager
def named(option: str) -> Iterator[None]:
    """Context manager that puts the name of an option in front of a NodeError's message."""
    try:
        yield
    except NodeError as error:
        raise NodeError(f"{option}: {error}") from None


def spec_of(common: Common) -> ChainSpec:
    """Return the chain spec. Raises NodeError, which names the option, or the spec's file if its content is invalid."""
    try:
        return load_spec(common.chain or DEFAULT_CHAIN)
    except SpecError as error:
        raise error if error.key else NodeError(f"--chain: {error}") from None


@contextmanager
def start_of(options: Run) -> Iterator[tuple[ChainSpec, dict[str, Any]]]:
    """Context manager that yields the chain spec, and the settings of a fork, empty for other chains. Raises NodeError.

    A fork begins with the file or the URL of --fork, or with the fork file of the data folder.
    """
    held = None if options.data is None else fork_in(data_folder(options.data))
    of_source = {
        "--fetch": options.fetch,
        "--history": options.history,
        "--mirror": options.mirror or None,
        "--requests-per-second": options.requests_per_second,
    }
    if options.fork is None and held is None:
        for option in (name for name, value in of_source.items() if value is not None):
            raise NodeError(f"{option} is for forks. Give the source of the fork by --fork.")
        yield spec_of(options), {}
        return
    with_what = "--fork" if options.fork is not None else f"the fork file {held}"
    given = {"--chain": options.chain, "--witnesses": options.witnesses, "--accounts": options.accounts}
    for option in (name for name, value in given.items() if value is not None):
        raise NodeError(
            f"{option} and {with_what} contradict each other. Make a file with options of coind fork, and start it by --fork FILE."
        )
    if options.main_chain_id:
        raise NodeError(
            f"--main-chain-id and {with_what} contradict each other. A fork has the source's chain id with coind fork --chain-id keep."
        )
    is_live = options.fork is not None and is_url(options.fork)
    if options.follow is not None and (options.mirror or options.fetch or is_live):
        raise NodeError("A replica of a fork gets everything from the node that it follows. Give --follow with a fork file only.")
    # Imported here, since other nodes don't need it.
    from node.cli.fork_start import begun_fork
    from node.fork.cache import cache_of

    with begun_fork(options.fork, held, options.requests_per_second) as file:
        # The file of a live source is removed at the end, but the folder has a copy.
        kept = None if options.data is None else data_folder(options.data) / FORK_NAME
        kept = kept or (None if options.fork is None or is_live else Path(options.fork))
        settings = {
            "cache": None if kept is None else cache_of(kept),
            "origin": file.origin,
            "base": file.path,
            "source": node_url(options.fork) if options.fork is not None and is_live else file.origin.source,
            "is_fetching": is_live if options.fetch is None else options.fetch,
            "history": options.history or ("source" if is_live else "local"),
            "is_mirroring": options.mirror,
            "requests_per_second": options.requests_per_second,
        }
        # A file gives the same chain at any later time. The other forks go along with their source, or resume like any chain.
        if held is None and not is_live and not (options.fetch or options.mirror or options.follow is not None):
            settings["time"] = file.origin.time + COIN_BLOCK_INTERVAL
        yield file.spec, settings


def run_command(*, options: Run = Run()) -> int:
    """Start a node."""
    options.begin()
    with start_of(options) as (spec, fork):
        return run_chain(options, spec, fork)


def run_chain(options: Run, spec: ChainSpec, fork: dict[str, Any]) -> int:
    """Start a node of a chain. `fork` are the settings with which a fork begins, empty for other chains."""
    if options.main_chain_id:
        spec = with_main_chain_id(spec)
    elif not fork and spec.chain_id == MAIN_CHAIN_ID and (spec.is_test or spec.witness_keys):
        way_out = ", or start it with --main-chain-id" if spec.is_test else ""
        raise NodeError(
            f"the chain {spec.name} has the chain id of the public network, so signatures for it are valid there too."
            f" Give it another chain_id{way_out}."
        )
    if options.produce and not spec.witness_keys:
        raise NodeError(f"the chain {spec.name} has no witness_keys to produce blocks with")
    # Without a producer no block would create the accounts. A replica gets the blocks of its source, unless that has no producer either.
    makes_none = options.produce is False or (options.follow is None and not spec.witness_keys)
    settings = options.settings(
        spec.with_accounts_in_blocks(False) if makes_none and not fork else spec,
        options.address(),
        **fork | ({} if options.time is None else {"time": start_time(options.time)}),
        is_producing=options.follow is None and (bool(spec.witness_keys) if options.produce is None else options.produce),
        **replica_settings(options),
        blocks=options.mode(),
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


def replica_settings(options: Run) -> dict[str, Any]:
    """Return the settings that only a replica has. They are empty for other nodes. Raises NodeError."""
    if options.follow is None:
        given = "--broadcast-to" if options.broadcast_to is not None else "--trust" if options.trust else ""
        if given:
            raise NodeError(f"{given} is for replicas. Give the node to follow by --follow.")
        return {}
    if options.produce:
        raise NodeError("--produce and --follow contradict each other. A replica doesn't produce blocks.")
    if options.time is not None:
        raise NodeError("--time and --follow contradict each other. A replica has the followed chain's time.")
    with named("--follow"):
        follow = followed_url(options.follow)
    with named("--broadcast-to"):
        broadcast_to = "" if options.broadcast_to is None else node_url(options.broadcast_to)
    return {"follow": follow, "broadcast_to": broadcast_to, "is_trusting": options.trust}


def replay_command(
    file: Annotated[
        Path,
        Parameter(
            help="A block log or JSON lines of blocks (plain, gzip or zstd), a folder of such files, or - (stdin).",
            allow_leading_hyphen=True,
        ),
    ],
    /,
    *,
    until: Annotated[str | None, BLOCKS(help="The last block N, or N:T for the first T transactions of it.")] = None,
    from_: Annotated[Path | None, BLOCKS(help="A snapshot to start from.")] = None,
    verify: Annotated[Literal["all", "none"], BLOCKS(help="Check everything in the blocks, or trust them.")] = "all",
    checkpoint: Annotated[Repeated, BLOCKS(help="N:ID, the required id of block N, in addition to all checks; can be repeated.")] = (),
    data: Annotated[str | None, DATA(help="The folder for the blocks; a replay resumes from those in it.")] = None,
    snapshot_every: Annotated[
        Natural | None,
        DATA(
            help=(
                "The interval in blocks for saving a snapshot (0: never); by default"
                f" {EVERY:,} with --data, and with --snapshots such that the snapshots divide the file into equal parts."
            )
        ),
    ] = None,
    snapshots: Annotated[Path | None, DATA(help="The folder for all snapshots, or with --parallel the folder that has them.")] = None,
    parallel: Annotated[
        str | None, CHECKS(help="Verify the ranges between snapshots in N processes, or on a cluster (ray://HOST:PORT, ray:N).")
    ] = None,
    digest: Annotated[
        Literal["state", "shown"], BLOCKS(help="The digest printed at the end: of all tables, or of what methods show, without ids.")
    ] = "state",
    serve: Annotated[str | None, ACCESS(help="The address to serve the replayed chain at: a port, a host, or HOST:PORT.")] = None,
    common: Common = Common(),
) -> int:
    """Apply a file of blocks."""
    from node.cli.chain_of_blocks import spec_of_blocks
    from node.replay.options import read_checkpoints, read_point, require_together
    from node.replay.parallel.command import parallel_by_default, verify_in_parallel
    from node.replay.run import Replay, replay_file

    common.begin()
    spec = spec_of_blocks(file, common.chain)
    alone = {"--data": data, "--from": from_, "--until": until, "--checkpoint": checkpoint, "--serve": serve, "--digest": digest != "state"}
    require_together(alone, parallel, snapshots)
    if parallel is None and snapshots is not None and not any(alone.values()):
        parallel = parallel_by_default(file, spec, snapshots)
    if parallel is not None:
        assert snapshots is not None
        return verify_in_parallel(file, common.chain or spec.name, snapshots, parallel, is_trusted=verify == "none")
    fork = fork_in(file)
    settings = common.settings(
        spec,
        base=fork,
        origin=None if fork is None else read_fork(fork).origin,
        http=None if serve is None else read_address(serve, "--serve"),
        data=None if data is None else data_folder(data),
        snapshot_every=EVERY if snapshot_every is None else snapshot_every,
    )
    task = Replay(
        source=file,
        until=None if until is None else read_point(until),
        skip=TRUSTED if verify == "none" else Skip.NOTHING,
        start=from_,
        checkpoints=read_checkpoints(checkpoint),
        snapshots=snapshots,
        is_divided=snapshots is not None and snapshot_every is None,
        digest=digest,
    )
    with settings.announcer:
        return replay_file(settings, task)


def parsed(option: str, parse: Callable[[tuple[str, ...]], Parsed], texts: tuple[str, ...]) -> Parsed:
    """Parse the values of an option with a function that raises ValueError, which becomes NodeError."""
    try:
        return parse(texts)
    except ValueError as error:
        raise NodeError(f"{option} {error}") from None


def start_time(text: str) -> int:
    """Parse `--time`. Return seconds since 1970. Raises NodeError. The node checks the range when it starts."""
    try:
        if text.isascii() and text.isdigit():
            return int(text[:TIME_DIGITS_MAX])
        moment = datetime.fromisoformat(text)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except ValueError:
        raise NodeError(
            f"--time {text!r} is not a time. Expected, for example, 2026-03-01T12:00:00 (UTC), or seconds since 1970."
        ) from None
