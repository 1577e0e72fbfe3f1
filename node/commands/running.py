"""`coind run` and `coind replay`: their options, with the checks of each, and the settings of the node that follow from them.

Options that both have are declared once, in `Common`. A file of `--config` takes every option of `run` by its name.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter, validators

from node.banner import Announcer
from node.commands.shared import DEFAULT_CHAIN, Flag, Repeated, data_folder
from node.driving.modes import Leap, block_mode
from node.failures import NodeError
from node.logs import Level, configure_logs
from node.node import Address, Settings, replay_file, run
from node.plugins import chosen_plugins
from node.recovering.pool import default_workers
from node.snapshots.saving import EVERY
from node.specs import load_spec
from node.storage.syncing import sync_policy
from rpc.service.transport.rights import read_origins
from state.chain.skip import TRUSTED, Skip
from state.protocol.spec import ChainSpec

DEFAULT_HTTP = "127.0.0.1:8090"
PORT_MAX = 65535
TIME_DIGITS_MAX = 20

THE_CHAIN = Group.create_ordered("Chain")
BLOCKS = Group.create_ordered("Blocks and time")
DATA = Group.create_ordered("Data")
ACCESS = Group.create_ordered("Access")
OUTPUT = Group.create_ordered("Output")
CHECKS = Group.create_ordered("Checks")

Natural = validators.Number(gte=0)
AtLeastOne = validators.Number(gte=1)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Common:
    """The options that `run` and `replay` share."""

    chain: Annotated[str, Parameter(help="A chain spec: a name, or a TOML file.", group=THE_CHAIN)] = DEFAULT_CHAIN
    cors: Annotated[
        tuple[str, ...],
        Repeated,
        Parameter(help="Let in pages of this origin only, as http://localhost:3000; off: no pages; can be repeated.", group=ACCESS),
    ] = ()
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
    workers: Annotated[
        int | None,
        Parameter(
            help="Processes that recover keys ahead of the chain; by default one for each further core, up to 3.",
            validator=Natural,
            group=CHECKS,
        ),
    ] = None
    check_invariants: Annotated[
        int, Parameter(help="Check every N blocks whether everything in the state adds up; 0: never.", validator=Natural, group=CHECKS)
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
            workers=default_workers() if self.workers is None else self.workers,
            check_invariants=self.check_invariants,
            origins=origins(self.cors),
            is_http2=self.http2,
            is_debug_allowed=self.allow_debug,
            announcer=Announcer(ready_file=self.ready_file, shows_keys=self.show_keys, is_quiet=self.quiet),
            **own,
        )


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Run:
    """The options that only `run` has."""

    config: Annotated[
        str | None, Parameter(help="Take options from this TOML file; those of the command line count more.", group=THE_CHAIN)
    ] = None
    witnesses: Annotated[int, Parameter(help="Witnesses of the chain: 21 make real rounds.", validator=AtLeastOne, group=THE_CHAIN)] = 1
    accounts: Annotated[
        int | None, Parameter(help="Accounts with funds, whose keys are known; by default the spec's.", validator=Natural, group=THE_CHAIN)
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
    data: Annotated[str | None, Parameter(help="Keep the blocks in this folder; a restart goes on from them.", group=DATA)] = None
    sync: Annotated[str, Parameter(help="When blocks must survive a loss of power: block, never, or a number of SECONDS.", group=DATA)] = (
        "block"
    )
    snapshot_every: Annotated[
        int,
        Parameter(help="Save a snapshot in the folder after every N blocks and at the end; 0: never.", validator=Natural, group=DATA),
    ] = EVERY
    http: Annotated[str, Parameter(help="Where to answer, HOST:PORT.", group=ACCESS)] = DEFAULT_HTTP
    port: Annotated[
        int | None,
        Parameter(
            help="The port alone, in place of that of --http; 0: any that is free.",
            validator=validators.Number(gte=0, lte=PORT_MAX),
            group=ACCESS,
        ),
    ] = None

    def address(self) -> Address:
        """Return where to answer. Raises NodeError."""
        given = address(self.http)
        return given if self.port is None else Address(given.host, self.port)


def run_command(*, common: Common | None = None, own: Run | None = None) -> int:
    """Start a node."""
    common, own = common or Common(), own or Run()
    common.begin()
    spec = load_spec(common.chain)
    if own.produce and not spec.witness_keys:
        raise NodeError(f"the chain {spec.name} has no witness_keys to produce blocks with")
    settings = common.settings(
        spec,
        own.address(),
        plugins=chosen_plugins(spec, own.enable, own.disable),
        is_producing=bool(spec.witness_keys) if own.produce is None else own.produce,
        blocks=block_mode(own.blocks),
        time=None if own.time is None else start_time(own.time),
        leap=own.leap,
        witnesses=own.witnesses,
        accounts=own.accounts,
        data=None if own.data is None else data_folder(own.data),
        sync=sync_policy(own.sync),
        snapshot_every=own.snapshot_every,
    )
    with settings.announcer:
        return run(settings)


def replay_command(
    file: Annotated[Path, Parameter(help="A block log, or JSON lines of blocks; plain, gzip or zstd.")],
    /,
    *,
    until: Annotated[int | None, Parameter(help="Stop after this block.", validator=Natural, group=BLOCKS)] = None,
    verify: Annotated[Literal["all", "none"], Parameter(help="Check everything in the blocks, or trust them.", group=BLOCKS)] = "all",
    serve: Annotated[str | None, Parameter(help="Then answer from there, HOST:PORT.", group=ACCESS)] = None,
    common: Common | None = None,
) -> int:
    """Apply a file of blocks."""
    common = common or Common()
    common.begin()
    spec = load_spec(common.chain)
    settings = common.settings(spec, None if serve is None else address(serve), plugins=chosen_plugins(spec))
    with settings.announcer:
        return replay_file(settings, file, until=until, skip=TRUSTED if verify == "none" else Skip.NOTHING)


def address(text: str) -> Address:
    """Parse HOST:PORT, with an IPv6 host in brackets."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isascii() and port.isdigit() and int(port) <= PORT_MAX):
        raise NodeError(f"{text} is no address; expected HOST:PORT, as {DEFAULT_HTTP}")
    return Address(host, int(port))


def origins(texts: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the origins whose pages are let in; None for all."""
    try:
        return read_origins(texts)
    except ValueError as error:
        raise NodeError(f"--cors {error}") from None


def start_time(text: str) -> int:
    """Return the seconds since 1970 of a `--time`. Raises NodeError; whether the chain has room for it is asked at the start."""
    try:
        if text.isascii() and text.isdigit():
            return int(text[:TIME_DIGITS_MAX])
        moment = datetime.fromisoformat(text)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except ValueError:
        raise NodeError(f"--time {text!r} is no time; expected one as 2026-03-01T12:00:00 (UTC), or seconds since 1970") from None
